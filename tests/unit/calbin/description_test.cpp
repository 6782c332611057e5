#include "calkit/calbin/package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "calkit/calbin/reading.h"
#include "full_description.h"
#include "package_builder.h"
#include "scratch_dir.h"

namespace calkit::calbin {
namespace {

using testing::HasSubstr;
using testing_support::good_package;
using testing_support::ScratchDir;
using testing_support::TestPackage;

/// Reads a document that was sealed after the test changed it.
Result<Description> parse(Value document) {
  if (document.find("seal") != nullptr && !document.find("seal")->is_null()) document.set("seal", seal_of(document));
  return parse_description(Cursor(document, "calbin.json"));
}

TEST(CalbinDescription, ReadsBackWhatItWrote) {
  const Description written = full_description();
  const std::string text = to_json(to_value(written));
  const auto document = parse_json(text, "calbin.json");
  ASSERT_TRUE(document.ok());
  const auto read = parse(*document);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(*read == written);
  EXPECT_EQ(to_json(to_value(*read)), text);
}

TEST(CalbinDescription, RefusesEveryUnknownKeyButThoseForExtensions) {
  Value document = to_value(full_description());
  document.find("limits")->set("x-note", "fine");
  EXPECT_TRUE(parse(document).ok());
  document.find("limits")->set("contxt", 4);
  const auto read = parse(document);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("/limits/contxt"));
  EXPECT_THAT(read.error().message, HasSubstr("'context' is the nearest"));
}

TEST(CalbinDescription, KeepsAddressesAndSizesExact) {
  const auto document = parse_json(to_json(to_value(full_description())), "calbin.json");
  const auto read = parse(*document);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->memory.regions[1].base, UINT64_MAX);
  Value too_large = *document;
  too_large.find("memory")->set("device_required", (1ull << 53));
  EXPECT_FALSE(parse(too_large).ok());
  too_large.find("memory")->set("device_required", (1ull << 53) - 1);
  EXPECT_TRUE(parse(too_large).ok());
}

struct BadField {
  const char* pointer;
  Value value;
};
class CalbinBadField : public testing::TestWithParam<BadField> {};

Value* at(Value& root, const std::string& pointer) {
  Value* here = &root;
  std::size_t from = 1;
  while (here != nullptr && from <= pointer.size()) {
    const std::size_t end = std::min(pointer.find('/', from), pointer.size());
    const std::string step = pointer.substr(from, end - from);
    here = here->is_array() ? &(*here->if_array())[std::stoul(step)] : here->find(step);
    from = end + 1;
  }
  return here;
}

TEST_P(CalbinBadField, IsNamedWithItsPointer) {
  Value document = to_value(full_description());
  Value* field = at(document, GetParam().pointer);
  ASSERT_NE(field, nullptr);
  *field = GetParam().value;
  const auto read = parse(document);
  ASSERT_FALSE(read.ok()) << GetParam().pointer;
  EXPECT_EQ(read.error().kind, ErrorKind::kInput);
  EXPECT_THAT(read.error().message, HasSubstr(GetParam().pointer));
}

