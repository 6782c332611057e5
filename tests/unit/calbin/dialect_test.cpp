/// Dialects: strict files, exactly one that fits, there and back without loss, and the place of everything.
#include "calkit/calbin/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/calbin/reading.h"
#include "full_description.h"
#include "scratch_dir.h"

namespace calkit::calbin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Dialect calrt() {
  const auto& all = shipped_dialects();
  EXPECT_TRUE(all.ok()) << (all.ok() ? "" : all.error().message);
  return all->at(1);
}

Dialect dialect_of(const std::string& map, const std::string& rest = "unmapped: error\n") {
  const auto out = parse_dialect(
      "schema: calkit.dialect/1\nid: t\nversion: \"1\"\nmatch: {file: t.json}\n" + rest + "map:\n" + map, "t.yaml");
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message);
  return out.ok() ? *out : Dialect{};
}

Value json(const std::string& text) {
  const auto out = parse_json(text, "t.json");
  EXPECT_TRUE(out.ok()) << text;
  return out.ok() ? *out : Value();
}

ReadFile folder(std::map<std::string, std::string> files) {
  return [files = std::move(files)](std::string_view name) -> Result<std::string> {
    const auto at = files.find(std::string(name));
    if (at == files.end()) return Error(ErrorKind::kInput, std::string(name) + ": cannot open: No such file");
    return at->second;
  };
}

// --- one value through one parser ---------------------------------------------------------------------------------

struct ValueCase {
  const char* mapping;  ///< after from and to
  const char *theirs, *ours;
};
class DialectValue : public testing::TestWithParam<ValueCase> {};

TEST_P(DialectValue, IsTranslatedAndTheUnreadableCarriedOver) {
  const auto dialect = dialect_of("  - {from: /v, to: /w, " + std::string(GetParam().mapping) + "}\n");
  const auto out = translate(json("{\"v\": " + std::string(GetParam().theirs) + "}"), dialect);
  EXPECT_EQ(to_json(*out.document.find("w"), {true, -1}), to_json(json(GetParam().ours), {true, -1}));
  EXPECT_THAT(out.unmapped, IsEmpty());
}

