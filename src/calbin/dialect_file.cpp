/// Reading a dialect, strictly: a mistake in one is an error when it is read, not a surprise when it is used.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/base/json_pointer.h"
#include "calkit/base/text.h"
#include "dialect_parts.h"

namespace calkit::embedded {
extern const std::string_view dialect_calkit_emu;
extern const std::string_view dialect_calrt_0_7;
}  // namespace calkit::embedded

namespace calkit::calbin {

namespace {

constexpr std::uint64_t kMaxDialectBytes = 1 << 20;
constexpr std::size_t kMaxMappings = 1024;

Result<Pattern> read_pattern(const Cursor& at) {
  CALKIT_TRY(std::string text, at.as_string());
  if (text.size() < 2 || text[0] != '/')
    return at.error(fmt::format("'{}'", text), "a JSON pointer such as /models/*/name");
  Pattern out{text, steps_of(text)};
  if (std::any_of(out.steps.begin(), out.steps.end(), [](const std::string& step) { return step.empty(); }))
    return at.error(fmt::format("'{}'", text), "a pointer without empty steps");
  return out;
}

Result<std::vector<Pattern>> read_patterns(const Cursor& root, std::string_view key) {
  std::vector<Pattern> out;
  const auto list = root.find(key);
  if (!list) return out;
  CALKIT_TRY(const auto items, list->items());
  for (const auto& item : items) {
    CALKIT_TRY(auto pattern, read_pattern(item));
    out.push_back(std::move(pattern));
  }
  return out;
}

std::ptrdiff_t stars(const Pattern& pattern) {
  return std::count(pattern.steps.begin(), pattern.steps.end(), "*");
}

/// A key that belongs to one parser alone.
Status check_belongs(const Cursor& at, std::string_view key, Parser parse, Parser owner, bool required) {
  const auto found = at.find(key);
  if (found && parse != owner)
    return found->error(fmt::format("'{}' with parse: {}", key, parser_name(parse)),
                        fmt::format("only with parse: {}", parser_name(owner)));
  if (!found && parse == owner && required)
    return at.error(fmt::format("parse: {} without '{}'", parser_name(parse), key), fmt::format("'{}'", key));
  return {};
}

Status read_units(const Cursor& at, Mapping& out) {
  const auto units = at.find("units");
  if (!units) return {};
  CALKIT_TRY(const auto members, units->members());
  for (const auto& [name, bytes] : members) {
    CALKIT_TRY(const auto value, bytes.as_uint(1));
    const auto usual = parse_quantity("1 " + name).bytes;
    if (name.ends_with("iB") && usual && *usual != value)
      return bytes.error(fmt::format("{} of {} B", name, value),
                         fmt::format("{} B: this unit has one meaning", *usual));
    out.units.emplace_back(name, value);
  }
  return {};
}

/// Both columns without twins, so that the table can be read from either side.
Status read_words(const Cursor& at, Mapping& out) {
  const auto words = at.find("enum");
  if (!words) return {};
  std::set<std::string> seen;
  CALKIT_TRY(const auto members, words->members());
  for (const auto& [theirs, ours] : members) {
    CALKIT_TRY(const auto word, ours.as_string());
    if (!seen.insert(word).second) return ours.error(fmt::format("'{}' a second time", word), "each word once");
    out.words.emplace_back(theirs, word);
  }
  return {};
}

Result<Mapping> read_mapping(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"from", "to", "parse", "units", "unit_required", "enum", "scale", "assumed", "quirk"}));
  Mapping out;
  CALKIT_TRY(const auto from, at.at("from"));
  CALKIT_TRY(out.from, read_pattern(from));
  CALKIT_TRY(const auto to, at.at("to"));
  CALKIT_TRY(out.to, read_pattern(to));
  if (stars(out.from) != stars(out.to))
    return to.error(fmt::format("{} `*`", stars(out.to)), fmt::format("as many `*` as in from: {}", stars(out.from)));
  CALKIT_TRY(const auto parse, at.at("parse"));
  CALKIT_TRY(const auto name, parse.as_string());
  const auto parser = parser_of(name);
  if (!parser)
    return parse.error(fmt::format("'{}'", name), "a parser of docs/formats/dialects.md",
                       "the set is closed; ask for another parser instead of an expression");
  out.parse = *parser;
  if (out.parse == Parser::kKey && out.from.steps.back() != "*")
    return from.error(out.from.text, "a pointer that ends in `*`: the name of each member");
  CALKIT_CHECK_OK(check_belongs(at, "units", out.parse, Parser::kQuantity, true));
  CALKIT_CHECK_OK(check_belongs(at, "unit_required", out.parse, Parser::kQuantity, false));
  CALKIT_CHECK_OK(check_belongs(at, "enum", out.parse, Parser::kEnum, true));
  CALKIT_CHECK_OK(check_belongs(at, "scale", out.parse, Parser::kInt, false));
  CALKIT_CHECK_OK(read_units(at, out));
  CALKIT_CHECK_OK(read_words(at, out));
  if (at.find("unit_required")) {
    CALKIT_TRY(out.unit_required, at.boolean("unit_required"));
  }
  if (at.find("scale")) {
    CALKIT_TRY(out.scale, at.uinteger("scale", 1));
  }
  if (at.find("assumed")) {
    CALKIT_TRY(out.assumed, at.boolean("assumed"));
  }
  if (at.find("quirk")) {
    CALKIT_TRY(out.quirk, at.string("quirk"));
  }
  return out;
}

/// The first `count` steps as a pattern's text.
std::string prefix_text(const Pattern& pattern, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += "/" + pointer_step(pattern.steps[i]);
  return out;
}

std::vector<std::string> list_prefixes(const Pattern& pattern) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pattern.steps.size(); ++i)
    if (pattern.steps[i] == "*") out.push_back(prefix_text(pattern, i));
  return out;
}

