/// Families 06, 07 and 08.
#include "lint_case.h"

namespace calkit::lint {

namespace {

calbin::IoTensor& token(Scene& s) {
  return s.package.decode_model().inputs[0];
}
calbin::IoTensor& logits(Scene& s) {
  return s.package.decode_model().outputs[0];
}
void declared(Scene& s, const std::string& text) {
  s.package.description.memory.declared_text = text;
}

/// A ping/pong pair on the logits of decode, `apart` bytes from each other.
void ping_pong(Scene& s, std::uint64_t apart, std::int64_t inflight) {
  logits(s).pingpong = calbin::PingPong{logits(s).base, logits(s).base + apart, inflight};
}

std::vector<LintCase> param_cases() {
  return {
      {"a parameter one byte beyond its file", {"CB0601"}, [](Scene& s) { s.package.param("one").offset += 1; }},
      {"a parameter far beyond its file", {"CB0601"}, [](Scene& s) { s.package.param("one").offset = 1ull << 52; }},
      {"an offset that wraps past the file's size",
       {"CB0207", "CB0601"},
       [](Scene& s) { s.package.param("one").offset = 18446744073709551608ull; }},
      {"a length that wraps past the file's size",
       {"CB0207", "CB0502", "CB0505", "CB0601"},
       [](Scene& s) { s.package.param("one").length = 18446744073709551552ull; }},
      {"two parameters on the same bytes of a file",
       {"CB0602", "CB0603"},
       [](Scene& s) { s.package.param("one").offset -= 8; }},
      {"two parameters on the same bytes of a chip",
       {"CB0509", "CB0602"},
       [](Scene& s) { s.package.param("one").base -= 8; }},
      {"a tied parameter on its owner's bytes is fine",
       {},
       [](Scene& s) {
         auto tied = s.package.param("table");
         tied.name = "head";
         tied.tied_to = "table";
         s.package.description.params.push_back(tied);
       }},
      {"a parameter tied to nothing", {"CB0602"}, [](Scene& s) { s.package.param("one").tied_to = "nope"; }},
      {"a parameter tied to itself", {"CB0602"}, [](Scene& s) { s.package.param("one").tied_to = "one"; }},
      {"a parameter tied to one that lies elsewhere",
       {"CB0602"},
       [](Scene& s) { s.package.param("one").tied_to = "table"; }},
      {"a tied parameter on half of its owner",
       {"CB0602"},
       [](Scene& s) {
         auto tied = s.package.param("table");
         tied.name = "head";
         tied.tied_to = "table";
         tied.shape = tied.logical_shape = {16, 32};
         tied.length /= 2;
         s.package.description.params.push_back(tied);
       }},
      {"a parameter of no bytes at the end of the file is fine",
       {},
       [](Scene& s) {
         auto empty = s.package.param("one");
         empty.name = "empty";
         empty.offset += 8;
         empty.base += 8;
         empty.length = 0;
         empty.shape = empty.logical_shape = {0};
         s.package.description.params.push_back(empty);
       }},
      {"a parameter of no bytes inside another",
       {"CB0602"},
       [](Scene& s) {
         auto empty = s.package.param("one");
         empty.name = "empty";
         empty.offset -= 8;
         empty.base -= 8;
         empty.length = 0;
         empty.shape = empty.logical_shape = {0};
         s.package.description.params.push_back(empty);
       }},
      {"a parameter region that is too small",
       {"CB0509", "CB0605"},
       [](Scene& s) {
         s.package.region("param").size = 4096;
         s.package.decode.ops[0].reads[0].size = 4096;
         auto& sub = s.package.prefill.ops[1].reads[1];
         sub.region = "workspace";
         sub.base = s.package.region("workspace").base + 256;
       }},
      {"a parameter in a region of another kind",
       {"CB0509", "CB0605"},
       [](Scene& s) {
         s.package.param("one").region = "workspace";
         s.package.param("one").base = s.package.region("workspace").base + 512;
       }},
      {"blocks that fill their region are fine", {}, [](Scene& s) { s.package.region("param").size = 4104; }},
  };
}

std::vector<LintCase> alias_cases() {
  return {
      {"ping is pong with two jobs in flight", {"CB0701"}, [](Scene& s) { ping_pong(s, 0, 2); }},
      {"ping and pong share four bytes", {"CB0701"}, [](Scene& s) { ping_pong(s, 124, 2); }},
      {"ping and pong share four bytes with one job in flight", {"CB0701"}, [](Scene& s) { ping_pong(s, 124, 1); }},
      {"ping is pong with one job in flight is fine", {}, [](Scene& s) { ping_pong(s, 0, 1); }},
      {"ping and pong side by side are fine", {}, [](Scene& s) { ping_pong(s, 128, 2); }},
      {"a pong outside the region", {"CB0501"}, [](Scene& s) { ping_pong(s, 1 << 20, 2); }},
      {"logits on the tokens",
       {"CB0702", "CB0704"},
       [](Scene& s) { logits(s).base = s.package.decode.ops[0].writes[0].base = token(s).base; }},
      {"logits on the last byte of the positions",
       {"CB0702"},
       [](Scene& s) { s.package.decode_model().inputs[1].base = logits(s).base + 120; }},
      {"tensors side by side are fine",
       {},
       [](Scene& s) { s.package.decode_model().inputs[1].base = logits(s).base + 128; }},
      {"a declared alias is fine",
       {},
       [](Scene& s) {
         auto& position = s.package.decode_model().inputs[1];
         position.base = token(s).base;
         position.alias_of = "token_ids";
       }},
      {"a declared alias of half the tensor",
       {"CB0303", "CB0703"},
       [](Scene& s) {
         auto& position = s.package.decode_model().inputs[1];
         position.base = token(s).base + 4;
         position.dtype = DType::kI32;
         position.shape = position.layout.logical_shape = {1, 2};
         position.alias_of = "token_ids";
         s.package.prefill_model().inputs[1].dtype = DType::kI32;
         s.package.prefill_model().inputs[1].size /= 2;
       }},
      {"an alias of nothing", {"CB0703"}, [](Scene& s) { logits(s).alias_of = "past_k.0"; }},
      {"logits in the parameter region",
       {"CB0705"},
       [](Scene& s) {
         logits(s).region = "param";
         logits(s).base = s.package.region("param").base + 5120;
       }},
      {"a workspace on the parameters",
       {"CB0504", "CB0705"},
       [](Scene& s) {
         auto region = s.package.region("param");
         region.id = "workspace.b";
         region.kind = "workspace";
         region.base += 4096;
         region.size = 4096;
         s.package.description.memory.regions.push_back(region);
       }},
  };
}

std::vector<LintCase> unit_cases() {
  return {
      {"16777216 MB", {"CB0803", "CB0805"}, [](Scene& s) { declared(s, "16777216 MB"); }},
      {"16777216 MB, converted to bytes",
       {"CB0803", "CB0805"},
       [](Scene& s) {
         declared(s, "16777216 MB");
         s.package.description.memory.device_required = 16777216000000;
       }},
      {"16777216 without a unit", {"CB0801"}, [](Scene& s) { declared(s, "16777216"); }},
      {"a unit nobody knows", {"CB0802"}, [](Scene& s) { declared(s, "16 Go"); }},
      {"a unit in small letters", {"CB0802"}, [](Scene& s) { declared(s, "16 gib"); }},
      {"a unit without its B", {"CB0802"}, [](Scene& s) { declared(s, "16G"); }},
      {"a hexadecimal number with a unit", {"CB0802"}, [](Scene& s) { declared(s, "0x10 MB"); }},
      {"a negative number with a unit", {"CB0802"}, [](Scene& s) { declared(s, "-1 MiB"); }},
      {"another number of bytes than the text", {"CB0805"}, [](Scene& s) { declared(s, "25 KiB"); }},
      {"the same bytes in another unit are fine", {}, [](Scene& s) { declared(s, "24576 B"); }},
      {"no text is fine", {}, [](Scene& s) { declared(s, ""); }},
      {"a total far from the sum of the regions",
       {"CB0805"},
       [](Scene& s) {
         declared(s, "");
         s.package.description.memory.device_required += 67108865;
       }},
      {"a total with the guard counted in is fine",
       {},
       [](Scene& s) {
         declared(s, "");
         s.package.description.memory.device_required += 67108864;
       }},
  };
}

}  // namespace

std::vector<LintCase> param_alias_unit_cases() {
  auto out = param_cases();
  for (auto part : {alias_cases(), unit_cases()}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
