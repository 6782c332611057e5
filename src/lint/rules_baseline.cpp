/// Family 04, fourth part: the package belongs to the model that was frozen.
#include <fmt/format.h>

#include "families.h"

namespace calkit::lint {

namespace {

/// A digest of the description against the frozen one.
void compare_digest(Check& check, const char* key, const std::string& ours, const std::string& frozen,
                    const char* what) {
  const auto pointer = fmt::format("/model/{}", key);
  if (!check.usable(pointer) || ours == frozen) return;
  check.report(pointer,
               {fmt::format("the package was made with another {} than the frozen one", what),
                ours.empty() ? "none" : ours, fmt::format("frozen baseline: {}", frozen.empty() ? "none" : frozen),
                "freeze the model the package was made from, or pack again from this baseline"});
}

void check_special_ids(Check& check, const manifest::BaselineFacts& baseline) {
  const std::int64_t vocab = check.d().model.vocab;
  const std::string limit = fmt::format("model.vocab {}: ids 0 to {}", vocab, vocab - 1);
  const char* fix = "the logits cannot name this token: take the package of this tokenizer";
  if (baseline.max_token_id >= vocab)
    check.report("/model/vocab", {"the frozen tokenizer has ids beyond the package's vocabulary",
                                  fmt::format("largest id {}", baseline.max_token_id), limit, fix});
  for (const auto& [kind, ids] : baseline.special_ids)
    for (const std::int64_t id : ids)
      if (id >= vocab)
        check.report("/model/vocab", {fmt::format("the frozen {} token is beyond the package's vocabulary", kind),
                                      fmt::format("id {}", id), limit, fix});
}

void check_tokenizer(Check& check) {
  const auto& baseline = check.facts().baseline;
  if (!baseline) return check.not_applicable("no --baseline given");
  const auto& model = check.d().model;
  compare_digest(check, "tokenizer_digest", model.tokenizer_digest, baseline->tokenizer_digest, "tokenizer");
  compare_digest(check, "chat_template_digest", model.chat_template_digest, baseline->chat_template_digest.value_or(""),
                 "chat template");
  compare_digest(check, "config_digest", model.config_digest, baseline->config_digest, "configuration");
  if (check.usable("/model/vocab")) check_special_ids(check, *baseline);
}

void compare_with_frozen(Check& check, const manifest::BaselineFacts& baseline) {
  const auto& model = check.d().model;
  for (const auto& [key, value] : {std::pair{"layers", model.layers},
                                   {"hidden", model.hidden},
                                   {"q_heads", model.q_heads},
                                   {"kv_heads", model.kv_heads},
                                   {"head_dim", model.head_dim},
                                   {"ffn", model.ffn},
                                   {"vocab", model.vocab}}) {
    const auto frozen = baseline.shape.find(key);
    if (frozen != baseline.shape.end() && frozen->second != value)
      check.report(fmt::format("/model/{}", key),
                   {"the package's model has another shape than the frozen one", fmt::format("{} {}", key, value),
                    fmt::format("frozen baseline: {} {}", key, frozen->second),
                    "take the package of this model, or freeze the model it was made from"});
  }
}

void check_architecture(Check& check) {
  if (!check.usable("/model")) return;
  if (const auto& model = check.d().model; model.q_heads % model.kv_heads != 0)
    check.report("/model/kv_heads",
                 {"the query heads cannot be shared out among the KV heads", fmt::format("{}", model.kv_heads),
                  fmt::format("a divisor of q_heads {}", model.q_heads), "correct the one that is wrong"});
  if (check.facts().baseline)
    compare_with_frozen(check, *check.facts().baseline);
  else if (!check.need_service())
    return;
  if (check.service() == nullptr) return check.left_out("no --service given: compared with the baseline only");
  const std::string& family = check.d().model.family;
  if (family != check.service()->architecture)
    check.report("/model/family",
                 {"the package is of another architecture than the service expects", fmt::format("'{}'", family),
                  fmt::format("service manifest architecture '{}'", check.service()->architecture),
                  "take the package of this model, or correct the manifest"});
}

}  // namespace

std::vector<Rule> baseline_rules() {
  return {
      {{"CB0409", "tokenizer-mismatch", Severity::kError, RuleClass::kIncompatible,
        "the package was made with the frozen tokenizer, chat template and configuration", "10b §7b",
        Maturity::kPreview},
       {"/model/config_digest,tokenizer_digest,chat_template_digest,vocab"},
       &check_tokenizer},
      {{"CB0411", "architecture-mismatch", Severity::kError, RuleClass::kIncompatible,
        "package, service and frozen model have one architecture", "10a", Maturity::kPreview},
       {"/model/family,layers,hidden,q_heads,kv_heads,head_dim,ffn,vocab"},
       &check_architecture},
  };
}

}  // namespace calkit::lint
