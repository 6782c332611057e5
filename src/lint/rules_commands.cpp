/// Family 10, first part: the command binaries of each submodel, chip and kind, and their text.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calkit/base/checked.h"
#include "calkit/base/text.h"
#include "elf_facts.h"
#include "families.h"

namespace calkit::lint {

namespace {

constexpr std::string_view kKinds[] = {"cpu", "pld"};

std::string_view text_in(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void check_command_file(Check& check, const std::string& id, std::string_view role, const std::string& pointer) {
  const auto* file = check.file(id);
  if (file != nullptr && file->role != role)
    check.report(pointer, {fmt::format("a command names a file of another role: '{}'", file->path),
                           std::string(file->role), std::string(role), "name the command's own file"});
}

void check_command_text(Check& check, const calbin::Command& command, const std::string& pointer) {
  const auto file = bytes_of(check, command.text);
  if (file == nullptr) return;
  const auto text = text_in(*file);
  const auto bad = invalid_utf8_at(text);
  if (bad == std::string_view::npos && text.find('\0') == std::string_view::npos) return;
  check.report(pointer + "/text",
               {fmt::format("the text of a command cannot be read: '{}'", check.file(command.text)->path),
                bad != std::string_view::npos ? fmt::format("no UTF-8 from byte {} on", bad) : "a zero byte",
                "plain UTF-8 text, one line a record", "write the disassembly again; this looks like a binary"});
}

void check_commands_of(Check& check, const calbin::Submodel& submodel, const std::string& pointer) {
  std::map<std::pair<std::int64_t, std::string>, std::size_t> seen;
  for (std::size_t i = 0; i < submodel.commands.size(); ++i) {
    const auto& command = submodel.commands[i];
    const auto at = fmt::format("{}/commands/{}", pointer, i);
    const auto what = fmt::format("{} commands of '{}' for chip {}", command.kind, submodel.name, command.chip);
    if (command.chip < 0 || command.chip > 63 || ((submodel.chips >> command.chip) & 1) == 0)
      check.report(at + "/chip", {what + ", which it does not use", fmt::format("chip {}", command.chip),
                                  fmt::format("chips {}", hex_u64(submodel.chips)), "drop them, or correct the chips"});
    if (!seen.emplace(std::pair{command.chip, command.kind}, i).second)
      check.report(at, {what + " are given twice", fmt::format("'{}'", command.bin), "one binary a chip and kind",
                        "keep the one that belongs to this build"});
    check_command_file(check, command.bin, "command-bin", at + "/bin");
    check_command_file(check, command.text, "command-text", at + "/text");
    check_command_text(check, command, at);
  }
  for (std::int64_t chip = 0; chip < 64; ++chip)
    for (const auto kind : kKinds)
      if (((submodel.chips & check.d().device.chip_mask) >> chip & 1) != 0 && !seen.contains({chip, std::string(kind)}))
        check.report(pointer + "/commands",
                     {fmt::format("submodel '{}' has no {} commands for chip {}", submodel.name, kind, chip),
                      fmt::format("{} command entries", submodel.commands.size()),
                      fmt::format("cpu and pld commands for each chip of {}", hex_u64(submodel.chips)),
                      "pack again with the command binaries of all chips, and their text"});
}

void check_command_missing(Check& check) {
  const auto& submodels = check.d().submodels;
  const bool any = std::any_of(submodels.begin(), submodels.end(), [](const auto& s) { return !s.commands.empty(); });
  if (!any && emulated(check)) return check.not_applicable("the emulated device executes op lists and has no commands");
  if (!check.usable("/device/chip_mask")) return;
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    if (check.usable(pointer)) check_commands_of(check, submodel, pointer);
  });
}

// ---- text against binary ----

struct TextRecord {
  std::uint64_t index = 0;
  std::optional<std::uint64_t> opcode;  ///< nullopt: a mnemonic
  std::uint64_t address = 0, size = 0;
  std::uint32_t line = 0;
};

/// "index opcode 0xaddress size" of a line; nullopt for anything else.
std::optional<TextRecord> record_of(std::string_view line, std::uint32_t number) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const auto begin = std::min(line.find_first_not_of(" \t\r"), line.size());
    const auto end = std::min(line.find_first_of(" \t\r", begin), line.size());
    if (end > begin) words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
    if (words.size() > 4) break;
  }
  if (words.size() < 4) return std::nullopt;
  const auto index = parse_decimal_u64(words[0]), address = parse_hex_u64(words[2]), size = parse_decimal_u64(words[3]);
  if (!index || !address || !size) return std::nullopt;
  const auto hex = parse_hex_u64(words[1]);
  return TextRecord{*index, hex ? hex : parse_decimal_u64(words[1]), *address, *size, number};
}

