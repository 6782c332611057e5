// Every family against Transformers' stored answers: token ids, logits of each prompt, greedy runs, hidden states,
// routers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "calkit/base/document.h"
#include "calkit/exec/llm.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/hf/spec.h"
#include "calkit/hf/tokenizer.h"
#include "calkit/model/graph.h"
#include "calkit/tensor/metrics.h"
#include "calkit/tensor/npz.h"

namespace calkit {
namespace {

using Members = std::map<std::string, Tensor>;

struct GreedyRow {
  std::vector<std::int32_t> tokens;
  std::vector<double> margins;
};

struct Golden {
  std::string name, tag;
  Members ids, logits, hidden;
  std::map<std::string, GreedyRow> greedy;
  Value meta;
};

template <class T>
T must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

Golden read_golden(const std::string& name, const std::string& tag) {
  const std::string dir = std::string(CALKIT_TEST_DATA) + "/golden/" + name + "/";
  Golden out{name,
             tag,
             must(read_npz(dir + "token_ids.npz")),
             must(read_npz(dir + "logits_" + tag + ".npz")),
             must(read_npz(dir + "hidden_" + tag + ".npz")),
             {},
             must(read_json(dir + "meta.json"))};
  for (const Value& line : must(read_json_lines(dir + "greedy_" + tag + ".jsonl"))) {
    GreedyRow& row = out.greedy[*line.find("id")->if_string()];
    for (const Value& step : *line.find("steps")->if_array()) {
      row.tokens.push_back(static_cast<std::int32_t>(*step.find("token")->if_int()));
      row.margins.push_back(*step.find("margin")->if_number());
    }
  }
  return out;
}

std::vector<std::int32_t> tokens_of(const Tensor& ids) {
  std::vector<std::int32_t> out;
  for (const std::int64_t id : ids.data<std::int64_t>()) out.push_back(static_cast<std::int32_t>(id));
  return out;
}

exec::LanguageModel load(const std::string& name, DType dtype) {
  const std::string dir = std::string(CALKIT_TEST_DATA) + "/models/" + name;
  const auto spec = must(hf::read_spec(dir));
  const auto weights = must(hf::Checkpoint::open(dir));
  auto graphs = must(model::build_graphs(spec, weights, dtype));
  return must(exec::LanguageModel::create(std::move(graphs.prefill), std::move(graphs.decode)));
}

double largest_difference_of_kernels(const Value& meta) {
  double worst = 0;
  for (const auto& [name, value] : *meta.find("bf16_other_kernels")->if_object()) {
    if (const auto number = value.if_number(); number && name.ends_with("max_abs")) worst = std::max(worst, *number);
    if (const Value* inner = value.find("max_abs")) worst = std::max(worst, *inner->if_number());
  }
  return worst;
}

class Goldens : public testing::TestWithParam<const char*> {};

TEST_P(Goldens, TokenIdsAreThoseOfTheReference) {
  const std::string data = CALKIT_TEST_DATA;
  const auto tokenizer = must(hf::Tokenizer::load(data + "/models/" + GetParam() + "/tokenizer.json"));
  std::map<std::string, Value> prompts;
  for (Value& line : must(read_json_lines(data + "/golden/" + GetParam() + "/prompts.jsonl")))
    prompts.emplace(*line.find("id")->if_string(), line);
  std::size_t compared = 0;
  for (const Value& line : must(read_json_lines(data + "/golden/" + GetParam() + "/token_ids.jsonl"))) {
    const std::string id = *line.find("id")->if_string();
    const std::string text = *prompts.at(id).find("text")->if_string();
    const auto* with = line.find("ids");
    const auto* without = line.find("ids_no_special");
    for (const auto& [want, special] : {std::pair{with, true}, std::pair{without, false}}) {
      if (want == nullptr || !want->is_array()) continue;
      std::vector<std::int32_t> ids;
      for (const Value& number : *want->if_array()) ids.push_back(static_cast<std::int32_t>(*number.if_int()));
      EXPECT_EQ(must(tokenizer.encode(text, special)), ids) << id;
      ++compared;
    }
  }
  EXPECT_GE(compared, 50u);
}

// Logits of each prompt's last token, then greedy along the reference's tokens. Angles of long prompts are large
// numbers in F32, where the last bit of a frequency counts: ten times as much is allowed from 4095 tokens on.
TEST_P(Goldens, Fp32LogitsAndGreedyFollowTheReference) {
  const Golden golden = read_golden(GetParam(), "fp32");
  exec::LanguageModel model = load(GetParam(), DType::kF32);
  ASSERT_GE(golden.logits.size(), 20u);
  std::size_t steps = 0, excused = 0;
  double worst = 0;
  for (const auto& [id, want] : golden.logits) {
    const auto tokens = tokens_of(golden.ids.at(id));
    auto step = must(model.prefill(tokens));
    const Closeness close = compare(step.logits, want.data<float>());
    EXPECT_EQ(close.non_finite, 0u) << id;
    ASSERT_TRUE(close.nmse.has_value()) << id;
    EXPECT_LE(*close.nmse, tokens.size() < 4095 ? 1e-9 : 1e-8) << id;
    EXPECT_LE(close.max_abs, 1e-3) << id;
    worst = std::max(worst, *close.nmse);
    const GreedyRow& row = golden.greedy.at(id);
    for (std::size_t i = 0; i < row.tokens.size(); ++i, ++steps) {
      if (top_k(step.logits, 1)[0] != row.tokens[i]) {
        EXPECT_LE(row.margins[i], 1e-3) << id << " step " << i;
        ++excused;
      }
      if (i + 1 < row.tokens.size()) step = must(model.decode(row.tokens[i]));
    }
  }
  EXPECT_GE(steps, 300u);
  EXPECT_LE(static_cast<double>(excused), 0.01 * static_cast<double>(steps));
  RecordProperty("worst_nmse", fmt::format("{:.2e}", worst));
  RecordProperty("greedy", fmt::format("{} steps, {} excused", steps, excused));
}

// Our names of the stored values: layer 0 inside, each layer's output, K and V, routers.
std::vector<std::pair<std::string, std::string>> probe_names(const Golden& golden) {
  std::vector<std::pair<std::string, std::string>> names = {{"embed", "embed"},
                                                            {"layer.0.input_norm", "layer_00_input_norm"},
                                                            {"layer.0.attn_out", "layer_00_attn_out"},
                                                            {"layer.0.mlp_out", "layer_00_mlp_out"},
                                                            {"final_norm", "final_norm"}};
  for (int layer = 0; layer < 100; ++layer) {
    const std::string theirs = fmt::format("layer_{:02}_", layer), ours = fmt::format("layer.{}.", layer);
    for (const char* part : {"out", "router_logits", "router_experts", "router_weights"})
      if (golden.hidden.contains(theirs + part)) names.emplace_back(ours + part, theirs + part);
    if (golden.hidden.contains(theirs + "k")) {
      names.emplace_back(fmt::format("present_key.{}", layer), theirs + "k");
      names.emplace_back(fmt::format("present_value.{}", layer), theirs + "v");
    }
  }
  return names;
}

std::map<std::string, Tensor> probe(exec::LanguageModel& model, const Golden& golden) {
  std::vector<std::string> ours;
  for (const auto& [name, theirs] : probe_names(golden)) ours.push_back(name);
  auto step = must(model.prefill(tokens_of(golden.hidden.at("input_ids")), ours));
  std::map<std::string, Tensor> out;
  for (std::size_t i = 0; i < ours.size(); ++i) out[ours[i]] = step.probes[i];
  return out;
}

TEST_P(Goldens, Fp32HiddenStatesAndRoutersAgree) {
  const Golden golden = read_golden(GetParam(), "fp32");
  exec::LanguageModel model = load(GetParam(), DType::kF32);
  const auto values = probe(model, golden);
  ASSERT_GT(values.size(), 6u);
  for (const auto& [ours, theirs] : probe_names(golden)) {
    const Tensor &got = values.at(ours), &want = golden.hidden.at(theirs);
    if (want.dtype() == DType::kI64) {
      const auto a = got.data<std::int64_t>(), b = want.data<std::int64_t>();
      EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << ours;
      continue;
    }
    const Closeness close = compare(must(to_floats(got)), want.data<float>());
    ASSERT_TRUE(close.nmse.has_value());
    EXPECT_LE(*close.nmse, 1e-9) << ours;
  }
}

TEST_P(Goldens, DecodingTheLastTokenAgreesWithPrefillingIt) {
  const Golden golden = read_golden(GetParam(), "fp32");
  exec::LanguageModel model = load(GetParam(), DType::kF32);
  for (const auto& [id, want] : golden.logits) {
    auto tokens = tokens_of(golden.ids.at(id));
    if (tokens.size() < 2 || tokens.size() > 300) continue;
    const auto whole = must(model.prefill(tokens));
    const std::int32_t last = tokens.back();
    tokens.pop_back();
    must(model.prefill(tokens));
    const auto split = must(model.decode(last));
    EXPECT_LE(*compare(split.logits, whole.logits).nmse, 1e-9) << id;
  }
}

// BF16 has no single right answer: a sum in another order may round the other way. What Transformers' own kernels
// differ by among themselves is stored; for each prompt ours may differ by one and a half times that.
TEST_P(Goldens, Bf16LogitsDifferNoMoreThanThePeersKernelsDo) {
  const Golden golden = read_golden(GetParam(), "bf16"), exact = read_golden(GetParam(), "fp32");
  const double bound = 1.5 * largest_difference_of_kernels(golden.meta);
  ASSERT_GT(bound, 0);
  exec::LanguageModel model = load(GetParam(), DType::kBF16);
  const bool experts = golden.meta.find("facts")->find("moe") != nullptr;
  double worst = 0, ours = 0, theirs = 0;
  std::size_t same = 0, steps = 0, excused = 0;
  for (const auto& [id, want] : golden.logits) {
    auto step = must(model.prefill(tokens_of(golden.ids.at(id))));
    const double apart = compare(step.logits, want.data<float>()).max_abs;
    EXPECT_LE(apart, bound) << id;
    worst = std::max(worst, apart);
    same += apart == 0;
    ours += *compare(step.logits, exact.logits.at(id).data<float>()).nmse;
    theirs += *compare(want.data<float>(), exact.logits.at(id).data<float>()).nmse;
    const GreedyRow& row = golden.greedy.at(id);
    for (std::size_t i = 0; i < row.tokens.size(); ++i, ++steps) {
      if (top_k(step.logits, 1)[0] != row.tokens[i]) {
        // Where two experts score nearly the same, a last bit decides who answers: that has no bound.
        EXPECT_TRUE(experts || row.margins[i] <= 2 * bound) << id << " step " << i << " margin " << row.margins[i];
        ++excused;
      }
      if (i + 1 < row.tokens.size()) step = must(model.decode(row.tokens[i]));
    }
  }
  // And we are not further from the FP32 truth than the peer's BF16 is.
  EXPECT_LE(ours, 1.1 * theirs);
  EXPECT_LE(static_cast<double>(excused), 0.05 * static_cast<double>(steps));
  RecordProperty("max_abs", fmt::format("{:.4f} of {:.4f}, {} of {} prompts identical, {} of {} steps excused", worst,
                                        bound, same, golden.logits.size(), excused, steps));
}

// Our roundings are the peer's: up to the first layer's attention nearly every bit is the same.
TEST_P(Goldens, Bf16ValuesOfTheFirstLayerAreTheSameNumbers) {
  const Golden golden = read_golden(GetParam(), "bf16");
  exec::LanguageModel model = load(GetParam(), DType::kBF16);
  const auto values = probe(model, golden);
  std::string shares;
  for (const auto& [ours, theirs] : probe_names(golden)) {
    const auto got = must(to_floats(values.at(ours))), want = must(to_floats(golden.hidden.at(theirs)));
    std::size_t equal = 0;
    for (std::size_t i = 0; i < got.size(); ++i) equal += got[i] == want[i];
    const double share = static_cast<double>(equal) / static_cast<double>(got.size());
    shares += fmt::format("{} {:.3f} ", ours, share);
    double least = 0;
    if (ours == "embed" || ours == "layer.0.input_norm" || ours == "present_value.0" || ours == "present_key.0")
      least = 0.99;
    if (ours == "layer.0.attn_out" || ours == "layer.0.mlp_out") least = 0.9;
    EXPECT_GE(share, least) << ours;
  }
  RecordProperty("equal", shares);
}

INSTANTIATE_TEST_SUITE_P(Models, Goldens,
                         testing::Values("tiny-dense", "llama-gqa-rope3", "llama-mha-f32-v4", "llama-micro-v4",
                                         "mistral-f16", "qwen2-bias-tied-v4", "qwen3-qknorm", "qwen3-sharded-v4",
                                         "qwen3-trained", "qwen3moe-e8k2", "qwen3moe-mixed-v4"),
                         [](const auto& model) {
                           std::string name = model.param;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace calkit
