/// Family 10, second part: the ELF images that control the chips.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "calkit/calbin/elf.h"
#include "elf_facts.h"
#include "families.h"

namespace calkit::lint {

std::shared_ptr<const MappedFile> bytes_of(Check& check, std::string_view id) {
  const auto* file = check.file(id);
  if (file == nullptr) return nullptr;  // CB0204 has told
  const auto& facts = check.facts().files[static_cast<std::size_t>(file - check.d().files.data())];
  if (facts.state != FileState::kPresent) {
    check.not_evaluated(fmt::format("'{}' is absent or cannot be read", file->path));
    return nullptr;
  }
  auto mapped = check.facts().map(file->path);
  if (mapped.ok()) return std::move(mapped).value();
  check.not_evaluated(fmt::format("'{}': {}", file->path, mapped.error().message));
  return nullptr;
}

bool emulated(const Check& check) {
  return check.d().compat.device == "emulated";
}

namespace {

constexpr std::string_view kCcuFacts = "/ccu/elf,machine,class,endian,flags,load_region";

/// The control program with its header; nullopt when there is nothing to judge, which the rule then says.
struct Program {
  std::shared_ptr<const MappedFile> bytes;  ///< of `elf`
  std::string path;
  calbin::ElfFile elf;
};
std::optional<Program> control_program(Check& check) {
  const auto& ccu = check.d().ccu;
  if (!ccu) {
    if (emulated(check))
      check.not_applicable("the emulated device executes op lists and has no control program");
    else
      check.not_evaluated("the package names no control program (ccu)");
    return std::nullopt;
  }
  if (!check.usable("/ccu")) return std::nullopt;
  auto bytes = bytes_of(check, ccu->elf);
  if (bytes == nullptr) return std::nullopt;
  calbin::ElfFile elf(bytes->bytes());
  if (elf.header()) return Program{std::move(bytes), check.file(ccu->elf)->path, std::move(elf)};
  check.not_evaluated(fmt::format("'{}' has no ELF header", check.file(ccu->elf)->path));
  return std::nullopt;
}

// ---- structure ----

/// A control program listed under another role would escape the look at its structure.
void check_program_role(Check& check) {
  if (!check.d().ccu) return;
  const auto* file = check.file(check.d().ccu->elf);
  if (file != nullptr && file->role != "ccu-elf")
    check.report("/ccu/elf", {fmt::format("ccu.elf names '{}', which is no control program", file->path),
                              fmt::format("a file of role {}", file->role), "a file of role ccu-elf",
                              "name the control program, or correct the file's role"});
}

void check_elf_structure(Check& check) {
  check_program_role(check);
  bool any = check.d().ccu.has_value();
  for (std::size_t i = 0; i < check.d().files.size(); ++i) {
    const auto& file = check.d().files[i];
    if (!check.usable(fmt::format("/files/{}", i)) || (file.role != "ccu-elf" && file.role != "d2d-helper")) continue;
    if (file.optional && check.facts().files[i].state == FileState::kMissing) continue;
    const auto bytes = bytes_of(check, file.id);
    if (bytes == nullptr) continue;
    const std::string_view text(reinterpret_cast<const char*>(bytes->bytes().data()), bytes->bytes().size());
    if (file.role == "d2d-helper" && !text.starts_with("\x7f"
                                                       "ELF"))
      continue;  // a helper may have another form
    any = true;
    const calbin::ElfFile elf(bytes->bytes());
    for (const auto& fault : elf.faults())
      check.report_in(file.path, {}, 0,
                      {fmt::format("'{}' is no sound ELF image: {} is wrong", file.path, fault.field),
                       fmt::format("{} (byte {})", fault.found, fault.byte), fault.allowed,
                       "the file was cut or damaged before it was listed; build and pack it again"},
                      check.rule().severity);
  }
  if (!any) check.not_applicable("the package has no ELF images");
}

// ---- target ----

constexpr const char* kTargetFix = "pack the control program that was built for this device";

void compare_target(Check& check, const Program& program, std::string_view what, std::string pointer,
                    const std::string& found, const std::string& wanted, const std::string& who) {
  if (found == wanted) return;
  check.report(std::move(pointer),
               {fmt::format("control program '{}' is built for another target: {}", program.path, what), found,
                fmt::format("{}, as {}", wanted, who), kTargetFix});
}

std::string order_text(bool little) {
  return little ? "little endian" : "big endian";
}

void check_against_package(Check& check, const Program& program) {
  const auto& ccu = *check.d().ccu;
  const auto& header = *program.elf.header();
  const std::string who = "the package's ccu states";
  if (const auto machine = calbin::elf_machine(ccu.machine))
    compare_target(check, program, "machine", "/ccu/machine", calbin::elf_machine_text(header.machine),
                   calbin::elf_machine_text(*machine), who);
  else
    check.not_evaluated(fmt::format("no ELF machine is called '{}'", printable(ccu.machine)));
  compare_target(check, program, "class", "/ccu/class", fmt::format("{} bit", header.elf_class),
                 fmt::format("{} bit", ccu.elf_class), who);
  compare_target(check, program, "byte order", "/ccu/endian", order_text(header.little_endian),
                 order_text(ccu.little_endian), who);
  compare_target(check, program, "flags", "/ccu/flags", hex_u64(header.flags), hex_u64(ccu.flags), who);
}

std::string type_text(std::uint16_t type) {
  if (type == calbin::kElfExec) return "exec";
  return type == calbin::kElfDyn ? "dyn" : fmt::format("e_type {}", type);
}

void check_against_profile(Check& check, const Program& program) {
  const auto& profile = check.facts().profile;
  const auto& wanted = profile.ccu;
  const auto& header = *program.elf.header();
  const std::string who = fmt::format("device profile '{}' states", profile.name);
  std::string open;
  const auto compare = [&](std::string_view what, const std::string& found, const std::optional<std::string>& stated) {
    if (stated)
      compare_target(check, program, what, "/ccu/elf", found, *stated, who);
    else
      open += fmt::format("{}{}", open.empty() ? "" : ", ", what);
  };
  std::optional<std::string> machine, elf_class, order, flags;
  if (wanted.machine) {
    const auto number = calbin::elf_machine(*wanted.machine);
    machine = number ? calbin::elf_machine_text(*number) : fmt::format("'{}'", printable(*wanted.machine));
  }
  if (wanted.elf_class) elf_class = fmt::format("{} bit", *wanted.elf_class);
  if (wanted.little_endian) order = order_text(*wanted.little_endian);
  if (wanted.flags) flags = hex_u64(*wanted.flags);
  compare("machine", calbin::elf_machine_text(header.machine), machine);
  compare("class", fmt::format("{} bit", header.elf_class), elf_class);
  compare("byte order", order_text(header.little_endian), order);
  compare("flags", hex_u64(header.flags), flags);
  if (wanted.type)
    compare_target(check, program, "type", "/ccu/elf", type_text(header.type), *wanted.type, who);
  else if (header.type != calbin::kElfExec && header.type != calbin::kElfDyn)
    check.report("/ccu/elf", {fmt::format("control program '{}' is no program that can be loaded", program.path),
                              type_text(header.type), "exec or dyn (ET_EXEC, ET_DYN)", "link it, and pack again"});
  if (!open.empty() && !emulated(check))
    check.left_out(
        fmt::format("device profile '{}' does not state the control program's {}: compared with the "
                    "package's own ccu only",
                    profile.name, open));
}

void check_elf_target(Check& check) {
  const auto program = control_program(check);
  if (!program) return;
  check_against_package(check, *program);
  check_against_profile(check, *program);
}

// ---- placement ----

class Placement {
 public:
  Placement(Check& check, const Program& program, const calbin::Region& region)
      : check_(check), program_(program), region_(region), moves_(program.elf.header()->type == calbin::kElfDyn) {
    for (std::uint64_t i = 0; i < program.elf.segments(); ++i)
      if (const auto segment = program.elf.segment(i); segment.type == calbin::kElfLoad) loads_.push_back({segment, i});
  }

