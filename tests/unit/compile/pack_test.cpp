// What pack writes, and what it refuses.
#include <gmock/gmock.h>

#include <functional>

#include "calkit/base/hash.h"
#include "calkit/calbin/oplist.h"
#include "calkit/tensor/npz.h"
#include "road.h"

namespace calkit::compile {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_support::ScratchDir;

std::string edit_text(const fs::path& path, const std::string& from, const std::string& to) {
  auto text = read_file(path);
  EXPECT_TRUE(text.ok());
  const auto at = text->find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text->replace(at, from.size(), to);
  EXPECT_TRUE(write_file(path, *text).ok());
  return *text;
}

TEST(Pack, TwoRunsFromDifferentFoldersGiveTheSameBytes) {
  const Road& road = Road::of({});
  const ScratchDir one, two;
  fs::create_directories(two / "elsewhere");
  fs::copy(road.onnx(), two / "elsewhere/graphs", fs::copy_options::recursive);
  fs::copy(road.baseline(), two / "elsewhere/frozen", fs::copy_options::recursive);
  PackOptions options = road.options(one / "m.calbin");
  ASSERT_TRUE(pack(options).ok());
  options.onnx_dir = two / "elsewhere/graphs";
  options.baseline = two / "elsewhere/frozen";
  options.out = two / "m.calbin";
  ASSERT_TRUE(pack(options).ok());
  const auto first = hash_tree(one / "m.calbin"), second = hash_tree(two / "m.calbin");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->sha256, second->sha256);
  const auto text = read_file(one / "m.calbin/calbin.json");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, testing::Not(HasSubstr(one.path().string())));
}