constexpr std::size_t kMostRecords = 1 << 20;

/// The records of a text; nullopt (with the line) when one is not in the form.
struct TextRecords {
  std::vector<TextRecord> records;
  std::uint32_t bad_line = 0;
  std::string bad_text;
};
TextRecords records_of(std::string_view text) {
  TextRecords out;
  for (std::uint32_t number = 1; !text.empty() && out.records.size() < kMostRecords; ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    if (const auto record = record_of(line, number)) {
      out.records.push_back(*record);
    } else {
      out.bad_line = number;
      out.bad_text = printable(line);
      break;
    }
  }
  return out;
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t out = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) out = (out << 8) | std::to_integer<std::uint64_t>(bytes[i]);
  return out;
}

/// Where a field of a record lies.
struct Column {
  std::size_t at = 0, width = 0;
};
/// What the text says of a field; nullopt where it does not say.
struct Field {
  const char* name;
  Column ours;  ///< in the records of docs/formats/calbin.md
  std::optional<std::uint64_t> (*text)(const TextRecord&);
};
constexpr std::size_t kOurRecord = 16;
const Field kFields[] = {
    {"opcode", {0, 4}, [](const TextRecord& r) { return r.opcode; }},
    {"size", {4, 4}, [](const TextRecord& r) { return std::optional(r.size); }},
    {"address", {8, 8}, [](const TextRecord& r) { return std::optional(r.address); }},
};

/// The command binary beside its text.
class Records {
 public:
  Records(Check& check, std::span<const std::byte> bin, std::size_t record_size, const std::vector<TextRecord>& records,
          const std::string& text_path)
      : check_(check), bin_(bin), record_size_(record_size), records_(records), text_path_(text_path) {}

  /// Where a field lies is the vendor's affair: our own form if it agrees with most of what the text says, else for
  /// each field the column that agrees with most records.
  void compare() {
    const bool ours = is_our_form();
    std::string open;
    for (const Field& field : kFields) {
      if (agreement(field, {}).first == 0) continue;  // mnemonics alone
      const auto column = ours ? std::optional(field.ours) : column_of(field);
      if (column)
        compare(field, *column);
      else
        open += fmt::format("{}{}", open.empty() ? "" : ", ", field.name);
    }
    if (!open.empty())
      check_.left_out(fmt::format("{}: no column of the records holds what the text says: {}", text_path_, open));
  }

 private:
  static constexpr std::size_t kLookedAt = 256;  ///< records, and bytes of one

  std::uint64_t number(std::size_t record, Column column) const {
    return little_endian(bin_.subspan(record * record_size_ + column.at, column.width));
  }
  /// Of the first records: how many say something, and how many of them the same.
  std::pair<std::size_t, std::size_t> agreement(const Field& field, Column column) const {
    std::size_t said = 0, same = 0;
    for (std::size_t i = 0; i < std::min(records_.size(), kLookedAt); ++i) {
      const auto text = field.text(records_[i]);
      said += text ? 1 : 0;
      same += text && number(i, column) == *text ? 1 : 0;
    }
    return {said, same};
  }
  bool is_our_form() const {
    if (record_size_ < kOurRecord) return false;
    std::size_t said = 0, same = 0;
    for (const Field& field : kFields) {
      const auto [of_field, equal] = agreement(field, field.ours);
      said += of_field;
      same += equal;
    }
    return 2 * same > said;
  }
  std::optional<Column> column_of(const Field& field) const {
    for (const std::size_t width : {8u, 4u})
      for (std::size_t at = 0; at + width <= std::min(record_size_, kLookedAt); ++at)
        if (const auto [said, same] = agreement(field, {at, width}); 2 * same > said) return Column{at, width};
    return std::nullopt;
  }
  void compare(const Field& field, Column column) {
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const auto text = field.text(records_[i]);
      const std::uint64_t found = number(i, column);
      if (!text || found == *text) continue;
      const auto show = [&](std::uint64_t value) {
        return field.ours.width == 8 ? hex_u64(value) : std::to_string(value);
      };
      check_.report_in(text_path_, {}, records_[i].line,
                       {fmt::format("the text of record {} has another {} than the binary", i, field.name), show(*text),
                        fmt::format("{} at byte {}", show(found), i * record_size_ + column.at),
                        "write the text again from this binary"},
                       Severity::kWarning);
    }
  }

  Check& check_;
  std::span<const std::byte> bin_;
  std::size_t record_size_;
  const std::vector<TextRecord>& records_;
  const std::string& text_path_;
};