/// Each `*` stands for the places of a list that an `items` mapping pairs with a canonical list.
Status check_lists(const Cursor& at, const Dialect& dialect) {
  std::set<std::pair<std::string, std::string>> lists;
  for (const auto& mapping : dialect.map)
    if (mapping.parse == Parser::kItems) lists.emplace(mapping.from.text, mapping.to.text);
  for (const auto& mapping : dialect.map) {
    const auto from = list_prefixes(mapping.from), to = list_prefixes(mapping.to);
    for (std::size_t i = 0; i < from.size(); ++i)
      if (!lists.contains({from[i], to[i]}))
        return at.error(fmt::format("{} -> {} without a mapping of the list", mapping.from.text, mapping.to.text),
                        fmt::format("{{from: {}, to: {}, parse: items}}", from[i], to[i]));
  }
  return {};
}

Status read_map(const Cursor& root, Dialect& out) {
  CALKIT_TRY(const auto map, root.at("map"));
  if (map.value().is_string()) {
    CALKIT_TRY(const auto word, map.as_word({"canonical"}));
    static_cast<void>(word);
    out.canonical = true;
    return {};
  }
  CALKIT_TRY(const auto items, map.items());
  if (items.size() > kMaxMappings)
    return map.error(fmt::format("{} mappings", items.size()), fmt::format("at most {}", kMaxMappings));
  for (const auto& item : items) {
    CALKIT_TRY(auto mapping, read_mapping(item));
    out.map.push_back(std::move(mapping));
  }
  return check_lists(map, out);
}

Result<Dialect> read_dialect_document(const Cursor& root) {
  CALKIT_CHECK_OK(root.only({"schema", "id", "version", "description", "match", "map", "unmapped", "ignored"}));
  CALKIT_TRY(const auto schema, root.at("schema"));
  CALKIT_TRY(const auto schema_word, schema.as_word({"calkit.dialect/1"}));
  static_cast<void>(schema_word);
  Dialect out;
  CALKIT_TRY(out.id, root.string("id"));
  CALKIT_TRY(out.version, root.string("version"));
  if (root.find("description")) {
    CALKIT_TRY(const auto text, root.string("description"));
    static_cast<void>(text);
  }
  CALKIT_TRY(const auto match, root.at("match"));
  CALKIT_CHECK_OK(match.only({"file", "has"}));
  CALKIT_TRY(out.file, match.string("file"));
  if (const auto why = unsafe_path_reason(out.file); !why.empty())
    return match.error(fmt::format("file '{}': {}", out.file, why), "a file inside the package");
  CALKIT_TRY(out.has, read_patterns(match, "has"));
  CALKIT_TRY(const auto unmapped, root.at("unmapped"));
  CALKIT_TRY(const auto word, unmapped.as_word({"warn", "error"}));
  out.unmapped_is_error = word == "error";
  CALKIT_TRY(out.ignored, read_patterns(root, "ignored"));
  for (const auto& pattern : out.ignored)
    if (pattern.steps.back() == "*")
      return root.error(fmt::format("ignored: {}", pattern.text), "a key by its name, not by `*`");
  CALKIT_CHECK_OK(read_map(root, out));
  return out;
}

Result<std::vector<Dialect>> parse_shipped() {
  std::vector<Dialect> out;
  for (const auto& [text, file] : {std::pair{embedded::dialect_calkit_emu, "built-in calkit-emu.yaml"},
                                   {embedded::dialect_calrt_0_7, "built-in calrt-0.7.yaml"}}) {
    CALKIT_TRY(auto dialect, parse_dialect(text, file));
    out.push_back(std::move(dialect));
  }
  return out;
}

Result<std::vector<std::string>> names_in(const std::filesystem::path& dir) {
  CALKIT_TRY(auto names, list_tree(dir));
  std::erase_if(names, [](const std::string& name) {
    return name.find('/') != std::string::npos || !(name.ends_with(".yaml") || name.ends_with(".yml"));
  });
  return names;
}

}  // namespace

Result<Dialect> parse_dialect(std::string_view yaml, std::string_view file) {
  CALKIT_TRY(const Value document, parse_yaml(yaml, file), fmt::format("reading the dialect {}", file));
  CALKIT_TRY(Dialect out, read_dialect_document(Cursor(document, std::string(file))),
             fmt::format("reading the dialect {}", file));
  out.source = file;
  out.digest = "sha256:" + sha256_hex(yaml);
  return out;
}

const Result<std::vector<Dialect>>& shipped_dialects() {
  static const Result<std::vector<Dialect>> parsed = parse_shipped();
  return parsed;
}

Result<std::vector<Dialect>> dialects_with(const std::filesystem::path& dir) {
  CALKIT_TRY(auto out, shipped_dialects());
  CALKIT_TRY(const auto names, names_in(dir), fmt::format("reading the dialects of {}", dir.string()));
  for (const auto& name : names) {
    CALKIT_TRY(const auto text, read_file(dir / name, kMaxDialectBytes));
    const std::string file = (dir / name).string();
    CALKIT_TRY(auto dialect, parse_dialect(text, file));
    CALKIT_CHECK_OK(check_dialect_targets(text, file), fmt::format("reading the dialect {}", file));
    const auto twin = std::find_if(out.begin(), out.end(), [&](const Dialect& other) {
      return other.id == dialect.id && other.version == dialect.version;
    });
    if (twin != out.end())
      return input_error(dialect.source, "/id", fmt::format("'{}' version {}", dialect.id, dialect.version),
                         fmt::format("an id and version that {} has not", twin->source),
                         "raise the version, or remove one of the two");
    out.push_back(std::move(dialect));
  }
  return out;
}

}  // namespace calkit::calbin
