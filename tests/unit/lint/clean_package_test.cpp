/// Clean packages of many shapes: no rule says more than a note, and the verdict is pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "lint_case.h"
#include "scratch_dir.h"

namespace calkit::lint {
namespace {

using testing_support::PackageShape;
using testing_support::ScratchDir;

constexpr std::int64_t kOnnxBf16 = 16;  // TensorProto.DataType.BFLOAT16

enum class Form { kFolder, kTar, kTarZst };

struct Clean {
  const char* name;
  PackageShape shape;
  std::function<void(Scene&)> change = nullptr;
  Form form = Form::kFolder;
};
void PrintTo(const Clean& c, std::ostream* out) {
  *out << c.name;
}

void for_a_board(Scene& s) {
  s.package.description.compat.device = "board";
  s.support = manifest::SupportMatrix{"test matrix", {{{"any", "any", "any", "board"}, true, "tried"}}};
}

/// A call takes `batch` sequences: tensors and registers lie one after another in their reservation.
void widen(testing_support::TestPackage& p, calbin::Submodel& m, calbin::OpList& ops, std::int64_t batch) {
  const auto rows = static_cast<std::uint64_t>(batch);
  std::uint64_t at = p.region("io." + m.type).base;
  m.batch = batch;
  for (auto& t : m.inputs) {
    t.shape[0] = t.layout.logical_shape[0] = batch;
    t.base = at;
    t.size *= rows;
    at += t.size;
  }
  for (auto& csr : m.csr) {
    csr.count = batch;
    csr.base = at;
    at += 4 * rows;
  }
  auto& logits = m.outputs[0];
  const std::int64_t tile = logits.layout.tile.empty() ? 1 : logits.layout.tile[0];
  logits.base = (at + 63) / 64 * 64;
  logits.layout.logical_shape[0] = batch;
  logits.shape[0] = (batch + tile - 1) / tile * tile;
  logits.size = logits.layout.strides_bytes[0] * static_cast<std::uint64_t>(logits.shape[0]);
  for (auto& op : ops.ops) {
    for (auto& read : op.reads) {
      if (read.name == "cur_seq_len") read.base = m.csr[0].base;
      if (read.name != "token_ids") continue;
      read.base = m.inputs[0].base;
      read.size = m.inputs[0].size;
    }
  }
  ops.ops.back().writes[0].base = logits.base;
  ops.ops.back().writes[0].size = logits.size;
}

void with_batch(Scene& s, std::int64_t batch) {
  auto& p = s.package;
  widen(p, p.prefill_model(), p.prefill, batch);
  widen(p, p.decode_model(), p.decode, batch);
  p.description.limits.max_batch = s.service->batch = batch;
}

/// The table's row is cast on its way into the logits.
void with_bf16_logits(Scene& s) {
  auto& p = s.package;
  const std::uint64_t row = p.region("workspace").base + 256;
  for (const bool decode : {false, true}) {
    auto& m = decode ? p.decode_model() : p.prefill_model();
    auto& ops = decode ? p.decode.ops : p.prefill.ops;
    auto& logits = m.outputs[0];
    calbin::Op cast = ops.back();
    auto& wide = ops.back().writes[0];
    wide.name = "row";
    wide.region = "workspace";
    wide.base = row;
    wide.size = 4 * static_cast<std::uint64_t>(m.batch * p.description.model.vocab);
    logits.dtype = DType::kBF16;
    logits.size /= 2;
    for (auto& stride : logits.layout.strides_bytes) stride /= 2;
    m.workspace_peak = 256 + wide.size;
    cast.id = static_cast<std::int64_t>(ops.size());
    cast.type = "Cast";
    cast.name = "to_bf16";
    cast.attributes = {{"to", kOnnxBf16}};
    cast.reads = {wide};
    cast.writes[0].dtype = DType::kBF16;
    cast.writes[0].size = logits.size;
    ops.push_back(cast);
  }
}

/// One f32 scale for each 8-bit vector of a head at a position.
void with_small_kv(Scene& s, DType k, DType v) {
  auto& d = s.package.description;
  const auto vectors =
      static_cast<std::uint64_t>(d.model.layers * d.model.kv_heads * d.limits.context * d.limits.slots);
  const auto dim = static_cast<std::uint64_t>(d.model.head_dim);
  d.kv.k_dtype = k;
  d.kv.v_dtype = v;
  std::uint64_t vector_bytes = 0;
  for (const DType dtype : {k, v}) vector_bytes += dim * dtype_bytes(dtype) + (dtype == DType::kI8 ? 4 : 0);
  if (k == DType::kI8 || v == DType::kI8) d.kv.scale_dtype = "f32";
  d.kv.bytes_total = vectors * vector_bytes;
  for (auto& part : d.kv.bytes_per_chip) part = d.kv.bytes_total / d.kv.bytes_per_chip.size();
}

std::function<void(Scene&)> kv_layout(const char* layout) {
  return [layout](Scene& s) { s.package.description.kv.layout = layout; };
}

PackageShape shape(std::int64_t vocab, std::int64_t context, std::int64_t max_tokens, std::int64_t slots,
                   std::int64_t tile = 0, std::int64_t chips = 1, bool full = false) {
  return {vocab, context, max_tokens, slots, tile, chips, full};
}

const std::vector<Clean> kClean = {
    {"as the builder makes it", {}},
    {"tile 16", shape(32, 64, 16, 2, 16)},
    {"tile 32", shape(32, 64, 16, 2, 32)},
    {"a vocabulary that is no multiple of the tile", shape(102, 64, 16, 2, 16)},
    {"a small vocabulary", shape(8, 64, 16, 2)},
    {"a larger vocabulary in tile 32", shape(256, 64, 16, 2, 32)},
    {"a longer context", shape(32, 4096, 128, 1)},
    {"a context that is no power of two", shape(32, 1000, 100, 3)},
    {"one slot", shape(32, 64, 16, 1)},
    {"sixteen slots", shape(48, 128, 32, 16)},
    {"a prefill as long as the context", shape(32, 64, 64, 2)},
    {"short prefills", shape(32, 64, 2, 2)},
    {"two chips", shape(32, 64, 16, 2, 0, 2)},
    {"two chips in tile 16", shape(64, 128, 32, 2, 16, 2)},
    {"everything", shape(32, 64, 16, 2, 0, 1, true), for_a_board},
    {"everything in tile 32", shape(48, 256, 32, 4, 32, 1, true), for_a_board},
    {"everything on two chips", shape(32, 64, 16, 2, 0, 2, true), for_a_board},
    {"everything on two chips in tile 16", shape(80, 128, 48, 4, 16, 2, true), for_a_board},
    {"everything for the emulated device", shape(32, 64, 16, 2, 0, 1, true)},
    {"batch 2", shape(32, 64, 16, 2), [](Scene& s) { with_batch(s, 2); }},
    {"batch 4", shape(32, 64, 16, 4), [](Scene& s) { with_batch(s, 4); }},
    {"batch 4 in tile 16 with slots to spare", shape(32, 64, 16, 8, 16), [](Scene& s) { with_batch(s, 4); }},
    {"batch 4 and bf16 logits", shape(32, 64, 16, 4),
     [](Scene& s) {
       with_batch(s, 4);
       with_bf16_logits(s);
     }},
    {"bf16 logits", {}, with_bf16_logits},
    {"bf16 logits in tile 16", shape(64, 64, 16, 2, 16), with_bf16_logits},
    {"an 8-bit V with scales", {}, [](Scene& s) { with_small_kv(s, DType::kF32, DType::kI8); }},
    {"a bf16 K and an 8-bit V", {}, [](Scene& s) { with_small_kv(s, DType::kBF16, DType::kI8); }},
    {"an 8-bit KV cache on two chips", shape(32, 64, 16, 2, 0, 2),
     [](Scene& s) { with_small_kv(s, DType::kI8, DType::kI8); }},
    {"a bf16 KV cache without scales", {}, [](Scene& s) { with_small_kv(s, DType::kBF16, DType::kBF16); }},
    {"a KV cache by layers", {}, kv_layout("layer,slot,k|v,head,position,dim")},
    {"a KV cache with K beside V", {}, kv_layout("slot,layer,head,position,k|v,dim")},
    {"a service with a shorter context", {}, [](Scene& s) { s.service->context = 32; }},
    {"a tar", {}, nullptr, Form::kTar},
    {"a compressed tar", shape(64, 128, 32, 4, 16), nullptr, Form::kTarZst},
    {"a tar of everything on two chips", shape(32, 64, 16, 2, 0, 2, true), for_a_board, Form::kTar},
    {"a compressed tar of everything", shape(48, 256, 32, 4, 32, 1, true), for_a_board, Form::kTarZst},
};

Result<Report> lint_in(const Scene& scene, Form form) {
  if (form == Form::kFolder) return run_setup(scene);
  const ScratchDir dir;
  scene.package.write(dir / "mini.calbin");
  const std::string pack = form == Form::kTar ? "tar -cf t mini.calbin" : "tar -cf - mini.calbin | zstd -q -o t";
  if (std::system(("cd '" + dir.path().string() + "' && " + pack).c_str()) != 0)
    return Error(ErrorKind::kInternal, "the package cannot be packed");
  Inputs inputs;
  inputs.package = dir / "t";
  inputs.service = scene.service;
  inputs.support = scene.support;
  return run(inputs);
}

class LintOfACleanPackage : public testing::TestWithParam<Clean> {};

TEST_P(LintOfACleanPackage, FindsNothingAboveANote) {
  const Clean& clean = GetParam();
  Scene scene{testing_support::good_package(clean.shape), testing_support::good_service(clean.shape)};
  if (clean.change) clean.change(scene);
  const auto report = lint_in(scene, clean.form);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(finding_ids(*report), Ids{}) << to_text(*report, false);
  EXPECT_EQ(report->verdict, Verdict::kPass) << to_text(*report, false);
}

INSTANTIATE_TEST_SUITE_P(All, LintOfACleanPackage, testing::ValuesIn(kClean), [](const auto& tested) {
  std::string name = tested.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
});

TEST(LintOfCleanPackages, AreAtLeastTwenty) {
  EXPECT_GE(kClean.size(), 20u);
}

}  // namespace
}  // namespace calkit::lint