void check_command_records(Check& check, const calbin::Command& command, const std::string& pointer) {
  const auto bin = bytes_of(check, command.bin);
  const auto text = bytes_of(check, command.text);
  if (bin == nullptr || text == nullptr || command.record_size < 1) return;
  const auto record_size = static_cast<std::uint64_t>(command.record_size);
  const std::uint64_t bytes = bin->size();
  const auto& text_path = check.file(command.text)->path;
  if (bytes % record_size != 0)
    return check.report(
        pointer + "/record_size",
        {fmt::format("'{}' is no whole number of records", check.file(command.bin)->path), fmt::format("{} B", bytes),
         fmt::format("a multiple of {} B", record_size), "the binary was cut, or record_size is wrong; pack again"});
  const std::uint64_t records = bytes / record_size;
  if (records != static_cast<std::uint64_t>(command.records))
    check.warn(pointer + "/records", {"the command binary has another number of records than stated",
                                      fmt::format("{} in {} B", records, bytes), fmt::format("{}", command.records),
                                      "correct the entry, or pack again"});
  const auto said = records_of(text_in(*text));
  if (said.bad_line != 0)
    return check.report_in(
        text_path, {}, said.bad_line,
        {"a line of the command text is not in the form of a record", fmt::format("'{}'", said.bad_text),
         "index opcode 0xaddress size, or a line that begins with #", "write the text again"},
        Severity::kWarning);
  if (said.records.size() != std::min<std::uint64_t>(records, kMostRecords))
    return check.report_in(
        text_path, {}, 0,
        {"the command text has another number of records than the binary", fmt::format("{} lines", said.records.size()),
         fmt::format("{} records", records), "write the text again from this binary"},
        Severity::kWarning);
  for (std::size_t i = 0; i < said.records.size(); ++i)
    if (said.records[i].index != i)
      return check.report_in(
          text_path, {}, said.records[i].line,
          {"the records of the command text are not in order", fmt::format("index {}", said.records[i].index),
           fmt::format("index {}", i), "write the text again from this binary"},
          Severity::kWarning);
  if (!said.records.empty())
    Records(check, bin->bytes(), static_cast<std::size_t>(record_size), said.records, text_path).compare();
  if (records > kMostRecords) check.left_out(fmt::format("{}: more than {} records", text_path, kMostRecords));
}

void check_command_match(Check& check) {
  bool any = false;
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    for (std::size_t i = 0; i < submodel.commands.size(); ++i) {
      any = true;
      if (const auto at = fmt::format("{}/commands/{}", pointer, i); check.usable(at))
        check_command_records(check, submodel.commands[i], at);
    }
  });
  if (!any) check.not_applicable("the package has no commands");
}

}  // namespace

std::vector<Rule> command_rules() {
  return {
      {{"CB1001", "command-missing", Severity::kError, RuleClass::kInvalid,
        "every submodel has CPU and PLD commands for each of its chips, as a binary and as readable text", "7e"},
       {"/device/chip_mask", "/submodels/*/chips", "/submodels/*/commands/*/kind,chip,bin,text",
        "/files/*/id,path,role", "/package/compat/device"},
       &check_command_missing},
      {{"CB1002", "command-text-mismatch", Severity::kError, RuleClass::kInvalid,
        "a command binary is whole records, and its text tells the same records", "7e", Maturity::kPreview},
       {"/submodels/*/commands/*/bin,text,record_size,records", "/files/*/id,path"},
       &check_command_match},
  };
}

}  // namespace calkit::lint
