/// Faults that people reported of other tools (tests/data/cases/calbin-lint), as far as they touch this step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "calkit/base/files.h"
#include "scenes.h"
#include "scratch_dir.h"

namespace calkit::lint {
namespace {

using testing::HasSubstr;
using testing::IsSubsetOf;
using testing_support::ScratchDir;

const std::filesystem::path kCases = std::filesystem::path(CALKIT_TEST_DATA) / "cases/calbin-lint";

Value read(const std::string& name) {
  auto document = read_json(kCases / name);
  EXPECT_TRUE(document.ok());
  return document.ok() ? std::move(document).value() : Value();
}

/// The cases' manifests carry a `target`, which schema 1 of the service manifest does not have.
Result<manifest::ServiceManifest> read_manifest(const std::string& name) {
  ScratchDir dir;
  CALKIT_TRY(std::string text, read_file(kCases / name));
  const auto at = text.find("target:");
  if (at != std::string::npos) text.erase(at, text.find('\n', at) + 1 - at);
  return manifest::read_service(dir.write("service.yaml", text));
}

TEST(FieldReports, NamesAreComparedWholeNotByPrefix) {  // L01
  for (const char* name : {"exact", "model_prefix"}) {
    Scene scene = good_setup();
    scene.package.prefill_model().name = scene.package.prefill.submodel = "demo-prefill";
    scene.package.decode_model().name = scene.package.decode.submodel = "demo-decode";
    scene.package.description.golden[0].submodel = "demo-prefill";
    scene.package.description.golden[1].submodel = "demo-decode";
    add_decode(scene, "demo-decode-v2");
    const auto service = read_manifest(std::string("L01/") + name + ".yaml");
    ASSERT_TRUE(service.ok()) << service.error().message;
    scene.service->prefill_model = service->prefill_model;
    scene.service->decode_model = service->decode_model;
    const auto report = run_setup(scene);
    ASSERT_TRUE(report.ok());
    if (std::string(name) == "exact") {
      EXPECT_EQ(finding_ids(*report), Ids{"CB0305"});  // one name is a part of the other
    } else {
      EXPECT_EQ(finding_ids(*report), (Ids{"CB0304", "CB0305"}));
      EXPECT_THAT(report->findings[0].found, HasSubstr("demo-dec"));
      EXPECT_THAT(report->findings[0].limit, HasSubstr("demo-decode"));
    }
  }
}

TEST(FieldReports, NoDamagedPackageIsCalledGood) {  // L02
  const Value mutations = read("L02/mutations.json");
  const std::map<std::string, std::pair<std::string, std::function<void(std::string&)>>> how = {
      {"magic_flipped", {"calbin.json", [](std::string& b) { b[0] ^= 1; }}},
      {"empty", {"calbin.json", [](std::string& b) { b.clear(); }}},
      {"text", {"calbin.json", [](std::string& b) { b = "not a model at all\n"; }}},
      {"half", {"calbin.json", [](std::string& b) { b.resize(b.size() / 2); }}},
      {"one_byte_less", {"params/blk0.bin", [](std::string& b) { b.pop_back(); }}},
      {"one_byte_more", {"params/blk0.bin", [](std::string& b) { b.push_back('\0'); }}}};
  for (const auto& mutation : *mutations.if_array()) {
    const std::string id = *mutation.find("id")->if_string();
    ASSERT_TRUE(how.contains(id)) << id;
    const auto& [file, change] = how.at(id);
    ScratchDir dir;
    good_setup().package.write(dir / "p");
    std::string bytes = dir.read("p/" + file);
    change(bytes);
    dir.write("p/" + file, bytes);
    Inputs inputs;
    inputs.package = dir / "p";
    const auto report = run(inputs);
    ASSERT_TRUE(report.ok()) << id;
    EXPECT_NE(report->verdict, Verdict::kPass) << id;
    EXPECT_THAT(to_text(*report, false), HasSubstr(file)) << id;
  }
}

TEST(FieldReports, ParameterRangesDoNotWrap) {  // L03
  const Value entries = read("L03/entries.json"), expected = read("L03/expected.json");
  for (const auto& entry : *entries.if_array()) {
    const std::string id = *entry.find("id")->if_string();
    Scene scene = good_setup();
    scene.package.files["params/blk1.bin"] = std::string(*entry.find("file_size")->if_uint(), 'x');
    scene.package.description.files.push_back({"blk1", "params/blk1.bin", "param", 0, {}, 0, false});
    auto param = scene.package.param("one");
    param.name = "tested";
    param.file = "blk1";
    param.base += 512;
    param.dtype = DType::kU8;
    param.offset = *entry.find("offset")->if_uint();
    param.length = *entry.find("size")->if_uint();
    param.shape = {static_cast<std::int64_t>(std::min<std::uint64_t>(param.length, 1 << 20))};
    if (const auto* dims = entry.find("dims")) {
      param.dtype = DType::kI16;
      param.shape.clear();
      for (const auto& dim : *dims->if_array()) param.shape.push_back(*dim.if_int());
    }
    param.logical_shape = param.shape;
    scene.package.description.params.push_back(param);
    const auto report = run_setup(scene);
    ASSERT_TRUE(report.ok()) << id;
    const bool good = *expected.find(id)->find("ok")->if_bool();
    EXPECT_EQ(report->verdict == Verdict::kPass, good) << id << "\n" << to_text(*report, false);
    if (good) continue;
    EXPECT_THAT(finding_ids(*report), testing::Contains(param.length == 0 ? "CB0502" : "CB0601")) << id;
  }
}

TEST(FieldReports, UnitsAreReadByTheirLetters) {  // L04
  const Value values = read("L04/values.json"), expected = read("L04/expected.json");
  for (const auto& value : *values.if_array()) {
    const std::string text = *value.if_string();
    const Value* bytes = expected.find("bytes")->find(text);
    ASSERT_NE(bytes, nullptr) << text;
    Scene scene = good_setup();
    scene.package.description.memory.declared_text = text;
    scene.package.description.memory.device_required = bytes->if_uint().value_or(24576);
    const auto report = run_setup(scene);
    ASSERT_TRUE(report.ok());
    const Ids ids = finding_ids(*report);
    const bool unit_fault = std::any_of(ids.begin(), ids.end(),
                                        [](const std::string& id) { return id != "CB0805" && id.starts_with("CB08"); });
    EXPECT_EQ(unit_fault, bytes->is_null()) << text << "\n" << to_text(*report, false);
    if (text == "16777216 MB") {
      EXPECT_THAT(to_text(*report, false), HasSubstr("would be 16.000 GiB if KiB"));
    }
  }
}

TEST(FieldReports, AServiceManifestSaysEverythingOnce) {  // L05
  EXPECT_TRUE(read_manifest("L05/good.yaml").ok());
  for (const auto& [name, words] : {std::pair{"dup_top", "context"},
                                    {"dup_nested", "decode"},
                                    {"unknown_key", "contxt"},
                                    {"two_docs", "document"}}) {
    const auto service = read_manifest(std::string("L05/") + name + ".yaml");
    ASSERT_FALSE(service.ok()) << name;
    EXPECT_THAT(service.error().message, HasSubstr(words)) << name;
  }
}

TEST(FieldReports, NoTextBecomesAnotherNumber) {  // L06
  const Value expected = read("L06/expected.json");
  for (const auto& name : *expected.find("refused")->if_array())
    EXPECT_FALSE(read_manifest("L06/" + *name.if_string() + ".yaml").ok()) << *name.if_string();
  const auto hex = read_manifest("L06/hex.yaml");
  EXPECT_TRUE(!hex.ok() || hex->context == 40960);
}

/// Buffers with an address and steps of life, as writes and reads of an op list a chip.
void use_buffers(Scene& scene, const Value& cases) {
  auto& d = scene.package.description;
  d.device.chips = 2;
  d.device.chip_mask = 3;
  d.device.chip.push_back({1, 34292629504, {}, {}});
  d.kv.bytes_per_chip = {4096, 0};
  auto region = scene.package.region("workspace");
  region.parent.clear();
  region.size = 1024;
  region.base = 0x40000000;
  for (std::int64_t chip = 0; chip < 2; ++chip) {
    region.chip = chip;
    region.id = "planned." + std::to_string(chip);
    d.memory.regions.push_back(region);
    calbin::OpList list{"mini-decode", chip, {}};
    for (std::int64_t step = 0; step < 10; ++step) {
      calbin::Op op{step, "Identity", "", "", {}, {}, {}};
      for (const auto& buffer : *cases.find("buffers")->if_array()) {
        if (*buffer.find("chip")->if_int() != chip) continue;
        calbin::Operand operand;
        operand.name = *buffer.find("name")->if_string();
        operand.region = region.id;
        operand.base = region.base + *buffer.find("addr")->if_uint();
        operand.size = *buffer.find("size")->if_uint();
        operand.dtype = DType::kU8;
        operand.shape = {{std::int64_t{1}}};
        if (*buffer.find("first")->if_int() == step) op.writes.push_back(operand);
        if (*buffer.find("last")->if_int() == step) op.reads.push_back(operand);
      }
      list.ops.push_back(op);
    }
    const std::string path = "oplists/planned" + std::to_string(chip) + ".json";
    scene.package.files[path] = to_json(calbin::to_value(list));
    d.files.push_back({region.id, path, "oplist", 0, {}, 0, false});
    scene.package.decode_model().oplist[chip] = region.id;
  }
  scene.package.files["oplists/decode.json"] = to_json(calbin::to_value(scene.package.decode));
}

TEST(FieldReports, BuffersInUseShareNoBytes) {  // L07; its ping/pong pair is CB0701's
  Value cases = read("L07/buffers.json");
  auto& buffers = *cases.find("buffers")->if_array();
  std::erase_if(buffers, [](const Value& b) { return b.find("name")->if_string()->starts_with("p"); });
  Scene scene = good_setup();
  use_buffers(scene, cases);
  const auto report = run_setup(scene);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(finding_ids(*report), (Ids{"CB0509", "CB0604", "CB0704", "CB0905"})) << to_text(*report, false);
  ASSERT_EQ(report->findings.size(), 5u) << to_text(*report, false);  // f outside at its write and its read
  EXPECT_THAT(report->findings[0].message, HasSubstr("operand 'f' lies outside"));
  EXPECT_THAT(report->findings[3].message, HasSubstr("writes over 'b'"));
  EXPECT_THAT(report->findings[3].pointer, HasSubstr("/ops/3/writes/"));
}

}  // namespace
}  // namespace calkit::lint
