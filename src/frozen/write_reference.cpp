#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "calkit/base/files.h"
#include "calkit/frozen/writer.h"
#include "calkit/tensor/metrics.h"
#include "calkit/tensor/npz.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;

// The shortest decimal that reads back as the same float; as a double it would need twice the digits.
double short_decimal(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double out = 0;
  std::from_chars(text, end, out);
  return out;
}

Value step_value(const GreedyStep& step) {
  Value logits(Value::Array{});
  for (const float logit : step.top_logits) logits.push(short_decimal(logit));
  Value out = Value::object({{"token", step.token},
                             {"margin", short_decimal(static_cast<float>(step.margin))},
                             {"top_ids", Value::list(step.top_ids)},
                             {"top_logits", std::move(logits)}});
  if (step.router_margin) out.set("router_margin", short_decimal(static_cast<float>(*step.router_margin)));
  return out;
}

std::string line(const Value& value) {
  return to_json(value, {.sorted = false, .indent = -1}) + "\n";
}

Status write_ids_and_logits(const fs::path& dir, const Reference& reference) {
  CALKIT_TRY(auto ids, NpzWriter::create(dir / kTokenIds));
  CALKIT_TRY(auto logits, NpzWriter::create(dir / logits_name(reference.dtype)));
  for (const ReferenceItem& item : reference.items) {
    const std::vector<std::int64_t> wide(item.ids.begin(), item.ids.end());
    CALKIT_CHECK_OK(ids.add(item.prompt.id, Tensor::of({static_cast<std::int64_t>(wide.size())}, wide)));
    if (item.ids.empty()) continue;
    CALKIT_CHECK_OK(
        logits.add(item.prompt.id, Tensor::of({static_cast<std::int64_t>(item.logits.size())}, item.logits)));
  }
  CALKIT_CHECK_OK(ids.finish());
  return logits.finish();
}

}  // namespace

Result<GreedyStep> greedy_step(std::span<const float> logits) {
  std::size_t bad = 0;
  for (const float value : logits) bad += std::isfinite(value) ? 0 : 1;
  if (bad > 0 || logits.size() < 2)
    return Error{ErrorKind::kInput, fmt::format("{} of {} logits are NaN or infinite", bad, logits.size()),
                 "the model's weights or its arithmetic are damaged; no token is claimed for such a row"};
  GreedyStep out;
  out.top_ids = top_k(logits, kTopLogits);
  for (const std::int32_t id : out.top_ids) out.top_logits.push_back(logits[static_cast<std::size_t>(id)]);
  out.token = out.top_ids[0];
  out.margin = static_cast<double>(out.top_logits[0]) - static_cast<double>(out.top_logits[1]);
  return out;
}

Value to_value(const ReferenceItem& item) {
  std::vector<std::int32_t> tokens;
  Value steps(Value::Array{});
  for (const GreedyStep& step : item.greedy) {
    tokens.push_back(step.token);
    steps.push(step_value(step));
  }
  return Value::object({{"id", item.prompt.id}, {"tokens", Value::list(tokens)}, {"steps", std::move(steps)}});
}

Status write_reference(const fs::path& staged_dir, const Reference& reference,
                       const std::vector<std::pair<std::string, Tensor>>& probes, const Value& noise) {
  const fs::path dir = staged_dir / kReferenceDir;
  std::error_code failed;
  fs::create_directories(dir, failed);
  if (failed) return Error{ErrorKind::kIo, fmt::format("{}: cannot be made: {}", dir.string(), failed.message()), {}};
  std::string prompts, greedy;
  for (const ReferenceItem& item : reference.items) {
    prompts += line(to_value(item.prompt));
    if (!item.ids.empty()) greedy += line(to_value(item));
  }
  CALKIT_CHECK_OK(write_file(dir / kPrompts, prompts));
  CALKIT_CHECK_OK(write_ids_and_logits(dir, reference));
  CALKIT_CHECK_OK(write_file(dir / kGreedy, greedy));
  CALKIT_CHECK_OK(write_npz(dir / kProbes, probes));
  if (!noise.is_null()) CALKIT_CHECK_OK(write_file(dir / kNoise, to_json(noise) + "\n"));
  return write_file(dir / kCoverage, to_json(coverage(reference)) + "\n");
}

}  // namespace calkit::frozen