constexpr const char* kUnits = "parse: quantity, units: {MB: 1000000, KiB: 1024}";
INSTANTIATE_TEST_SUITE_P(
    All, DialectValue,
    testing::Values(
        ValueCase{"parse: text", R"("a")", R"("a")"}, ValueCase{"parse: text", "3", "3"},
        ValueCase{"parse: raw_text", "16777216", R"("16777216")"}, ValueCase{"parse: raw_text", R"("1 B")", R"("1 B")"},
        ValueCase{"parse: raw_text", "true", "true"}, ValueCase{"parse: int", "7", "7"},
        ValueCase{"parse: int", R"("7")", R"("7")"}, ValueCase{"parse: int, scale: 4096", "2", "8192"},
        ValueCase{"parse: int, scale: 4096", "-2", R"("-2")"},
        ValueCase{"parse: int, scale: 4096", "18446744073709551615", R"("18446744073709551615")"},
        ValueCase{"parse: int, scale: 4096", "2.5", R"("2.5")"}, ValueCase{"parse: number", "1e6", "1e6"},
        ValueCase{"parse: bool", "0", "0"}, ValueCase{"parse: hex_u64", R"("0x00AB")", R"("0xab")"},
        ValueCase{"parse: hex_u64", "171", "171"}, ValueCase{"parse: hex_u64", R"("ab")", R"("ab")"},
        ValueCase{"parse: hex_u64", R"("0x10000000000000000")", R"("0x10000000000000000")"},
        ValueCase{"parse: u64", "18446744073709551615", R"("0xffffffffffffffff")"},
        ValueCase{"parse: u64", "-1", R"("-1")"}, ValueCase{kUnits, R"("16777216 MB")", "16777216000000"},
        ValueCase{kUnits, R"("24 KiB")", "24576"}, ValueCase{kUnits, R"("24KiB")", "24576"},
        ValueCase{kUnits, R"("1.5 KiB")", "1536"}, ValueCase{kUnits, R"("0.3 KiB")", R"("0.3 KiB")"},
        ValueCase{kUnits, R"("16 Go")", R"("16 Go")"}, ValueCase{kUnits, R"("16 GiB")", R"("16 GiB")"},
        ValueCase{kUnits, "16777216", R"("16777216")"}, ValueCase{kUnits, R"("16777216")", R"("16777216")"},
        ValueCase{kUnits, R"("010 KiB")", R"("010 KiB")"},
        ValueCase{kUnits, R"("99999999999999999999 MB")", R"("99999999999999999999 MB")"},
        ValueCase{"parse: quantity, units: {MB: 1048576}", R"("2 MB")", "2097152"},
        ValueCase{"parse: quantity, units: {MB: 1048576}", R"("1.5 MB")", R"("1.5 MB")"},
        ValueCase{"parse: quantity, units: {B: 1}, unit_required: false", "5", "5"},
        ValueCase{"parse: bitmask_list", "[0, 1, 63]", R"("0x8000000000000003")"},
        ValueCase{"parse: bitmask_list", "[]", R"("0x0")"}, ValueCase{"parse: bitmask_list", "[64]", "[64]"},
        ValueCase{"parse: bitmask_list", R"("0x3")", R"("0x3")"},
        ValueCase{"parse: shape_string", R"("1x32")", "[1, 32]"}, ValueCase{"parse: shape_string", R"("scalar")", "[]"},
        ValueCase{"parse: shape_string", R"("1x")", R"("1x")"},
        ValueCase{"parse: shape_string", R"("01x2")", R"("01x2")"},
        ValueCase{"parse: shape_string", "[1, 2]", "[1, 2]"},
        ValueCase{"parse: enum, enum: {a: b}", R"("a")", R"("b")"},
        ValueCase{"parse: enum, enum: {a: b}", R"("A")", R"("A")"}, ValueCase{"parse: enum, enum: {a: b}", "1", "1"},
        ValueCase{"parse: semver", R"("v1.2.3")", R"("1.2.3")"},
        ValueCase{"parse: semver", R"("latest")", R"("latest")"}, ValueCase{"parse: semver", "1.10", "1.10"},
        ValueCase{"parse: digest", R"("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")",
                  R"("sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")"},
        ValueCase{"parse: digest", R"("md5:0")", R"("md5:0")"},
        ValueCase{"parse: time", "1767323045", R"("2026-01-02T03:04:05Z")"},
        ValueCase{"parse: time", "0", R"("1970-01-01T00:00:00Z")"},
        ValueCase{"parse: time", "951782400", R"("2000-02-29T00:00:00Z")"}, ValueCase{"parse: time", "-1", R"("-1")"},
        ValueCase{"parse: time", R"("2026-01-02T03:04:05Z")", R"("2026-01-02T03:04:05Z")"},
        ValueCase{"parse: items", "[{}, 3, null]", "[{}, 3, null]"}, ValueCase{"parse: items", "7", "7"},
        ValueCase{"parse: copy", R"({"a": [1, {"b": null}]})", R"({"a": [1, {"b": null}]})"}));

// --- the file ------------------------------------------------------------------------------------------------------

struct BadDialect {
  const char *text, *says;
};
class DialectFile : public testing::TestWithParam<BadDialect> {};

TEST_P(DialectFile, IsRefusedWithLineAndReason) {
  const auto out =
      parse_dialect("schema: calkit.dialect/1\nid: t\nversion: \"1\"\n" + std::string(GetParam().text), "t.yaml");
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().kind, ErrorKind::kInput);
  EXPECT_THAT(out.error().message, HasSubstr(GetParam().says));
  EXPECT_THAT(out.error().message, HasSubstr("t.yaml:"));
}

