/// Family 04.
#include "scenes.h"

namespace calkit::lint {

namespace {

const std::string kOther = "sha256:" + std::string(63, 'a') + "b";

/// With the frozen baseline of the good package.
LintCase frozen(const char* name, Ids expected, std::function<void(Scene&)> change) {
  return {name, std::move(expected), [change = std::move(change)](Scene& s) {
            s.baseline = frozen_manifest(s.package.description);
            change(s);
          }};
}
void replace(std::string& text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
}

/// Logits of the decode with that many rows; 1 of them is real.
void pad_rows(Scene& s, std::int64_t rows, const Shape& tile) {
  auto& logits = s.package.decode_model().outputs[0];
  logits.shape[0] = rows;
  logits.layout.tile = tile;
  logits.size = 128 * static_cast<std::uint64_t>(rows);
  s.package.decode.ops[0].writes[0].size = logits.size;
}

}  // namespace

std::function<void(Scene&)> cache_order(const char* order) {
  return [order](Scene& s) { s.package.description.kv.layout = order; };
}

std::vector<LintCase> contract_cases() {
  return {
      {"a service of batch 4 for a package of 1", {"CB0401"}, [](Scene& s) { s.service->batch = 4; }},
      {"a service of batch 1 for a decode of 2",
       {"CB0303", "CB0401", "CB0407"},
       [](Scene& s) {
         auto& decode = s.package.decode_model();
         decode.batch = 2;
         auto& logits = decode.outputs[0];
         logits.shape[0] = logits.layout.logical_shape[0] = 2;
         logits.size *= 2;
         s.package.decode.ops[0].writes[0].size *= 2;
         s.package.decode.ops[0].reads[1].size *= 2;
         s.package.description.limits.max_batch = 2;
       }},
      {"more context than the package", {"CB0402"}, [](Scene& s) { s.service->context = 65; }},
      {"more context than one submodel",
       {"CB0402"},
       [](Scene& s) {
         s.package.decode_model().context = 63;
         s.package.description.golden[1].covers = {63};
       }},
      {"more context than was trained", {"CB0402"}, [](Scene& s) { s.package.description.model.trained_context = 63; }},
      {"less context than the package is fine", {}, [](Scene& s) { s.service->context = 63; }},
      {"another vocabulary in the service", {"CB0403"}, [](Scene& s) { s.service->vocab = 33; }},
      {"logits that are wider than the vocabulary",
       {"CB0403"},
       [](Scene& s) {
         s.package.description.model.vocab = 31;
         s.service->vocab = 31;
       }},
      {"logits padded beyond the vocabulary are fine",
       {},
       [](Scene& s) {
         s.package.description.model.vocab = 31;
         s.service->vocab = 31;
         for (auto& submodel : s.package.description.submodels) submodel.outputs[0].layout.logical_shape = {1, 31};
       }},
      {"a chip mask of two bits for one chip",
       {"CB0901"},
       [](Scene& s) { s.package.description.device.chip_mask = 3; }},
      {"a submodel on another chip than the package",
       {"CB0404"},
       [](Scene& s) { s.package.prefill_model().chips = 3; }},
      {"a file for another chip", {"CB0404"}, [](Scene& s) { s.package.file("blk0").chips = 2; }},
      {"a file for no chip in particular is fine", {}, [](Scene& s) { s.package.file("blk0").chips = 0; }},
      {"logits of two dtypes",
       {"CB0405"},
       [](Scene& s) {
         auto& logits = s.package.decode_model().outputs[0];
         logits.dtype = DType::kBF16;
         logits.size /= 2;
       }},
      {"tokens as floats", {"CB0405"}, [](Scene& s) { s.package.prefill_model().inputs[0].dtype = DType::kF64; }},
      {"bf16 logits everywhere are fine",
       {},
       [](Scene& s) {
         for (auto& submodel : s.package.description.submodels) {
           submodel.outputs[0].dtype = DType::kBF16;
           submodel.outputs[0].size /= 2;
           submodel.outputs[0].layout.strides_bytes = {64, 2};
         }
       }},
      {"logits that are too narrow",
       {"CB0406"},
       [](Scene& s) {
         auto& logits = s.package.decode_model().outputs[0];
         logits.shape = logits.layout.logical_shape = {1, 31};
         logits.size = 124;
       }},
      {"logits of too few rows",
       {"CB0406"},
       [](Scene& s) { s.package.decode_model().outputs[0].layout.logical_shape = {2, 32}; }},
      {"logits without rows",
       {"CB0406"},
       [](Scene& s) {
         auto& logits = s.package.decode_model().outputs[0];
         logits.shape = logits.layout.logical_shape = {32};
         logits.layout.strides_bytes = {4};
       }},
      {"a register under another name",
       {"CB0407"},
       [](Scene& s) { s.package.decode_model().csr[1].name = "past_kv_len"; }},
      {"a register index beyond its count",
       {"CB0407"},
       [](Scene& s) { s.service->csr_current = {"cur_seq_len", 1, "cur_seq_len[1]"}; }},
      {"the two registers bound the wrong way round",
       {"CB0407"},
       [](Scene& s) { std::swap(s.service->csr_current, s.service->csr_past_current); }},
      {"no register in one of the submodels", {"CB0407"}, [](Scene& s) { s.package.decode_model().csr.pop_back(); }},
      {"two registers at one address",
       {"CB0407"},
       [](Scene& s) {
         auto& csr = s.package.decode_model().csr;
         csr[1].base = csr[0].base;
       }},
      {"an input that is not there", {"CB0408"}, [](Scene& s) { s.service->token = {"inputs", 2, "inputs[2]"}; }},
      {"token bound to the positions", {"CB0408"}, [](Scene& s) { s.service->token = {"inputs", 1, "inputs[1]"}; }},
      {"logits bound to an input", {"CB0408"}, [](Scene& s) { s.service->logits = {"inputs", 0, "inputs[0]"}; }},
      {"inputs in another order are fine when bound so",
       {},
       [](Scene& s) {
         for (auto& submodel : s.package.description.submodels) {
           submodel.inputs[0].index = 1;
           submodel.inputs[1].index = 0;
         }
         std::swap(s.service->token, s.service->position);
       }},
      {"another architecture", {"CB0411"}, [](Scene& s) { s.service->architecture = "qwen3_moe"; }},
      frozen("CB0409 near: the frozen model", {}, [](Scene&) {}),
      frozen("another tokenizer than the frozen one", {"CB0409"},
             [](Scene& s) { s.package.description.model.tokenizer_digest = kOther; }),
      frozen("a chat template where the frozen model has none", {"CB0409"},
             [](Scene& s) { s.package.description.model.chat_template_digest = kOther; }),
      frozen("another configuration than the frozen one", {"CB0409"},
             [](Scene& s) { s.package.description.model.config_digest = kOther; }),
      frozen("a frozen tokenizer with an id beyond the vocabulary", {"CB0409"},
             [](Scene& s) { replace(*s.baseline, "\"max_id\": 31", "\"max_id\": 32"); }),
      frozen("a frozen end token beyond the vocabulary", {"CB0409"},
             [](Scene& s) { replace(*s.baseline, "\"id\": 2", "\"id\": 32"); }),
      frozen("more layers than the frozen model", {"CB0411"},
             [](Scene& s) { replace(*s.baseline, "\"layers\": 1", "\"layers\": 2"); }),
      {"padded rows without a tile", {"CB0410"}, [](Scene& s) { pad_rows(s, 16, {}); }},
      {"more rows than the tile asks for", {"CB0410"}, [](Scene& s) { pad_rows(s, 8, {4}); }},
      {"a KV cache in an order of words that nobody knows", {"CB0410"}, cache_order("slot,layer,kv,head,position,dim")},
      {"a KV cache without an axis", {"CB0410"}, cache_order("slot,layer,k|v,head,dim")},
      {"a KV cache with an axis twice", {"CB0410"}, cache_order("slot,layer,k|v,head,position,dim,dim")},
      {"a KV cache in an order with blanks", {"CB0410"}, cache_order("slot, layer, k|v, head, position, dim")},
      {"CB0410 near: a KV cache by positions", {}, cache_order("position,layer,slot,k|v,head,dim")},
      {"CB0410 near: rows of one tile", {}, [](Scene& s) { pad_rows(s, 16, {16}); }},
      {"CB0410 near: rows of another tile", {}, [](Scene& s) { pad_rows(s, 8, {8}); }},
      {"a limit of more tokens than the prefill takes",
       {"CB0412"},
       [](Scene& s) { s.package.description.limits.max_prefill_tokens = 17; }},
      {"CB0412 near: a limit of fewer tokens",
       {},
       [](Scene& s) { s.package.description.limits.max_prefill_tokens = 15; }},
      {"a limit of more sequences than the decode takes",
       {"CB0412"},
       [](Scene& s) { s.package.description.limits.max_batch = 2; }},
      {"fewer slots than sequences of a step",
       {"CB0412"},
       [](Scene& s) {
         s.package.description.limits.max_batch = 3;
         s.service->batch = 1;
       }},
  };
}

}  // namespace calkit::lint
