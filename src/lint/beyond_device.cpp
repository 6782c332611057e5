/// Why a device may load what a rule refuses. The agreement test holds lint against the emulated device with these
/// words as its only excuse: a rule that is not here refuses what that device refuses too.
#include <algorithm>

#include "families.h"

namespace calkit::lint {

namespace {

struct Reason {
  std::string_view id, text;
};

constexpr std::string_view kText = "a device does not read the producer's text; people and deployment scripts do";
constexpr std::string_view kMasks =
    "the emulated device finds chips in regions and op lists and has one; masks are for the board's loader";
constexpr std::string_view kPrograms = "the emulated device executes op lists, no commands and no control program";
constexpr std::string_view kOrigin = "where a package comes from does not change what it does";
constexpr std::string_view kGolden = "golden data are for whoever checks the answers, not for the device";
constexpr std::string_view kInflight =
    "the emulated device has one job at work and copies inputs before it writes outputs";

constexpr Reason kReasons[] = {
    {"CB0106", "two paths are one file only on file systems that fold names, or when entries are counted twice"},
    {"CB0108", "a file that no op reads does no harm on a device"},
    {"CB0208", "to a device the version is a name"},
    {"CB0209", "the emulated device has no driver and no firmware and does not read the support matrix"},
    {"CB0303", "a call that is longer than the context is refused when it is made"},
    {"CB0402", "a device stops at the compiled context; for what the model was trained only the description knows"},
    {"CB0404", kMasks},
    {"CB0405", "the emulated device converts the logits of each submodel by their own dtype"},
    {"CB0407", "the emulated device keeps registers by name, not by address"},
    {"CB0410", "ops address the cache; the emulated device does not read the name of its order"},
    {"CB0501", "the emulated device checks what ops touch, and they touch no pong buffer and no stated workspace peak"},
    {"CB0503", "the emulated device's memory has no alignment of its own"},
    {"CB0504", "the emulated device checks operands; regions that share bytes harm only ops that use both"},
    {"CB0506", "the emulated device's memory is the host's"},
    {"CB0507", "the parts of each chip are told to people; the device takes the total"},
    {"CB0509",
     "the emulated device executes ops one after the other by their addresses and refuses those outside a reservation; "
     "their ids, who wrote what they read and stated peaks are for schedulers and people"},
    {"CB0602", "reading one byte for two parameters does no harm; that two were meant to differ only people know"},
    {"CB0604", kMasks},
    {"CB0701", kInflight},
    {"CB0702", kInflight},
    {"CB0703", kInflight},
    {"CB0801", kText},
    {"CB0802", kText},
    {"CB0803", kText},
    {"CB0805", kText},
    {"CB0901", kMasks},
    {"CB0902", kMasks},
    {"CB0903", kMasks},
    {"CB0905", kMasks},
    {"CB1001", kPrograms},
    {"CB1003", kPrograms},
    {"CB1004", kPrograms},
    {"CB1101", kOrigin},
    {"CB1102", kOrigin},
    {"CB1103", kOrigin},
    {"CB1201", kGolden},
    {"CB1202", kGolden},
    {"CB1203", kGolden},
    {"CB1303", "the emulated device computes with any scale; that it is nonsense shows in the answers"},
};

}  // namespace

std::string_view beyond_device(std::string_view id) {
  const auto at = std::find_if(std::begin(kReasons), std::end(kReasons), [&](const Reason& r) { return r.id == id; });
  return at != std::end(kReasons) ? at->text : std::string_view();
}

}  // namespace calkit::lint