INSTANTIATE_TEST_SUITE_P(
    All, CalbinBadField,
    testing::Values(
        BadField{"/schema", "1"}, BadField{"/schema", 2}, BadField{"/package", 3}, BadField{"/package/name", ""},
        BadField{"/model/layers", 0}, BadField{"/model/layers", 4.0}, BadField{"/model/rope_theta", "1e6"},
        BadField{"/model/config_digest", "md5:0"}, BadField{"/limits/slots", Value()}, BadField{"/device/chip_mask", 1},
        BadField{"/device/chip_mask", "0x1ffffffffffffffff"}, BadField{"/device/chip/0/id", 64},
        BadField{"/partition/kind", "2_chips"}, BadField{"/files", Value::object()},
        BadField{"/files/0/role", "weights"}, BadField{"/files/0/size", -1},
        BadField{"/files/0/digest", "sha256:" + std::string(64, '0')}, BadField{"/memory/regions/0/space", "disk"},
        BadField{"/memory/regions/1/parent", "chip9"}, BadField{"/params/0/file", "blk7"},
        BadField{"/params/0/shape", Value::list(std::vector<int>(17, 1))}, BadField{"/params/0/dtype", "float"},
        BadField{"/submodels/0/tokens", Value::list(std::vector<int>{4, 2, 1})},
        BadField{"/submodels/0/inputs/0/role", "ids"}, BadField{"/submodels/0/csr/0/signed", 0},
        BadField{"/submodels/0/oplist", Value::object({{"chip0", "blk0"}})}, BadField{"/kv/bytes_per_chip", 4096},
        BadField{"/provenance/compiler", Value()}, BadField{"/golden/0/inputs", "nowhere"},
        BadField{"/golden/0/covers/0", 0}, BadField{"/golden/0/made_with/tool", 1}, BadField{"/ccu/elf", "blk7"},
        BadField{"/ccu/class", 48}, BadField{"/ccu/class", "64"}, BadField{"/ccu/endian", "middle"},
        BadField{"/ccu/flags", 5}, BadField{"/ccu/load_region", "ccu9"}, BadField{"/d2d/helper", "blk7"},
        BadField{"/d2d/required", "yes"}, BadField{"/d2d/routes/0/to", 64}, BadField{"/quant/schemes/0/id", ""},
        BadField{"/quant/schemes/0/weight/bits", 0}, BadField{"/quant/schemes/0/weight/granularity", "row"},
        BadField{"/quant/schemes/0/act/dynamic", 1}, BadField{"/quant/schemes/0/scale_dtype", "f8"},
        BadField{"/quant/schemes/0/zp_dtype", "f32"}, BadField{"/quant/ops/MatMul", 8},
        BadField{"/quant/calibration_digest", "sha256:"}, BadField{"/quant/scales/table/scale", "scales"},
        BadField{"/quant/scales/table/zero_point", "zeros"}, BadField{"/signatures/0/file", "blk7"},
        BadField{"/package/created", "yesterday"}, BadField{"/provenance/started", "2026-13-02T03:04:05Z"}));

TEST(CalbinDescription, ChecksTheDigestsOfWhatAGoldenWasMadeWith) {
  Description d = full_description();
  d.golden[0].made_with["model_digest"] = "main";
  EXPECT_THAT(parse(to_value(d)).error().message, HasSubstr("/golden/0/made_with/model_digest"));
}

TEST(CalbinDescription, NamesAQuantisedParameterThatIsNotThere) {
  Description d = full_description();
  d.quant->scales["tabel"] = {"one", ""};
  EXPECT_THAT(parse(to_value(d)).error().message, HasSubstr("/quant/scales/tabel"));
  d.quant.reset();
  EXPECT_THAT(parse(to_value(d)).error().message, HasSubstr("/params/0/quant_ref")) << "no section, no scheme";
}

TEST(CalbinSeal, IsRequiredAndMustBeThatOfTheDocument) {
  Value document = to_value(full_description());
  EXPECT_TRUE(parse_description(Cursor(document, "calbin.json")).ok());
  document.find("limits")->set("x-note", "added later");
  const auto changed = parse_description(Cursor(document, "calbin.json"));
  ASSERT_FALSE(changed.ok());
  EXPECT_THAT(changed.error().message, HasSubstr("/seal"));
  document.set("seal", seal_of(document));
  EXPECT_TRUE(parse_description(Cursor(document, "calbin.json")).ok());
  document.set("seal", Value());
  EXPECT_THAT(parse_description(Cursor(document, "calbin.json")).error().message, HasSubstr("/seal"));
}

TEST(CalbinReading, ReportsEveryProblemAndKeepsTheRest) {
  Value document = to_value(full_description());
  document.find("limits")->set("slots", "2");
  document.find("limits")->set("contxt", 3);
  document.find("memory")->set("device_required", 18446744073709551552ull);
  (*document.find("params")->if_array())[1].set("offset", Value());
  const auto reading = read_description(Cursor(document, "calbin.json"));
  std::vector<std::string> pointers;
  for (const auto& problem : reading.problems) pointers.push_back(problem.pointer);
  EXPECT_THAT(pointers, testing::UnorderedElementsAre("/limits/slots", "/limits/contxt", "/memory/device_required",
                                                      "/params/1/offset", "/seal"));
  EXPECT_EQ(reading.description.memory.device_required, 18446744073709551552ull);
  EXPECT_EQ(reading.description.params.size(), 2u);
  EXPECT_EQ(reading.description.params[1].name, "one");
}

