#pragma once
// A TokenModel without a device: its next token is a function of the tokens so far, its clock is the test's.
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "calkit/device/token_model.h"

namespace calkit::test {

class FakeModel : public device::TokenModel {
 public:
  Facts facts_{64, 256, 128, 2};
  std::chrono::nanoseconds clock{1000};
  std::chrono::nanoseconds prefill_time{std::chrono::milliseconds(5)}, decode_time{std::chrono::milliseconds(1)};
  std::size_t open = 0, most_open = 0, started = 0, prefills = 0, decodes = 0;
  std::vector<std::vector<std::int32_t>> prompts;                   ///< as prefilled
  std::function<std::optional<Error>(std::size_t call)> fail;       ///< by number of prefill and decode calls
  std::function<void(std::size_t call, std::vector<float>&)> bend;  ///< changes logits

  /// Logits of a sequence: largest at the sum of its tokens, falling off smoothly.
  static std::vector<float> logits_of(const std::vector<std::int32_t>& tokens, std::int64_t vocab) {
    const std::int64_t best = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{7}) % vocab;
    std::vector<float> out(static_cast<std::size_t>(vocab));
    for (std::int64_t i = 0; i < vocab; ++i)
      out[static_cast<std::size_t>(i)] = 10.0f - 0.25f * static_cast<float>((i - best + vocab) % vocab);
    return out;
  }

  Facts facts() const override { return facts_; }
  Result<Handle> start() override {
    if (static_cast<std::int64_t>(open) >= facts_.slots) return Error(ErrorKind::kInput, "KV exhausted");
    ++open;
    most_open = std::max(most_open, open);
    sequences_[started] = {};
    return started++;
  }
  void finish(Handle handle) override {
    if (sequences_.erase(handle) == 1) --open;
  }
  Result<device::StepOutput> prefill(Handle handle, std::span<const std::int32_t> tokens, Deadline) override {
    ++prefills;
    clock += prefill_time;
    prompts.emplace_back(tokens.begin(), tokens.end());
    return step(sequences_[handle], prompts.back());
  }
  Result<device::StepOutput> decode(Handle handle, std::int32_t token, Deadline) override {
    ++decodes;
    clock += decode_time;
    return step(sequences_[handle], {token});
  }

 private:
  Result<device::StepOutput> step(std::vector<std::int32_t>& sequence, const std::vector<std::int32_t>& more) {
    const std::size_t call = prefills + decodes;
    if (fail) {
      if (auto error = fail(call)) return std::move(*error);
    }
    sequence.insert(sequence.end(), more.begin(), more.end());
    device::StepOutput out;
    out.logits = logits_of(sequence, facts_.vocab);
    if (bend) bend(call, out.logits);
    out.times.infer = std::chrono::microseconds(900);
    out.times.h2d = std::chrono::microseconds(10);
    return out;
  }
  std::map<Handle, std::vector<std::int32_t>> sequences_;
};

}  // namespace calkit::test