TEST(Pack, ThePackageReadsBackAndItsFilesVerify) {
  const Road& road = Road::of({});
  const ScratchDir dir;
  PackOptions options = road.options(dir / "tiny-dense.calbin");
  options.tile_rows = 16;
  options.slots = 4;
  const auto report = pack(options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  const auto package = calbin::Package::open(options.out);
  ASSERT_TRUE(package.ok()) << package.error().message;
  EXPECT_TRUE(package->verify_files().ok());
  const calbin::Description& d = package->description();
  EXPECT_EQ(d.name, "tiny-dense");
  EXPECT_EQ(d.compat.device, "emulated");
  EXPECT_EQ(d.submodels.at(0).name, "tiny-dense-prefill");
  EXPECT_EQ(d.submodels.at(1).name, "tiny-dense-decode");
  EXPECT_EQ(d.limits.slots, 4);
  // 5 layers, 2 KV heads, K and V, 64 wide, 2048 tokens, 4 slots, f32
  EXPECT_EQ(d.kv.bytes_total, 5ull * 2 * 2 * 64 * 2048 * 4 * 4);
  EXPECT_EQ(d.submodels[1].outputs.at(0).shape, (Shape{16, 2048}));
  EXPECT_EQ(d.submodels[1].outputs.at(0).layout.logical_shape, (Shape{1, 2048}));
  std::uint64_t leaves = 0;
  for (const calbin::Region& region : d.memory.regions) leaves += region.kind == "global" ? 0 : region.size;
  EXPECT_EQ(d.memory.device_required, leaves);
  EXPECT_EQ(d.golden.size(), 2u);
  EXPECT_FALSE(d.created.has_value());
  for (const calbin::Param& param : d.params) EXPECT_EQ(param.offset % 64, 0u) << param.name;
  const auto inputs = read_npz(options.out / "golden/prefill_inputs.npz");
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(inputs->size(), 4u);
}

TEST(Pack, TheWorkspaceIsReusedButNeverByTwoLiveValues) {
  const Road& road = Road::of({});
  const ScratchDir dir;
  const auto report = pack(road.options(dir / "m.calbin"));
  ASSERT_TRUE(report.ok()) << report.error().message;
  for (const char* phase : {"prefill", "decode"}) {
    const auto document = read_json(dir / (std::string("m.calbin/oplist/") + phase + ".chip0.json"));
    ASSERT_TRUE(document.ok());
    const auto list = calbin::parse_oplist(Cursor(*document, phase));
    ASSERT_TRUE(list.ok());
    struct Range {
      std::uint64_t base, size;
      std::size_t first, last;
    };
    std::vector<Range> live;  // by storage: first write, last read
    std::uint64_t sum = 0, top = 0, bottom = UINT64_MAX;
    for (std::size_t i = 0; i < list->ops.size(); ++i) {
      for (const auto& write : list->ops[i].writes) {
        if (write.region != "workspace") continue;
        live.push_back({write.base, write.size, i, i});
        sum += write.size;
        top = std::max(top, write.base + write.size);
        bottom = std::min(bottom, write.base);
      }
      for (const auto& read : list->ops[i].reads)
        if (read.region == "workspace")
          for (auto range = live.rbegin(); range != live.rend(); ++range)
            if (range->base == read.base) {
              range->last = i;
              break;
            }
    }
    for (std::size_t a = 0; a < live.size(); ++a)
      for (std::size_t b = a + 1; b < live.size(); ++b) {
        const bool together = live[a].first <= live[b].last && live[b].first <= live[a].last;
        const bool overlap = live[a].base < live[b].base + live[b].size && live[b].base < live[a].base + live[a].size;
        ASSERT_FALSE(together && overlap) << phase << ": values of ops " << live[a].first << " and " << live[b].first;
      }
    EXPECT_LT((top - bottom) * 4, sum) << phase << " hardly reuses memory";
  }
}

struct Refusal {
  const char* name;
  std::function<void(const fs::path& work, PackOptions&)> damage;
  ErrorKind kind;
  const char* message;
};

std::vector<Refusal> refusals() {
  const auto tiny_profile = [](const fs::path&, PackOptions& o) { o.profile.dram_bytes = 80 << 20; };
  return {
      {"the output has no .calbin", [](const fs::path& w, PackOptions& o) { o.out = w / "package"; }, ErrorKind::kUsage,
       "NAME.calbin"},
      {"an unknown tile", [](const fs::path&, PackOptions& o) { o.tile_rows = 8; }, ErrorKind::kUsage, "0, 16 or 32"},
      {"a folder of something else in the way",
       [](const fs::path& w, PackOptions& o) {
         fs::create_directories(w / "x.calbin");
         EXPECT_TRUE(write_file(w / "x.calbin/notes.txt", "mine").ok());
         o.out = w / "x.calbin";
       },
       ErrorKind::kInput, "other files"},
      {"no graphs", [](const fs::path& w, PackOptions& o) { o.onnx_dir = w / "nothing"; }, ErrorKind::kInput,
       "contract.json"},
      {"no baseline", [](const fs::path& w, PackOptions& o) { o.baseline = w / "nothing"; }, ErrorKind::kInput,
       "nothing"},
      {"a baseline of another model",
       [](const fs::path&, PackOptions& o) { o.baseline = Road::of({"qwen3-qknorm", DType::kF32, 512, 1}).baseline(); },
       ErrorKind::kInput, "as the baseline has it"},
      {"another KV dtype",
       [](const fs::path&, PackOptions& o) { o.baseline = Road::of({"tiny-dense", DType::kBF16, 2048, 1}).baseline(); },
       ErrorKind::kInput, "kv_dtype"},
      {"a graph with a changed byte",
       [](const fs::path& w, PackOptions& o) {
         auto text = read_file(w / "onnx/decode.onnx");
         ASSERT_TRUE(text.ok());
         text->at(text->size() / 2) = static_cast<char>(text->at(text->size() / 2) ^ 1);
         ASSERT_TRUE(write_file(o.onnx_dir / "decode.onnx", *text).ok());
       },
       ErrorKind::kInput, "(contract.json)"},
      {"weights that were cut",
       [](const fs::path&, PackOptions& o) {
         fs::resize_file(o.onnx_dir / "weights.bin", fs::file_size(o.onnx_dir / "weights.bin") - 1);
       },
       ErrorKind::kInput, "weights.bin"},
      {"graphs that were swapped",
       [](const fs::path&, PackOptions& o) {
         fs::rename(o.onnx_dir / "prefill.onnx", o.onnx_dir / "x");
         fs::rename(o.onnx_dir / "decode.onnx", o.onnx_dir / "prefill.onnx");
         fs::rename(o.onnx_dir / "x", o.onnx_dir / "decode.onnx");
       },
       ErrorKind::kInput, "(contract.json)"},
      {"a contract of another schema",
       [](const fs::path&, PackOptions& o) {
         edit_text(o.onnx_dir / "contract.json", "calkit.onnx-contract/1", "calkit.onnx-contract/2");
       },
       ErrorKind::kInput, "calkit.onnx-contract/1"},
      {"a contract with another vocabulary",
       [](const fs::path&, PackOptions& o) {
         edit_text(o.onnx_dir / "contract.json", "\"vocab_size\": 2048", "\"vocab_size\": 2047");
       },
       ErrorKind::kInput, "differs from /config"},
      {"a contract of a model with another rope",
       [](const fs::path&, PackOptions& o) {
         edit_text(o.onnx_dir / "contract.json", "\"rope_theta\": 50000", "\"rope_theta\": 10000");
       },
       ErrorKind::kInput, "rope"},
      {"a chiplet that is too small", tiny_profile, ErrorKind::kInput, "parameters"},
      {"more slots than the chiplet holds", [](const fs::path&, PackOptions& o) { o.slots = 65536; }, ErrorKind::kInput,
       "KV"},
  };
}

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithOneMessageAndNothingWritten) {
  const Road& road = Road::of({});
  const ScratchDir dir;
  fs::copy(road.onnx(), dir / "onnx", fs::copy_options::recursive);
  PackOptions options = road.options(dir / "m.calbin");
  options.onnx_dir = dir / "onnx";
  GetParam().damage(dir.path(), options);
  const auto report = pack(options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, GetParam().kind) << report.error().message;
  EXPECT_THAT(report.error().message, HasSubstr(GetParam().message));
  EXPECT_FALSE(fs::exists(options.out / "calbin.json"));
  for (const auto& entry : fs::directory_iterator(dir.path()))
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf("onnx", "x.calbin"));
}

INSTANTIATE_TEST_SUITE_P(Pack, Refused, testing::ValuesIn(refusals()), [](const auto& tested) {
  std::string name = tested.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(Pack, FewerSlotsThanTheBatchAreRefused) {
  const Road& road = Road::of({"tiny-dense", DType::kF32, 256, 4});
  const ScratchDir dir;
  PackOptions options = road.options(dir / "m.calbin");
  options.slots = 2;
  const auto report = pack(options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kUsage);
  options.slots = 0;
  const auto good = pack(options);
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ(good->slots, 4);
  EXPECT_EQ(good->batch, 4);
}

}  // namespace
}  // namespace calkit::compile