#define DIALECT_HEAD "match: {file: t.json}\nunmapped: warn\n"
INSTANTIATE_TEST_SUITE_P(
    All, DialectFile,
    testing::Values(
        BadDialect{DIALECT_HEAD, "/map"}, BadDialect{DIALECT_HEAD "map: everything\n", "canonical"},
        BadDialect{"match: {file: t.json}\nmap: canonical\n", "/unmapped"},
        BadDialect{DIALECT_HEAD "map: canonical\nmaps: []\n", "/maps"},
        BadDialect{"match: {file: ../t.json}\nunmapped: warn\nmap: canonical\n", "../t.json"},
        BadDialect{"match: {file: t.json, has: [models]}\nunmapped: warn\nmap: canonical\n", "JSON pointer"},
        BadDialect{DIALECT_HEAD "ignored: [/a/*]\nmap: canonical\n", "by its name"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a, to: /b}\n", "parse"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a, to: /b, parse: eval}\n", "'eval'"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a//b, to: /b, parse: int}\n", "empty steps"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a, to: /b, parse: int, scale: 0}\n", "/scale"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a, to: /b, parse: text, scale: 2}\n", "only with parse: int"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a, to: /b, parse: text, units: {B: 1}}\n",
                   "only with parse: quantity"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a, to: /b, parse: quantity}\n", "units"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a, to: /b, parse: quantity, units: {B: 0}}\n", "/units/B"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a, to: /b, parse: enum}\n", "enum"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a, to: /b, parse: enum, enum: {a: c, b: c}}\n", "a second time"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a/*, to: /b, parse: int}\n", "as many `*`"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a/*/c, to: /b/*/c, parse: int}\n", "parse: items"},
        BadDialect{DIALECT_HEAD "map:\n  - {from: /a/*/n, to: /b/*/n, parse: key}\n", "ends in `*`"}));

TEST(Dialects, ShippedOnesAreSoundAndTellApartWhatIsAssumed) {
  const auto& all = shipped_dialects();
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].id, "calkit-emu");
  EXPECT_TRUE((*all)[0].canonical);
  std::set<std::string> stated;
  for (const auto& mapping : (*all)[1].map)
    if (!mapping.assumed) stated.insert(mapping.from.text);
  EXPECT_THAT(stated, ElementsAre("/device_memory_required", "/models", "/models/*/model_type"));
}

// --- which one fits ------------------------------------------------------------------------------------------------

TEST(DialectChoice, ExactlyOneMayFit) {
  const auto& all = shipped_dialects();
  ASSERT_TRUE(all.ok());
  const auto emu = translate(folder({{"calbin.json", "{\"schema\": 1}"}}), *all);
  ASSERT_TRUE(emu.ok());
  EXPECT_EQ(emu->dialect, "calkit-emu");
  EXPECT_EQ(emu->file, "calbin.json");
  EXPECT_THAT(emu->file_digest, testing::StartsWith("sha256:"));
  const auto rt = translate(folder({{"model_info.json", "{\"models\": []}"}}), *all);
  ASSERT_TRUE(rt.ok());
  EXPECT_EQ(rt->dialect, "calrt-0.7");
  EXPECT_EQ(rt->dialect_digest, (*all)[1].digest);

  const auto none = translate(folder({{"model_info.json", "{\"model\": []}"}}), *all);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kInput);
  EXPECT_THAT(none.error().message, HasSubstr("calkit-emu version 1: calbin.json: cannot open"));
  EXPECT_THAT(none.error().message, HasSubstr("calrt-0.7 version 0.1: model_info.json has no /models"));
  const auto two = translate(folder({{"calbin.json", "{}"}, {"model_info.json", "{\"models\": []}"}}), *all);
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().kind, ErrorKind::kInput);
  EXPECT_THAT(
      two.error().message,
      HasSubstr(
          "2 dialects fit this package: calkit-emu version 1 (calbin.json), calrt-0.7 version 0.1 (model_info.json)"));
}

TEST(DialectChoice, AFaultInTheOnlyDescriptionIsToldAsSuch) {
  const auto& all = shipped_dialects();
  const auto twice = translate(folder({{"model_info.json", "{\"models\": [],\n\"models\": []}"}}), *all);
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message, HasSubstr("model_info.json:2"));
  EXPECT_THAT(twice.error().message, HasSubstr("given twice"));
}

TEST(DialectChoice, YamlIsReadByItsEnding) {
  auto dialect = dialect_of("  - {from: /size, to: /limits/context, parse: int}\n");
  dialect.file = "about.yaml";
  const auto out = translate(folder({{"about.yaml", "# a remark\nsize: 64\n"}}), {dialect});
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(out->document, json(R"({"schema": 1, "limits": {"context": 64}})"));
  EXPECT_EQ(out->source("/limits/context").line, 2u);
}

// --- there and back ------------------------------------------------------------------------------------------------