  void judge() {
    if (loads_.empty())
      return say({"the control program has nothing to load", "no PT_LOAD segment", "at least one",
                  "link it as a program, and pack again"});
    for (const auto& load : loads_) judge_one(load);
    judge_overlap();
    judge_entry();
  }

 private:
  struct Load {
    calbin::ElfSegment segment;
    std::uint64_t index;
  };

  void say(Check::Said said, Severity severity = Severity::kError) {
    check_.report_in(program_.path, {}, 0, std::move(said), severity);
  }
  static std::string text(const Load& load) { return range_text(load.segment.vaddr, load.segment.memsz); }

  void judge_one(const Load& load) {
    const auto& s = load.segment;
    if (s.filesz > s.memsz)
      say({fmt::format("segment {} has more bytes in the file than in memory", load.index),
           fmt::format("filesz {}", s.filesz), fmt::format("at most memsz {}", s.memsz), "link it again"});
    if ((s.flags & calbin::kElfWritable) != 0 && (s.flags & calbin::kElfExecutable) != 0)
      say({fmt::format("segment {} is writable and executable", load.index), "W and X", "one of the two",
           "link code and data into segments of their own"},
          Severity::kWarning);
    // A program that may be moved has addresses from its own start: only its extent counts.
    const std::uint64_t first = lowest();
    const bool fits = !wraps(s.vaddr, s.memsz) && (moves_ ? range_inside(s.vaddr - first, s.memsz, region_.size)
                                                          : contains(region_, s.vaddr, s.memsz));
    if (!fits)
      say({fmt::format("segment {} lies outside the reservation of the control program", load.index), text(load),
           fmt::format("'{}' {}", region_.id, range_text(region_.base, region_.size)),
           "link the program for this reservation, or enlarge it"});
  }

