// The odd checkpoints that calkit accepts, against Transformers' stored logits: what is accepted must be computed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "calkit/base/archive.h"
#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/exec/llm.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/model/graph.h"
#include "calkit/tensor/metrics.h"
#include "calkit/tensor/npz.h"

namespace calkit {
namespace {

namespace fs = std::filesystem;

class Unpacked {
 public:
  Unpacked() : dir_(fs::path(testing::TempDir()) / ("calkit_refuse_" + std::to_string(::getpid()))) {
    const Status status = read_tar_zst(
        CALKIT_TEST_DATA "/refuse.tar.zst",
        [&](const std::string& path, std::uint64_t bytes, const EntryReader& reader) -> Status {
          std::string content(bytes, '\0');
          for (std::size_t at = 0; at < content.size();) {
            CALKIT_TRY(const std::size_t got, reader(std::as_writable_bytes(std::span(content).subspan(at))));
            if (got == 0) return Error(ErrorKind::kInput, path + " is short");
            at += got;
          }
          fs::create_directories((dir_ / path).parent_path());
          return write_file(dir_ / path, content);
        });
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  ~Unpacked() { fs::remove_all(dir_); }
  const fs::path& dir() const { return dir_; }

 private:
  fs::path dir_;
};

// What refuses a checkpoint, or nothing if its logits are there.
Result<std::vector<float>> logits_of(const fs::path& dir, std::span<const std::int32_t> tokens) {
  CALKIT_TRY(const auto spec, hf::read_spec(dir));
  CALKIT_TRY(const auto weights, hf::Checkpoint::open(dir));
  CALKIT_CHECK_OK(weights.check_against(spec));
  CALKIT_TRY(auto graphs, model::build_graphs(spec, weights, DType::kF32));
  CALKIT_TRY(auto model, exec::LanguageModel::create(std::move(graphs.prefill), std::move(graphs.decode)));
  CALKIT_TRY(auto step, model.prefill(tokens));
  return step.logits;
}

TEST(RefuseGoldens, WhatIsAcceptedHasTheLogitsOfTheReference) {
  const Unpacked unpacked;
  std::set<std::string> compared, refused;
  for (const auto& folder : fs::directory_iterator(unpacked.dir())) {
    const fs::path dir = folder.path();
    if (!fs::exists(dir / "golden.npz")) continue;
    const std::string name = dir.filename();
    const auto golden = read_npz(dir / "golden.npz");
    ASSERT_TRUE(golden.ok()) << golden.error().message;
    const auto ids = golden->at("input_ids").data<std::int64_t>();
    const std::vector<std::int32_t> tokens(ids.begin(), ids.end());
    const auto got = logits_of(dir, tokens);
    if (!got.ok()) {
      EXPECT_EQ(got.error().kind, ErrorKind::kInput) << name << ": " << got.error().message;
      refused.insert(name);
      continue;
    }
    const Closeness close = compare(*got, golden->at("logits_fp32").data<float>());
    ASSERT_TRUE(close.nmse) << name;
    EXPECT_LE(*close.nmse, 1e-9) << name;
    compared.insert(name);
  }
  for (const char* name :
       {"rope-linear", "rope-linear-legacy-key", "rope-dynamic", "rope-yarn", "bias-llama-attention", "bias-llama-mlp",
        "ok-llama-old-config", "ok-mixed-dtypes", "ok-mistral-untied", "ok-qwen2-tied", "ok-qwen2-untied",
        "ok-qwen3-tied", "ok-qwen3-untied", "ok-sharded", "ok-rope-parameters-dialect", "ok-tied-with-equal-lm_head"})
    EXPECT_TRUE(compared.contains(name)) << name;
  for (const auto& name : refused) EXPECT_FALSE(name.starts_with("ok-")) << name;
  RecordProperty("refused", fmt::format("{}", fmt::join(refused, " ")));
}

}  // namespace
}  // namespace calkit
