#pragma once
// Seeded token ids and the greedy choice that the load generators share.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace calkit::load {

/// splitmix64 of both: a seed for each part of a run.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

/// `count` ids in [0, vocab). The first ids spell `number` in base `vocab`, so no two prompts of a run share a prefix
/// that a cache could serve.
std::vector<std::int32_t> random_tokens(std::uint64_t seed, std::int64_t count, std::int64_t vocab,
                                        std::uint64_t number);

/// The id of the largest logit (the smaller id on a tie); nullopt if any is NaN or infinite.
std::optional<std::int32_t> greedy_token(std::span<const float> logits);

}  // namespace calkit::load