void expect_identity(const Value& canonical, const Dialect& dialect, std::set<std::size_t>* used = nullptr) {
  const auto theirs = to_dialect(canonical, dialect);
  ASSERT_TRUE(theirs.ok()) << theirs.error().message;
  // Through the text, as a package would have it.
  const auto read = parse_json(to_json(*theirs, {false, 1}), dialect.file);
  ASSERT_TRUE(read.ok());
  const auto back = translate(*read, dialect);
  EXPECT_EQ(to_json(back.document), to_json(canonical));
  EXPECT_THAT(back.unmapped, IsEmpty());
  if (used != nullptr) used->insert(back.used.begin(), back.used.end());
}

TEST(DialectRoundTrip, IsTheIdentityOnGoodPackagesOfVariedShape) {
  for (const std::int64_t tile : {0, 16, 32})
    expect_identity(to_value(testing_support::good_package({100, 128, 32, 4, tile}).description), calrt());
  expect_identity(to_value(testing_support::good_package().description), calrt());
}

/// Full descriptions that between them use every key of a dialect.
std::vector<Value> fixtures() {
  Description full = full_description();
  Description other = full;
  other.memory.declared_text.clear();
  other.submodels[0].workspace_peak = 8192;
  Value third = to_value(full);
  third.find("package")->set("created", 7);  // no time, and carried over as none
  return {to_value(full), to_value(other), std::move(third)};
}

TEST(DialectRoundTrip, EveryMappingOfAShippedDialectIsExercised) {
  const Dialect dialect = calrt();
  std::set<std::size_t> used;
  for (const auto& fixture : fixtures()) expect_identity(fixture, dialect, &used);
  for (std::size_t i = 0; i < dialect.map.size(); ++i)
    EXPECT_TRUE(used.contains(i)) << dialect.map[i].from.text << " -> " << dialect.map[i].to.text << " has no fixture";
}

std::vector<Value*> scalars(Value& at) {
  std::vector<Value*> out;
  const auto add = [&](Value& child) {
    const auto below = scalars(child);
    if (child.is_object() || child.is_array())
      out.insert(out.end(), below.begin(), below.end());
    else
      out.push_back(&child);
  };
  if (auto* items = at.if_array())
    for (auto& item : *items) add(item);
  if (auto* members = at.if_object())
    for (auto& member : *members)
      if (member.first != "schema") add(member.second);
  return out;
}

/// A damaged description comes back as it was, damage included; the few that a dialect cannot say (a word of the
/// producer where the canonical one belongs) are refused by name.
TEST(DialectRoundTrip, IsTheIdentityOnMutatedDescriptions) {
  std::mt19937 random(20260102);
  const Dialect dialect = calrt();
  const std::vector<Value> strange = {Value(),
                                      true,
                                      0,
                                      -1,
                                      7,
                                      4096,
                                      9007199254740993ull,
                                      UINT64_MAX,
                                      2.5,
                                      "",
                                      "0x10",
                                      "0X0F",
                                      "0x0",
                                      "16 MB",
                                      "16777216",
                                      "sha256:",
                                      "prefil",
                                      "2x3",
                                      Value::array(),
                                      Value::object()};
  int same = 0, refused = 0;
  for (int run = 0; run < 300; ++run) {
    Value document = fixtures()[random() % 3];
    for (int edits = 0; edits < 3; ++edits) {
      const auto places = scalars(document);
      *places[random() % places.size()] = strange[random() % strange.size()];
    }
    SCOPED_TRACE(run);
    if (const auto theirs = to_dialect(document, dialect); !theirs.ok()) {
      EXPECT_THAT(theirs.error().message, HasSubstr("the canonical description: /"));
      ++refused;
      continue;
    }
    expect_identity(document, dialect);
    ++same;
  }
  EXPECT_GE(same, 250) << refused << " refused";
}

TEST(DialectRoundTrip, SaysWhichFieldItCannotSay) {
  Value document = to_value(full_description());
  document.find("limits")->set("x-note", 3);
  const auto strange = to_dialect(document, calrt());
  ASSERT_FALSE(strange.ok());
  EXPECT_THAT(strange.error().message, HasSubstr("/limits/x-note"));
  document = to_value(full_description());
  (*document.find("submodels")->if_array())[0].set("type", "llm_prefill");
  EXPECT_THAT(to_dialect(document, calrt()).error().message, HasSubstr("/submodels/0/type"));
}

