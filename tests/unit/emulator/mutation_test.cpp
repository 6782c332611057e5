// One thing of a good package is changed; the device must refuse it with a typed error or compute other numbers.
#include <gmock/gmock.h>

#include <functional>

#include "harness.h"

namespace calkit::emulator {
namespace {

using testing_support::good_package;
using testing_support::PackageShape;
using testing_support::ScratchDir;
using testing_support::table_value;
using testing_support::TestPackage;

struct Mutation {
  std::string name;
  std::function<void(TestPackage&)> apply;
  std::uint32_t kind;  ///< what load answers; 0: it runs, and the numbers must differ
};

constexpr auto kBad = static_cast<std::uint32_t>(CALKIT_KIND_BAD_PACKAGE);
constexpr auto kUnsupported = static_cast<std::uint32_t>(CALKIT_KIND_UNSUPPORTED);
constexpr std::uint32_t kOtherNumbers = 0;

std::vector<Mutation> mutations() {
  return {
      {"a flipped byte in the parameters",
       [](TestPackage& p) {
         p.edit_folder = [](const std::filesystem::path& dir) {
           std::fstream file(dir / "params/blk0.bin", std::ios::in | std::ios::out | std::ios::binary);
           file.put('\x7f');
         };
       },
       kBad},
      {"a parameter file that is one byte short",
       [](TestPackage& p) {
         p.edit_folder = [](const std::filesystem::path& dir) {
           std::filesystem::resize_file(dir / "params/blk0.bin",
                                        std::filesystem::file_size(dir / "params/blk0.bin") - 1);
         };
       },
       kBad},
      {"a missing op list",
       [](TestPackage& p) {
         p.edit_folder = [](const std::filesystem::path& dir) { std::filesystem::remove(dir / "oplists/decode.json"); };
       },
       kBad},
      {"a parameter offset past the file", [](TestPackage& p) { p.param("table").offset = 1 << 20; }, kBad},
      {"a parameter offset of one row too far", [](TestPackage& p) { p.param("table").offset += 128; }, kBad},
      {"a parameter offset that is not aligned", [](TestPackage& p) { p.param("one").offset -= 1; }, kBad},
      {"a parameter address over another parameter",
       [](TestPackage& p) { p.param("one").base = p.param("table").base; }, kBad},
      {"a parameter address outside its region", [](TestPackage& p) { p.param("table").base -= 4; }, kBad},
      {"a parameter that reads another file offset", [](TestPackage& p) { p.param("one").offset = 8; }, kOtherNumbers},
      {"a submodel typed llm_decode", [](TestPackage& p) { p.prefill_model().type = "llm_decode"; }, kUnsupported},
      {"an operator nobody knows", [](TestPackage& p) { p.decode.ops[0].type = "GatherFast"; }, kUnsupported},
      {"an operator of another domain", [](TestPackage& p) { p.decode.ops[0].domain = "com.vendor"; }, kUnsupported},
      {"an op list of another submodel", [](TestPackage& p) { p.decode.submodel = "mini-prefill"; }, kBad},
      {"an op list of another chip", [](TestPackage& p) { p.decode.chip = 1; }, kBad},
      {"an operand in a region that is not there", [](TestPackage& p) { p.decode.ops[0].reads[1].region = "io.x"; },
       kBad},
      {"an operand one byte past its region",
       [](TestPackage& p) {
         p.decode.ops[0].writes[0].base =
             p.region("io.decode").base + p.region("io.decode").size - p.decode.ops[0].writes[0].size + 4;
       },
       kBad},
      {"an operand whose address wraps", [](TestPackage& p) { p.decode.ops[0].writes[0].base = 0xffff'ffff'ffff'f000; },
       kBad},
      {"an operand too small for its shape", [](TestPackage& p) { p.decode.ops[0].writes[0].size = 64; }, kBad},
      {"an op that writes parameters",
       [](TestPackage& p) {
         auto& write = p.decode.ops[0].writes[0];
         write.region = "param";
         write.base = p.region("param").base;
       },
       kBad},
      {"an op that reads the KV region",
       [](TestPackage& p) {
         auto& read = p.decode.ops[0].reads[1];
         read.region = "kv";
         read.base = p.region("kv").base;
       },
       kUnsupported},
      {"an op of its own that writes the KV region",
       [](TestPackage& p) {
         auto keep = p.decode.ops[0];
         keep.id = 1;
         keep.writes[0].region = "kv";
         keep.writes[0].base = p.region("kv").base;
         p.decode.ops.push_back(keep);
       },
       kUnsupported},
      {"an op that reads tokens elsewhere", [](TestPackage& p) { p.decode.ops[0].reads[1].base += 8; }, kOtherNumbers},
      {"an op that writes logits elsewhere",
       [](TestPackage& p) {
         p.decode.ops[0].writes[0].region = "workspace";
         p.decode.ops[0].writes[0].base = p.region("workspace").base + 1024;
       },
       kBad},
      {"tokens that arrive elsewhere",
       [](TestPackage& p) { p.decode_model().inputs[0].base = p.decode_model().inputs[1].base; }, kOtherNumbers},
      {"logits that are fetched elsewhere", [](TestPackage& p) { p.decode_model().outputs[0].base += 64; },
       kOtherNumbers},
      {"logits without the tile they were laid out for",
       [](TestPackage& p) { p.decode_model().outputs[0].layout.tile = {}; }, kBad},
      {"logits in another tile", [](TestPackage& p) { p.decode_model().outputs[0].layout.tile = {32}; }, kBad},
      {"logits with other strides",
       [](TestPackage& p) {
         p.restride = false;
         p.decode_model().outputs[0].layout.strides_bytes[0] += 4;
       },
       kBad},
      {"logits of another size", [](TestPackage& p) { p.decode_model().outputs[0].size -= 4; }, kBad},
      {"logits of another type", [](TestPackage& p) { p.decode_model().outputs[0].dtype = DType::kF16; }, kUnsupported},
      {"logits that leave their region",
       [](TestPackage& p) { p.decode_model().outputs[0].base = p.region("io.decode").base + 4092; }, kBad},
      {"a CSR at another address", [](TestPackage& p) { p.prefill_model().csr[0].base += 8; }, kBad},
      {"a CSR outside memory", [](TestPackage& p) { p.prefill_model().csr[0].base = 0x1000; }, kBad},
      {"a CSR of another width", [](TestPackage& p) { p.prefill_model().csr[0].width_bits = 64; }, kUnsupported},
      {"two CSRs at one address", [](TestPackage& p) { p.prefill_model().csr[1].base = p.prefill_model().csr[0].base; },
       kOtherNumbers},
      {"a region that wraps", [](TestPackage& p) { p.region("kv").base = 0xffff'ffff'ffff'f000; }, kBad},
      {"a region far from the others", [](TestPackage& p) { p.region("kv").base = 0x7fff'0000'0000; }, kUnsupported},
      {"a workspace over the parameters", [](TestPackage& p) { p.region("workspace").base = p.region("param").base; },
       kBad},
      {"fewer KV bytes than the model needs", [](TestPackage& p) { p.description.kv.bytes_total /= 2; }, kBad},
      {"more slots than the KV region holds", [](TestPackage& p) { p.description.limits.slots = 1000; }, kBad},
  };
}

/// Logits of a prefill and a decode, or the kind of the first refusal.
struct Outcome {
  std::uint32_t kind = 0;
  std::uint32_t scope = 0;
  std::string message;
  std::vector<float> logits;
};

Outcome run(const std::filesystem::path& path, std::int64_t vocab) {
  AbiDevice d;
  Outcome out;
  const auto note = [&](std::uint32_t kind) {
    out.kind = kind;
    out.scope = d.status.scope;
    out.message = d.status.message;
    return kind != 0;
  };
  if (note(d.load(path))) return out;
  if (note(d.configure())) {
    d.unload();
    return out;
  }
  {
    const AbiSlot slot(d);
    AbiModel prefill(d, "mini-prefill"), decode(d, "mini-decode");
    for (auto* step : {&prefill, &decode}) {
      const bool first = step == &prefill;
      if (note(step->run(first ? std::vector<std::int64_t>{3, 9, 5} : std::vector<std::int64_t>{7}, first ? 0 : 3)))
        break;
      const auto all = step->output();
      out.logits.insert(out.logits.end(), all.begin(), all.begin() + vocab);
    }
  }
  d.unload();
  return out;
}

class Mutated : public testing::TestWithParam<Mutation> {};

TEST_P(Mutated, IsNeverRightByAccident) {
  PackageShape shape;
  shape.tile = 16;
  TestPackage package = good_package(shape);
  GetParam().apply(package);
  const ScratchDir dir;
  package.write(dir / "mini.calbin");
  const Outcome outcome = run(dir / "mini.calbin", shape.vocab);
  if (GetParam().kind != kOtherNumbers) {
    EXPECT_EQ(outcome.kind, GetParam().kind) << outcome.message;
    EXPECT_EQ(outcome.scope, static_cast<std::uint32_t>(CALKIT_SCOPE_MODEL));
    EXPECT_GT(outcome.message.size(), 20u);
    return;
  }
  std::vector<float> right;
  for (const std::int64_t token : {5, 7})
    for (std::int64_t column = 0; column < shape.vocab; ++column) right.push_back(table_value(token, column));
  EXPECT_TRUE(outcome.kind != 0 || outcome.logits != right);
}

INSTANTIATE_TEST_SUITE_P(Package, Mutated, testing::ValuesIn(mutations()), [](const auto& tested) {
  std::string name = tested.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(Unmutated, GivesTheTablesRows) {
  for (const std::int64_t tile : {0, 16, 32}) {
    PackageShape shape;
    shape.tile = tile;
    const ScratchDir dir;
    good_package(shape).write(dir / "mini.calbin");
    const Outcome outcome = run(dir / "mini.calbin", shape.vocab);
    ASSERT_EQ(outcome.kind, 0u) << outcome.message;
    std::vector<float> right;
    for (const std::int64_t token : {5, 7})
      for (std::int64_t column = 0; column < shape.vocab; ++column) right.push_back(table_value(token, column));
    EXPECT_EQ(outcome.logits, right) << "tile " << tile;
  }
}

}  // namespace
}  // namespace calkit::emulator
