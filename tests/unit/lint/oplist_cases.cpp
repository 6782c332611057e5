/// Op lists: the order of what they touch, what they are called, and how much workspace they take.
#include "scenes.h"

namespace calkit::lint {

namespace {

calbin::IoTensor& logits(Scene& s) {
  return s.package.decode_model().outputs[0];
}
std::vector<calbin::Op>& prefill_ops(Scene& s) {
  return s.package.prefill.ops;
}
calbin::Op& gather(Scene& s) {
  return s.package.decode.ops[0];
}

/// The table's row in two parts; what computes them nobody but a board knows.
void halve(Scene& s, bool both) {
  auto first = gather(s);
  first.type = "Half";
  first.writes[0].shape = {calbin::Extent{std::string("B")}, calbin::Extent{std::int64_t{16}}};
  first.writes[0].size = 64;
  auto second = first;
  second.id = 1;
  second.writes[0].base += 64;
  s.package.decode.ops = {first};
  if (both) s.package.decode.ops.push_back(second);
}

std::vector<LintCase> flow_cases() {
  const auto in_cache = [](Scene& s, calbin::Operand operand) {
    operand.region = "kv";
    operand.base = s.package.region("kv").base;
    operand.size = 128;
    return operand;
  };
  return {
      {"an output that no op writes", {"CB0509"}, [](Scene& s) { logits(s).base += 1024; }},
      {"an output of which the ops write a half", {"CB0509"}, [](Scene& s) { halve(s, false); }},
      {"CB0509 near: an output that two ops write in halves", {}, [](Scene& s) { halve(s, true); }},
      {"an op that reads what nobody has written",
       {"CB0509"},
       [](Scene& s) { prefill_ops(s)[1].reads[0].base += 2048; }},
      {"an op before the one that gives its input",
       {"CB0509"},
       [](Scene& s) { std::swap(prefill_ops(s)[1], prefill_ops(s)[2]); }},
      {"an op that reads an output before it is written",
       {"CB0509"},
       [](Scene& s) {
         auto early = gather(s);
         early.id = 7;
         early.reads[0] = early.writes[0];
         early.writes[0].base += 1024;
         s.package.decode.ops.insert(s.package.decode.ops.begin(), early);
       }},
      {"an op that reads beyond what was written",
       {"CB0509"},
       [](Scene& s) {
         prefill_ops(s)[1].writes[0].size = 8;
         prefill_ops(s)[2].reads[1].shape[1].value = std::int64_t{8};
       }},
      {"an op that reads a value as another type than it was written",
       {"CB0509"},
       [](Scene& s) { prefill_ops(s)[2].reads[1].dtype = DType::kF64; }},
      {"CB0509 near: another value of another type in the same place",
       {},
       [](Scene& s) {
         auto late = prefill_ops(s)[0];
         late.id = 90;
         late.writes[0].name = "late";
         late.writes[0].dtype = DType::kI32;
         prefill_ops(s).push_back(late);
       }},
      {"CB0509 near: a value that two ops read",
       {},
       [](Scene& s) {
         auto again = prefill_ops(s)[1];
         again.id = 90;
         again.writes[0].name = "last.too";
         again.writes[0].base += 512;
         s.package.prefill_model().workspace_peak += 512;
         prefill_ops(s).insert(prefill_ops(s).begin() + 2, again);
       }},
      {"CB0509 near: an op that reads the KV cache of calls before",
       {},
       [in_cache](Scene& s) { gather(s).reads.push_back(in_cache(s, gather(s).writes[0])); }},
      {"CB0509 near: an op of its own that writes the KV cache",
       {},
       [in_cache](Scene& s) {
         auto keep = gather(s);
         keep.id = 1;
         keep.type = "Identity";
         keep.reads = {gather(s).writes[0]};
         keep.writes = {in_cache(s, gather(s).writes[0])};
         keep.attributes.clear();
         s.package.decode.ops.push_back(keep);
       }},
      {"an operand that splits an element",
       {"CB0509"},
       [](Scene& s) {
         prefill_ops(s)[1].writes[0].base += 4;
         prefill_ops(s)[1].writes[0].size = 8;
         prefill_ops(s)[2].reads[1].base += 4;
       }},
      {"a register that is read as another width",
       {"CB0509"},
       [](Scene& s) { prefill_ops(s)[0].reads[0].dtype = DType::kI64; }},
  };
}

std::vector<LintCase> id_cases() {
  return {
      {"two ops of one id", {"CB0509"}, [](Scene& s) { prefill_ops(s)[2].id = prefill_ops(s)[1].id; }},
      {"CB0509 near: ids with gaps, in no order",
       {},
       [](Scene& s) {
         prefill_ops(s)[1].id = 77;
         prefill_ops(s)[2].id = 5;
       }},
      {"CB0509 near: the same ids in two submodels", {}, [](Scene& s) { gather(s).id = prefill_ops(s)[0].id; }},
  };
}

std::vector<LintCase> workspace_cases() {
  return {
      {"a workspace peak one byte below what the ops use",
       {"CB0509"},
       [](Scene& s) { s.package.prefill_model().workspace_peak = 191; }},
      {"no workspace at all for ops that use one",
       {"CB0509"},
       [](Scene& s) { s.package.prefill_model().workspace_peak = 0; }},
      {"CB0509 near: a workspace peak above what the ops use",
       {},
       [](Scene& s) { s.package.prefill_model().workspace_peak = 193; }},
      {"CB0509 near: no workspace for ops that use none",
       {},
       [](Scene& s) { s.package.decode_model().workspace_peak = 0; }},
  };
}

}  // namespace

std::vector<LintCase> oplist_cases() {
  auto out = flow_cases();
  for (const auto& part : {id_cases(), workspace_cases()}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