// --- the page and the schema -----------------------------------------------------------------------------------------

std::string block_of(const std::string& page, const std::string& first_line) {
  const auto from = page.find(first_line);
  EXPECT_NE(from, std::string::npos) << first_line;
  return page.substr(from, page.find("\n```", from) + 1 - from);
}

TEST(DialectPage, ItsWalkThroughGivesWhatItSays) {
  const auto page = read_file(CALKIT_SOURCE_DIR "/docs/formats/dialects.md");
  ASSERT_TRUE(page.ok());
  const auto dialect = parse_dialect(block_of(*page, "# dialect: acme-1.yaml\n"), "acme-1.yaml");
  ASSERT_TRUE(dialect.ok()) << dialect.error().message;
  const std::string theirs = block_of(*page, "# file: acme.yaml\n");
  const auto& all = shipped_dialects();
  const auto out = translate(folder({{"acme.yaml", theirs}}), {all->at(0), all->at(1), *dialect});
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_THAT(out->unmapped, IsEmpty());
  EXPECT_EQ(out->used.size(), dialect->map.size());
  EXPECT_EQ(to_json(out->document) + "\n", block_of(*page, "{\n  \"memory\""));
  EXPECT_EQ(out->source("/submodels/1/workspace/peak").pointer, "/models/tiny-decode/scratch_pages");
  EXPECT_TRUE(to_dialect(out->document, *dialect).ok());
}

TEST(DialectPage, NamesEveryParserAndSoDoesTheSchema) {
  const auto page = read_file(CALKIT_SOURCE_DIR "/docs/formats/dialects.md");
  const auto schema = read_json(CALKIT_SOURCE_DIR "/manifests/schemas/dialect.schema.json");
  ASSERT_TRUE(page.ok() && schema.ok());
  const Value* parse = schema->find("definitions")->find("mapping")->find("properties")->find("parse")->find("enum");
  std::vector<std::string> listed, known;
  for (const auto& name : *parse->if_array()) listed.push_back(*name.if_string());
  for (int i = 0; i <= static_cast<int>(Parser::kCopy); ++i) known.emplace_back(parser_name(static_cast<Parser>(i)));
  EXPECT_THAT(listed, testing::UnorderedElementsAreArray(known));
  for (const auto& name : known)
    EXPECT_THAT(*page, testing::ContainsRegex("\n[|][a-z_, ]*[ ,]" + name + "[ ,]")) << name;
}

TEST(DialectFolder, AddsToTheShippedOnesAndRefusesTwins) {
  testing_support::ScratchDir dir;
  const std::string text =
      "schema: calkit.dialect/1\nid: t\nversion: \"1\"\nmatch: {file: t.json}\nunmapped: warn\nmap: canonical\n";
  dir.write("a.yaml", text);
  dir.write("notes.txt", "not a dialect");
  const auto all = dialects_with(dir.path());
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(all->size(), 3u);
  dir.write("b.yaml", text);
  const auto twins = dialects_with(dir.path());
  ASSERT_FALSE(twins.ok());
  EXPECT_THAT(twins.error().message, HasSubstr("b.yaml: /id: found 't' version 1"));
  EXPECT_FALSE(dialects_with(dir / "nowhere").ok());
}

TEST(DialectFolder, RefusesFieldsAndWordsThatNoDescriptionHas) {
  const auto refused = [](const std::string& to, const std::string& words) {
    testing_support::ScratchDir dir;
    dir.write("t.yaml",
              "schema: calkit.dialect/1\nid: t\nversion: \"1\"\nmatch: {file: t.json}\nunmapped: warn\nmap:\n"
              "  - {from: /m, to: /submodels, parse: items}\n  - {from: /m/*/k, to: " +
                  to + ", parse: enum, enum: {A: " + words + "}}\n");
    const auto all = dialects_with(dir.path());
    return all.ok() ? std::string() : all.error().message + " " + all.error().hint;
  };
  EXPECT_EQ(refused("/submodels/*/type", "prefill"), "");
  EXPECT_THAT(refused("/submodels/*/type", "prefil"),
              HasSubstr("allowed: for /submodels/*/type: prefill, decode, kv_update did you mean prefill?"));
  EXPECT_THAT(refused("/submodels/*/kind", "prefill"), HasSubstr("a field of calbin.json"));
}