TEST(CalbinReading, TellsTheLineOfAPointer) {
  const auto document = parse_json("{\n \"a\": [\n  1,\n  {\"b/c\": 2}\n ]\n}", "x");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(line_of(*document, "/a/1/b~1c"), 4u);
  EXPECT_EQ(line_of(*document, "/a/1/missing"), 4u);
  EXPECT_EQ(line_of(*document, "/a/9"), 2u);
  EXPECT_EQ(line_of(*document, ""), 1u);
}

TEST(CalbinPackage, OpensMapsAndVerifies) {
  ScratchDir dir;
  good_package().write(dir / "mini.calbin");
  const auto package = Package::open(dir / "mini.calbin");
  ASSERT_TRUE(package.ok()) << package.error().message;
  EXPECT_EQ(package->description().name, "mini");
  EXPECT_THAT(package->digest(), testing::MatchesRegex("sha256:[0-9a-f]{64}"));
  EXPECT_TRUE(package->verify_files().ok());
  const auto block = package->map("blk0");
  ASSERT_TRUE(block.ok());
  EXPECT_EQ((*block)->size(), package->description().file("blk0")->size);
  EXPECT_FALSE(package->map("params/blk0.bin").ok());
}

TEST(CalbinPackage, OpensThePackageOfABoardWithOneChipAndWithTwo) {
  for (const std::int64_t chips : {1, 2}) {
    ScratchDir dir;
    testing_support::PackageShape shape;
    shape.chips = chips;
    shape.full = true;
    good_package(shape).write(dir / "p");
    const auto package = Package::open(dir / "p");
    ASSERT_TRUE(package.ok()) << package.error().message;
    EXPECT_TRUE(package->verify_files().ok());
    EXPECT_EQ(package->description().submodels[1].oplist.size(), static_cast<std::size_t>(chips));
  }
}

TEST(CalbinPackage, RefusesChangedFilesWithTheirName) {
  ScratchDir dir;
  good_package().write(dir / "p");
  const auto verify = [&] { return Package::open(dir / "p")->verify_files(); };
  std::string bytes = dir.read("p/params/blk0.bin");
  bytes[17] ^= 1;
  dir.write("p/params/blk0.bin", bytes);
  const auto changed = verify();
  ASSERT_FALSE(changed.ok());
  EXPECT_THAT(changed.error().message, HasSubstr("params/blk0.bin"));
  EXPECT_THAT(changed.error().message, HasSubstr("digest"));
  dir.write("p/params/blk0.bin", bytes.substr(1));
  EXPECT_THAT(verify().error().message, HasSubstr("size"));
  EXPECT_FALSE(Package::open(dir / "p")->map("blk0").ok());
  std::filesystem::remove(dir / "p/params/blk0.bin");
  EXPECT_FALSE(verify().ok());
}

TEST(CalbinPackage, SaysWhichFolderIsNoPackage) {
  ScratchDir dir;
  EXPECT_THAT(Package::open(dir / "nothing").error().context.front(), HasSubstr("nothing"));
  EXPECT_FALSE(Package::open(dir.path()).ok());
  dir.write("calbin.json", "not a model at all\n");
  EXPECT_EQ(Package::open(dir.path()).error().kind, ErrorKind::kInput);
}

TEST(CalbinPackage, NeverFollowsALinkOutOfThePackage) {
  ScratchDir dir;
  TestPackage p = good_package();
  p.edit_folder = [](const std::filesystem::path& at) {
    std::filesystem::rename(at / "params/blk0.bin", at.parent_path() / "outside.bin");
    std::filesystem::create_symlink(at.parent_path() / "outside.bin", at / "params/blk0.bin");
  };
  p.write(dir / "p");
  const auto package = Package::open(dir / "p");
  ASSERT_TRUE(package.ok());
  EXPECT_FALSE(package->map("blk0").ok());
  EXPECT_FALSE(package->verify_files().ok());
}

}  // namespace
}  // namespace calkit::calbin