  std::uint64_t lowest() const {
    std::uint64_t out = UINT64_MAX;
    for (const auto& load : loads_) out = std::min(out, load.segment.vaddr);
    return out;
  }

  void judge_overlap() {
    std::stable_sort(loads_.begin(), loads_.end(),
                     [](const Load& a, const Load& b) { return a.segment.vaddr < b.segment.vaddr; });
    const Load* furthest = nullptr;
    for (const auto& load : loads_) {
      if (wraps(load.segment.vaddr, load.segment.memsz)) continue;
      if (furthest != nullptr &&
          overlap(furthest->segment.vaddr, furthest->segment.memsz, load.segment.vaddr, load.segment.memsz))
        say({fmt::format("segments {} and {} overlap in memory", furthest->index, load.index), text(load),
             fmt::format("outside {}", text(*furthest)), "link it again; one would overwrite the other"});
      if (furthest == nullptr ||
          load.segment.vaddr + load.segment.memsz > furthest->segment.vaddr + furthest->segment.memsz)
        furthest = &load;
    }
  }

  void judge_entry() {
    const std::uint64_t entry = program_.elf.header()->entry;
    const bool inside = std::any_of(loads_.begin(), loads_.end(), [&](const Load& load) {
      const auto& s = load.segment;
      return (s.flags & calbin::kElfExecutable) != 0 && entry >= s.vaddr && entry - s.vaddr < s.filesz;
    });
    if (!inside)
      say({"the control program begins outside its code", hex_u64(entry), "an address in an executable segment",
           "link it with its entry symbol"});
  }

  Check& check_;
  const Program& program_;
  const calbin::Region& region_;
  bool moves_;
  std::vector<Load> loads_;
};

void check_elf_placement(Check& check) {
  const auto program = control_program(check);
  if (!program) return;
  if (!program->elf.has_segment_table())
    return check.not_evaluated(fmt::format("the program headers of '{}' cannot be read", program->path));
  const auto* region = check.region(check.d().ccu->load_region);
  if (region == nullptr) return check.not_evaluated("the reservation of the control program cannot be read");
  if (region->kind != "ccu")
    check.report("/ccu/load_region",
                 {"the control program is loaded into a reservation of another kind",
                  fmt::format("'{}' of kind {}", region->id, region->kind), "kind ccu", "reserve memory for it"});
  Placement(check, *program, *region).judge();
}

}  // namespace

std::vector<Rule> elf_rules() {
  return {
      {{"CB1003", "elf-malformed", Severity::kError, RuleClass::kMalformed,
        "every ELF image has a sound header and tables, and its segments and sections lie inside it", "7f"},
       {"/files/*/id,path,role"},
       &check_elf_structure},
      {{"CB1004", "elf-wrong-target", Severity::kBlocker, RuleClass::kIncompatible,
        "the control program is built for the machine, class, byte order and ABI of the device", "7f"},
       {kCcuFacts, "/files/*/id,path", "/package/compat/device"},
       &check_elf_target},
      {{"CB1005", "elf-segment-placement", Severity::kError, RuleClass::kInvalid,
        "the segments of the control program lie in its reservation, apart, and it begins in its code", "7f 8e",
        Maturity::kPreview},
       {kCcuFacts, "/files/*/id,path", "/memory/regions/*/id,kind,base,size", "/package/compat/device"},
       &check_elf_placement},
  };
}

}  // namespace calkit::lint