// --- named things --------------------------------------------------------------------------------------------------

TEST(DialectKey, AnObjectOfNamedThingsIsAListInTheOrderOfTheFile) {
  const auto dialect = dialect_of(
      "  - {from: /models, to: /submodels, parse: items}\n"
      "  - {from: /models/*, to: /submodels/*/name, parse: key}\n"
      "  - {from: /models/*/kind, to: /submodels/*/type, parse: text}\n");
  const Value theirs = json(R"({"models": {"b/1": {"kind": "decode"}, "a": {"kind": "prefill"}}})");
  const auto out = translate(theirs, dialect);
  EXPECT_EQ(
      out.document,
      json(R"({"schema": 1, "submodels": [{"name": "b/1", "type": "decode"}, {"name": "a", "type": "prefill"}]})"));
  EXPECT_EQ(out.source("/submodels/0/type").pointer, "/models/b~11/kind");
  EXPECT_EQ(out.source("/submodels/1/batch").pointer, "/models/a");
  const auto back = to_dialect(out.document, dialect);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(*back, {false, -1}), to_json(theirs, {false, -1}));
  const Value twins = json(R"({"schema": 1, "submodels": [{"name": "a", "type": "x"}, {"name": "a", "type": "y"}]})");
  EXPECT_FALSE(to_dialect(twins, dialect).ok());
}

// --- the committed package -------------------------------------------------------------------------------------------

/// tests/data/packages/calrt-mini.calbin: the good package as calrt-0.7 would write it. A producer counts its own
/// memory in a text; the bytes come from that text alone.
TEST(DialectPackage, TheCommittedOneIsTheGoodPackageInCalrt) {
  const std::filesystem::path committed = CALKIT_TEST_DATA "/packages/calrt-mini.calbin";
  testing_support::ScratchDir dir;
  testing_support::good_package().write(dir / "p");
  const auto document = read_json(dir / "p/calbin.json");
  ASSERT_TRUE(document.ok());
  const auto theirs = to_dialect(*document, calrt());
  ASSERT_TRUE(theirs.ok()) << theirs.error().message;
  EXPECT_EQ(theirs->find("device_memory_bytes"), nullptr);
  std::filesystem::remove(dir / "p/calbin.json");
  dir.write("p/model_info.json", to_json(*theirs) + "\n");
  if (const char* update = std::getenv("CALKIT_UPDATE_GOLDEN"); update != nullptr && *update == '1') {
    std::filesystem::remove_all(committed);
    std::filesystem::copy(dir / "p", committed, std::filesystem::copy_options::recursive);
  }
  const auto want = list_tree(dir / "p"), have = list_tree(committed);
  ASSERT_TRUE(want.ok() && have.ok());
  ASSERT_EQ(*have, *want);
  for (const auto& path : *want)
    EXPECT_TRUE(*read_file(dir / "p" / path) == *read_file(committed / path))
        << path << " differs; CALKIT_UPDATE_GOLDEN=1 rewrites it";
  const auto package = Package::open(committed);
  ASSERT_TRUE(package.ok()) << package.error().message;
  EXPECT_EQ(to_json(package->document()), to_json(*document));
  EXPECT_TRUE(package->verify_files().ok());
}

TEST(DialectPackage, AProblemIsToldWhereTheProducerWroteIt) {
  testing_support::ScratchDir dir;
  std::filesystem::copy(CALKIT_TEST_DATA "/packages/calrt-mini.calbin", dir / "p",
                        std::filesystem::copy_options::recursive);
  std::string text = dir.read("p/model_info.json");
  const std::string slots = "\"n_slot\": 2";
  ASSERT_NE(text.find(slots), std::string::npos);
  dir.write("p/model_info.json", text.replace(text.find(slots), slots.size(), "\"n_slot\": \"two\""));
  const auto package = Package::open(dir / "p");
  ASSERT_FALSE(package.ok());
  EXPECT_THAT(package.error().message, testing::ContainsRegex("model_info.json:[0-9]+: /llm_info/n_slot: found .*two"));
}

