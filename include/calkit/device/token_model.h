#pragma once
/// A configured package as the runner, the bench and the soak see it: tokens in, logits out. SessionModel is the one on
/// a device; a unit test puts a fake in its place.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "calkit/base/process.h"
#include "calkit/base/result.h"
#include "calkit/device/device.h"

namespace calkit::device {

/// Handles name sequences; each holds a KV slot from start() to finish(). Errors are those of Session.
class TokenModel {
 public:
  struct Facts {
    std::int64_t vocab = 0, context = 0, max_prefill_tokens = 0, slots = 0;
  };
  using Handle = std::size_t;

  virtual ~TokenModel() = default;
  virtual Facts facts() const = 0;
  virtual Result<Handle> start() = 0;
  virtual void finish(Handle handle) = 0;
  virtual Result<StepOutput> prefill(Handle handle, std::span<const std::int32_t> tokens, Deadline deadline) = 0;
  virtual Result<StepOutput> decode(Handle handle, std::int32_t token, Deadline deadline) = 0;
};

/// The session must outlive it; destroying it frees every sequence that is left.
class SessionModel final : public TokenModel {
 public:
  explicit SessionModel(Session& session) : session_(session) {}

  Facts facts() const override {
    const PackageInfo& info = session_.package();
    return {info.vocab, info.context, info.max_prefill_tokens, info.slots};
  }
  Result<Handle> start() override {
    CALKIT_TRY(auto sequence, session_.start());
    for (Handle i = 0; i < sequences_.size(); ++i) {
      if (sequences_[i].has_value()) continue;
      sequences_[i].emplace(std::move(sequence));
      return i;
    }
    sequences_.emplace_back(std::move(sequence));
    return sequences_.size() - 1;
  }
  void finish(Handle handle) override { sequences_[handle].reset(); }
  Result<StepOutput> prefill(Handle handle, std::span<const std::int32_t> tokens, Deadline deadline) override {
    return session_.prefill(*sequences_[handle], tokens, deadline);
  }
  Result<StepOutput> decode(Handle handle, std::int32_t token, Deadline deadline) override {
    return session_.decode(*sequences_[handle], token, deadline);
  }

 private:
  Session& session_;
  std::vector<std::optional<Sequence>> sequences_;
};

}  // namespace calkit::device
