/// Family 08: sizes have units, and sizes that no device has are not believed.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "families.h"

namespace calkit::lint {

namespace {

const char* const kText = "/memory/declared_text";
const char* const kRequired = "/memory/device_required";

/// The producer's text, when there is one to judge.
const std::string* declared(Check& check) {
  if (!check.usable(kText)) return nullptr;
  const std::string& text = check.d().memory.declared_text;
  if (text.empty()) check.not_applicable("the package states its memory in bytes only (no declared_text)");
  return text.empty() ? nullptr : &text;
}

/// "16777216 KiB would be 16.000 GiB", when another unit makes it fit the device. Never applied.
std::string kib_note(std::string_view text, std::uint64_t device) {
  const auto end = text.find_first_not_of("0123456789");
  const auto kib =
      end != std::string_view::npos ? parse_quantity(fmt::format("{} KiB", text.substr(0, end))) : Quantity{};
  if (!kib.bytes || *kib.bytes > device) return "ask the producer for the unit";
  return fmt::format("would be {} if KiB: ask the producer, the text is not rewritten", format_bytes(*kib.bytes));
}

/// An empty text is there and says nothing; an absent one leaves it to the bytes.
bool stated_empty(const Check& check) {
  const Value* memory = check.facts().document->find("memory");
  const Value* text = memory != nullptr ? memory->find("declared_text") : nullptr;
  return text != nullptr && text->is_string() && text->if_string()->empty();
}

void check_unit_present(Check& check) {
  if (check.usable(kText) && stated_empty(check))
    return check.report(kText, {"the required memory is an empty text", "\"\"",
                                "a number and one of B, kB, KiB, MB, MiB, GB, GiB, TB, TiB, or no such field",
                                "have the producer state the memory it needs, with its unit"});
  const auto* text = declared(check);
  if (text != nullptr && parse_quantity(*text).problem == "no unit")
    check.report(kText, {"the required memory has no unit", fmt::format("'{}'", *text),
                         "a number and one of B, kB, KiB, MB, MiB, GB, GiB, TB, TiB",
                         "have the producer state the unit; it is not guessed"});
}

void check_unit_known(Check& check) {
  const auto* text = declared(check);
  if (text == nullptr) return;
  const auto quantity = parse_quantity(*text);
  if (!quantity.bytes && quantity.problem != "no unit" && quantity.problem != "too large")
    check.report(
        kText,
        {fmt::format("the required memory is no size with a unit: {}", quantity.problem), fmt::format("'{}'", *text),
         "a decimal number and one of B, kB, KiB, MB, MiB, GB, GiB, TB, TiB", "correct the spelling at the producer"});
}

void check_unit_plausible(Check& check) {
  const auto& profile = check.facts().profile;
  const auto device =
      checked_mul(profile.dram_bytes, static_cast<std::uint64_t>(profile.chiplets)).value_or(UINT64_MAX);
  const std::string limit =
      fmt::format("device profile '{}'{}: {} chiplets x {} = {}", profile.name, profile.assumed ? " (assumed)" : "",
                  profile.chiplets, format_bytes(profile.dram_bytes), format_bytes(device));
  const std::string& text = check.d().memory.declared_text;
  if (check.usable(kText) && !text.empty()) {
    const auto quantity = parse_quantity(text);
    const bool huge = quantity.bytes ? *quantity.bytes > device : quantity.problem == "too large";
    if (huge) {
      const auto bytes =
          quantity.bytes ? fmt::format(" = {} B ({})", *quantity.bytes, format_bytes(*quantity.bytes)) : "";
      return check.report(kText, {"the required memory is more than the device has", fmt::format("'{}'{}", text, bytes),
                                  limit, kib_note(text, device)});
    }
  }
  if (!check.usable(kRequired)) return;
  const std::uint64_t required = check.d().memory.device_required;
  if (required > device)
    check.report(kRequired, {"the required memory is more than the device has",
                             fmt::format("{} B ({})", required, format_bytes(required)), limit,
                             "ask the producer for the unit it counted in"});
}

/// "24 MB" -> "24 MiB"; empty for texts of another unit.
std::string binary_reading(const std::string& text) {
  for (const char* unit : {"kB", "MB", "GB", "TB"}) {
    if (!text.ends_with(unit)) continue;
    const char prefix = unit[0] == 'k' ? 'K' : unit[0];
    return fmt::format("{}{}iB", text.substr(0, text.size() - 2), prefix);
  }
  return {};
}

/// In calbin.json MB is 10^6 bytes. Whether the producer meant that shows in the bytes beside its text.
void check_unit_meaning(Check& check) {
  const auto* text = declared(check);
  if (text == nullptr || !check.usable(kRequired)) return;
  const auto decimal = parse_quantity(*text), binary = parse_quantity(binary_reading(*text));
  const std::uint64_t required = check.d().memory.device_required;
  if (!decimal.bytes || binary.bytes != required) return;  // another difference is CB0805's
  check.report(kText, {"the producer's unit may mean powers of 1024", fmt::format("'{}'", *text),
                       fmt::format("'{}' = {} B here, '{}' = {} B, device_required {} B", *text, *decimal.bytes,
                                   binary_reading(*text), *binary.bytes, required),
                       "have the producer write MiB or MB as it means, or bytes"});
}

void check_totals(Check& check) {
  if (!check.usable("/memory")) return;
  const auto& memory = check.d().memory;
  if (const auto quantity = parse_quantity(memory.declared_text);
      quantity.bytes && *quantity.bytes != memory.device_required)
    check.report(
        kRequired,
        {"the bytes are not what the producer's text says", fmt::format("{} B", memory.device_required),
         fmt::format("'{}' = {} B", memory.declared_text, *quantity.bytes), "convert the text by its own unit"});
  std::set<std::int64_t> chips;
  for (const auto& region : memory.regions) chips.insert(region.chip);
  std::uint64_t sum = 0;
  for (const std::int64_t chip : chips) {
    const auto kinds = {"param", "kv", "workspace", "io", "command", "ccu", "guard"};
    sum = checked_add(sum, covered_bytes(check, chip, {kinds.begin(), kinds.end()})).value_or(UINT64_MAX);
  }
  // Producers count the allocator's guard in or out; anything beyond that is another total.
  const std::uint64_t guard = check.facts().profile.guard_bytes;
  const std::uint64_t apart =
      sum > memory.device_required ? sum - memory.device_required : memory.device_required - sum;
  const auto slack = checked_mul(guard, std::max<std::uint64_t>(chips.size(), 1)).value_or(guard);
  if (apart > slack)
    check.report(kRequired, {"the required memory is not the sum of the reservations",
                             fmt::format("{} B ({})", memory.device_required, format_bytes(memory.device_required)),
                             fmt::format("{} B ({}), within {} B of guard", sum, format_bytes(sum), slack),
                             "state the memory of the whole device: all chips, all reservations"});
}

}  // namespace

std::vector<Rule> unit_rules() {
  return {
      {{"CB0801", "unit-missing", Severity::kBlocker, RuleClass::kInvalid, "the producer's memory text has a unit",
        "8g"},
       {"/memory/declared_text"},
       &check_unit_present},
      {{"CB0802", "unit-unknown", Severity::kError, RuleClass::kMalformed,
        "the producer's memory text is a number and a known unit", "8g"},
       {"/memory/declared_text"},
       &check_unit_known},
      {{"CB0803", "unit-implausible", Severity::kBlocker, RuleClass::kInvalid,
        "the required memory is not more than the device has", "8g 8i"},
       {"/memory/declared_text,device_required"},
       &check_unit_plausible},
      {{"CB0804", "unit-ambiguous", Severity::kWarning, RuleClass::kInvalid,
        "units of 1000 and of 1024 are not taken for each other", "8g", Maturity::kPreview},
       {"/memory/declared_text,device_required"},
       &check_unit_meaning},
      {{"CB0805", "total-inconsistent", Severity::kError, RuleClass::kInvalid,
        "the required memory is the producer's text and the sum of the regions", "8g 7i"},
       {"/memory/declared_text,device_required", kRegionPlace},
       &check_totals},
  };
}

}  // namespace calkit::lint