// --- where things are ----------------------------------------------------------------------------------------------

TEST(DialectSource, TellsPointerLineColumnAndRawTextOfWhatIsThereAndOfWhatIsNot) {
  const auto out =
      translate(json("{\n \"device_memory_required\": \"16777216 MB\",\n \"models\": [\n  {\n   \"model_type\": "
                     "\"llm_decode\",\n   \"ops_of_chip\": {\"0\": \"x\"}\n  }\n ]\n}"),
                calrt());
  const auto memory = out.source("/memory/device_required");
  EXPECT_EQ(memory.pointer, "/device_memory_required");
  EXPECT_EQ(memory.line, 2u);
  EXPECT_GT(memory.column, 1u);
  EXPECT_EQ(memory.raw, "16777216 MB");
  EXPECT_EQ(out.source("/submodels/0/type").line, 5u);
  EXPECT_EQ(out.source("/submodels/0/type").raw, "llm_decode");
  EXPECT_EQ(out.source("/submodels/0/oplist/0").pointer, "/models/0/ops_of_chip/0");
  EXPECT_EQ(out.source("/submodels/0/oplist/0").line, 6u);
  EXPECT_EQ(out.source("/submodels/0/context").pointer, "/models/0/n_ctx");
  EXPECT_EQ(out.source("/submodels/0/context").line, 4u);
  EXPECT_EQ(out.source("/submodels/0/context").raw, "");
  EXPECT_EQ(out.source("/submodels/0").pointer, "/models/0");
  EXPECT_EQ(out.source("/limits/context").pointer, "/llm_info/n_ctx");
  EXPECT_EQ(out.source("/no/such").pointer, "");
  EXPECT_EQ(line_of(out.document, "/submodels/0/type"), 5u);
  EXPECT_TRUE(out.source_map().contains("/submodels/0/type"));
}

TEST(DialectSource, TheCanonicalFileIsItsOwnSource) {
  const auto& all = shipped_dialects();
  const auto out = translate(json("{\n \"schema\": 1,\n \"limits\": {\"slots\": 2}}"), all->at(0));
  EXPECT_EQ(out.source("/limits/slots").pointer, "/limits/slots");
  EXPECT_EQ(out.source("/limits/slots").line, 3u);
  EXPECT_EQ(out.source("/limits/slots").raw, "2");
}

TEST(DialectUnmapped, NamesEveryUnknownKeyOnceAndTheNearestKnownOne) {
  const auto dialect = dialect_of(
      "  - {from: /a, to: /list, parse: items}\n  - {from: /a/*/count, to: /list/*/count, parse: int}\n"
      "  - {from: /o/x, to: /x, parse: int}\n",
      "unmapped: error\nignored: [/host, /a/*/debug]\n");
  const auto out =
      translate(json("{\"a\": [{\"count\": 1, \"debug\": {\"z\": 1}},\n {\"cuont\": 2, \"deep\": {\"er\": 1}}],\n"
                     "\"host\": \"me\", \"o\": 3}"),
                dialect);
  std::vector<std::string> pointers;
  for (const auto& key : out.unmapped) pointers.push_back(key.pointer);
  EXPECT_THAT(pointers, ElementsAre("/a/1/cuont", "/a/1/deep", "/o"));
  EXPECT_EQ(out.unmapped[0].nearest, "count");
  EXPECT_EQ(out.unmapped[0].line, 2u);
  EXPECT_TRUE(out.unmapped_is_error);
}

TEST(DialectNotes, QuirksAndAssumedKeysAreListedWhenUsed) {
  const auto dialect = dialect_of(
      "  - {from: /a, to: /x, parse: int, assumed: true}\n"
      "  - {from: /b, to: /y, parse: int, assumed: true}\n"
      "  - {from: /c, to: /z, parse: int, quirk: \"counted twice before 0.7.3, ticket 12\"}\n");
  const auto out = translate(json(R"({"a": 1, "c": 2})"), dialect);
  EXPECT_THAT(out.assumed, ElementsAre("/a"));
  EXPECT_THAT(out.quirks, ElementsAre(testing::Pair("/c", "counted twice before 0.7.3, ticket 12")));
  EXPECT_EQ(*out.document.find("z"), Value(2));
}

}  // namespace
}  // namespace calkit::calbin
