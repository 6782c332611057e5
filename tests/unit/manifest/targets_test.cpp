#include "calkit/manifest/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_dir.h"

namespace calkit::manifest {
namespace {

using ::testing::HasSubstr;
using testing_support::ScratchDir;

std::string project_refusal(std::string_view text) {
  const ScratchDir dir;
  const auto targets = read_project(dir.write("p.yaml", text));
  return targets.ok() ? "(accepted)" : targets.error().message;
}

TEST(Project, OfTheExampleIsReadAndNamesItself) {
  const auto targets = read_project(CALKIT_SOURCE_DIR "/manifests/examples/tiny-dense.project.yaml");
  ASSERT_TRUE(targets.ok()) << targets.error().message;
  EXPECT_EQ(targets->context, 2048);
  EXPECT_EQ(targets->kv_dtype, "f32");
  EXPECT_EQ(targets->source, "tiny-dense.project.yaml");
}

TEST(Project, KeepsTheDefaultOfATargetThatIsLeftOut) {
  const ScratchDir dir;
  const auto targets = read_project(dir.write("p.yaml", "schema: calkit.project/1\ntargets: {context: 8192}\n"));
  ASSERT_TRUE(targets.ok());
  EXPECT_EQ(targets->context, 8192);
  EXPECT_EQ(targets->batch, 1);
  EXPECT_EQ(targets->kv_dtype, "bf16");
}

TEST(Project, RefusesWhatItDoesNotKnow) {
  const std::string head = "schema: calkit.project/1\n";
  EXPECT_THAT(project_refusal("targets: {context: 1}\n"), HasSubstr("/schema: required field missing"));
  EXPECT_THAT(project_refusal("schema: calkit.project/2\ntargets: {}\n"), HasSubstr("found \"calkit.project/2\""));
  EXPECT_THAT(project_refusal(head), HasSubstr("/targets: required field missing"));
  EXPECT_THAT(project_refusal(head + "targets: {contxt: 1}\n"), HasSubstr("/targets/contxt: found an unknown field"));
  EXPECT_THAT(project_refusal(head + "targets: {context: 0}\n"), HasSubstr("allowed: an integer from 1 to 2147483647"));
  EXPECT_THAT(project_refusal(head + "targets: {batch: 65536}\n"), HasSubstr("allowed: an integer from 1 to 65535"));
  EXPECT_THAT(project_refusal(head + "targets: {kv_dtype: fp32}\n"), HasSubstr("allowed: bf16 | f32"));
}

TEST(Targets, ComeBackFromTheirRecord) {
  const ProductTargets targets{.context = 40960, .batch = 4, .kv_dtype = "f32", .source = "flags"};
  const Value record = to_value(targets);
  const auto back = parse_targets(Cursor(record, "r"));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(to_value(*back), record);
}

TEST(DeviceProfile, BuiltInIsTheAssumedBoard) {
  const auto profile = default_device_profile();
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(profile->name, "calculet-assumed");
  EXPECT_TRUE(profile->assumed);
  EXPECT_EQ(profile->chiplets, 2);
  EXPECT_EQ(profile->dram_bytes, 34359738368u);
  EXPECT_EQ(profile->usable_bytes(), 34359738368u - 67108864u);
  const auto file = read_device_profile(CALKIT_SOURCE_DIR "/manifests/devices/calculet-assumed.yaml");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->dram_bytes, profile->dram_bytes);
}

TEST(DeviceProfile, WantsAReasonForEveryUnknown) {
  const ScratchDir dir;
  const auto refusal = [&dir](std::string_view from, std::string_view to) {
    std::ifstream in(CALKIT_SOURCE_DIR "/manifests/devices/calculet-assumed.yaml");
    std::string text(std::istreambuf_iterator<char>(in), {});
    text.replace(text.find(from), from.size(), to);
    const auto profile = read_device_profile(dir.write("d.yaml", text));
    return profile.ok() ? std::string("(accepted)") : profile.error().message;
  };
  EXPECT_THAT(refusal("  link_bytes_per_s: the vendor has not stated the bandwidth between chiplets\n", ""),
              HasSubstr("/reasons/link_bytes_per_s: required field missing"));
  EXPECT_EQ(refusal("link_bytes_per_s: null", "link_bytes_per_s: 64000000000"), "(accepted)");
  EXPECT_THAT(refusal("calcores_per_chiplet: null", "calcores_per_chiplet: 0"),
              HasSubstr("/calcores_per_chiplet: found 0"));
  EXPECT_THAT(refusal("guard_bytes_per_chiplet: 67108864", "guard_bytes_per_chiplet: 34359738368"),
              HasSubstr("/guard_bytes_per_chiplet: found 34359738368"));
  EXPECT_THAT(refusal("chiplets: 2", "chiplets: 0"), HasSubstr("/chiplets: found 0"));
  EXPECT_THAT(refusal("chiplets: 2", "chiplet: 2"), HasSubstr("/chiplet: found an unknown field"));
  EXPECT_THAT(refusal("  chip_mask: the vendor has not stated how chips are numbered\n", ""),
              HasSubstr("/reasons/chip_mask: required field missing"));
  EXPECT_EQ(refusal("chip_mask: null\n", ""), "(accepted)");
  EXPECT_EQ(refusal("chip_mask: null", "chip_mask: \"0x6\""), "(accepted)");
  EXPECT_THAT(refusal("chip_mask: null", "chip_mask: \"0x1\""), HasSubstr("/chip_mask: found 0x1 with 1 bits"));
  EXPECT_THAT(refusal("chip_mask: null", "chip_mask: 3"), HasSubstr("/chip_mask: found"));
  EXPECT_THAT(refusal("ccu_class: null", "ccu_class: 16"), HasSubstr("/ccu_class: found 16; allowed: 32 or 64"));
  EXPECT_THAT(refusal("ccu_endian: null", "ccu_endian: middle"), HasSubstr("/ccu_endian: found"));
  EXPECT_THAT(refusal("ccu_flags: null", "ccu_flags: five"), HasSubstr("/ccu_flags: found 'five'"));
  EXPECT_THAT(refusal("ccu_type: null", "ccu_type: rel"), HasSubstr("/ccu_type: found"));
}

TEST(DeviceProfile, ReadsTheControlProgramThatABoardWants) {
  const ScratchDir dir;
  std::ifstream in(CALKIT_SOURCE_DIR "/manifests/devices/calculet-assumed.yaml");
  std::string text(std::istreambuf_iterator<char>(in), {});
  for (const auto& [from, to] : {std::pair{"chip_mask: null", "chip_mask: \"0x5\""},
                                 {"ccu_machine: null", "ccu_machine: riscv"},
                                 {"ccu_class: null", "ccu_class: 64"},
                                 {"ccu_endian: null", "ccu_endian: big"},
                                 {"ccu_flags: null", "ccu_flags: \"0x5\""},
                                 {"ccu_type: null", "ccu_type: dyn"}})
    text.replace(text.find(from), std::string_view(from).size(), to);
  const auto profile = read_device_profile(dir.write("d.yaml", text));
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(profile->chips(), 5u);
  EXPECT_EQ(profile->ccu.machine, "riscv");
  EXPECT_EQ(profile->ccu.elf_class, 64);
  EXPECT_EQ(profile->ccu.little_endian, false);
  EXPECT_EQ(profile->ccu.flags, 5u);
  EXPECT_EQ(profile->ccu.type, "dyn");
  const auto assumed = default_device_profile();
  ASSERT_TRUE(assumed.ok());
  EXPECT_EQ(assumed->chip_mask, std::nullopt);
  EXPECT_EQ(assumed->chips(), 3u);
  EXPECT_EQ(assumed->ccu.machine, std::nullopt);
}

}  // namespace
}  // namespace calkit::manifest
