/// Family 05.
#include "lint_case.h"

namespace calkit::lint {

namespace {

calbin::IoTensor& logits(Scene& s) {
  return s.package.decode_model().outputs[0];
}

/// A device with exactly these bytes per chiplet and this guard.
manifest::DeviceProfile device(std::uint64_t dram, std::uint64_t guard, std::int64_t chiplets = 2) {
  manifest::DeviceProfile out;
  out.name = "test";
  out.chiplets = chiplets;
  out.dram_bytes = dram;
  out.guard_bytes = guard;
  return out;
}

/// The good package's regions cover param 8192, KV 4096, workspace 4096 and twice 4096 of I/O.
constexpr std::uint64_t kUsed = 8192 + 4096 + 4096 + 2 * 4096;

void set_usable(Scene& s, std::uint64_t bytes) {
  s.package.description.device.chip[0].dram_usable = bytes;
}

std::vector<LintCase> region_cases() {
  return {
      {"a tensor one byte beyond its region",
       {"CB0501"},
       [](Scene& s) { logits(s).base = s.package.region("io.decode").base + 4096 - 124; }},
      {"a tensor that ends with its region is fine",
       {},
       [](Scene& s) {
         logits(s).base = s.package.region("io.decode").base + 4096 - 128;
         s.package.decode.ops[0].writes[0].base = logits(s).base;
       }},
      {"a tensor below its region",
       {"CB0501"},
       [](Scene& s) { logits(s).base = s.package.region("io.decode").base - 128; }},
      {"a tensor on another chip than its region",
       {"CB0501", "CB0604"},
       [](Scene& s) {
         s.package.description.device.chips = 2;
         s.package.description.device.chip_mask = 3;
         s.package.description.device.chip.push_back({1, 34292629504, {}, {}});
         s.package.description.kv.bytes_per_chip = {4096, 0};
         logits(s).chip = 1;
       }},
      {"a register outside all regions", {"CB0501"}, [](Scene& s) { s.package.decode_model().csr[1].base = 0x500; }},
      {"a workspace larger than its region",
       {"CB0501"},
       [](Scene& s) { s.package.prefill_model().workspace_peak = 4097; }},
      {"a workspace that fills its region is fine",
       {},
       [](Scene& s) { s.package.prefill_model().workspace_peak = 4096; }},
      {"a region that wraps",
       {"CB0502"},
       [](Scene& s) {
         auto region = s.package.region("workspace");
         region.id = "far";
         region.parent.clear();
         region.base = 0xfffffffffffff000;
         region.size = 4096;
         s.package.description.memory.regions.push_back(region);
       }},
      {"a region at the very end is fine",
       {},
       [](Scene& s) {
         auto region = s.package.region("workspace");
         region.id = "far";
         region.parent.clear();
         region.base = 0xffffffffffffe000;
         region.size = 4096;
         s.package.description.memory.regions.push_back(region);
       }},
      {"a tensor that wraps", {"CB0502"}, [](Scene& s) { logits(s).base = 0xffffffffffffffc0; }},
      {"a shape that wraps",
       {"CB0502"},
       [](Scene& s) { s.package.decode_model().inputs[0].shape = {4294967296, 4294967296}; }},
      {"a register that wraps",
       {"CB0502"},
       [](Scene& s) { s.package.decode_model().csr[1].base = 0xfffffffffffffffe; }},
      {"an alignment of 48", {"CB0503"}, [](Scene& s) { s.package.region("kv").align = 48; }},
      {"an alignment of zero", {"CB0503"}, [](Scene& s) { s.package.region("kv").align = 0; }},
      {"an alignment of 2 GiB", {"CB0503"}, [](Scene& s) { s.package.region("kv").align = 1ull << 31; }},
      {"a region off its alignment", {"CB0503"}, [](Scene& s) { s.package.region("kv").align = 0x10000; }},
      {"a tensor off its element size", {"CB0503"}, [](Scene& s) { logits(s).base += 2; }},
      {"an alignment of one byte is fine", {}, [](Scene& s) { s.package.region("kv").align = 1; }},
      {"two regions share a page",
       {"CB0504"},
       [](Scene& s) {
         s.package.region("workspace").base -= 4096;
         auto shift = [&](calbin::OpList& list) {
           for (auto& op : list.ops)
             for (auto* operands : {&op.reads, &op.writes})
               for (auto& operand : *operands)
                 if (operand.region == "workspace") operand.base -= 4096;
         };
         shift(s.package.prefill);
         s.package.description.memory.device_required -= 4096;
         s.package.description.memory.declared_text.clear();
       }},
      {"a page shared on both sides' word is fine",
       {},
       [](Scene& s) {
         auto twin = s.package.region("workspace");
         twin.id = "workspace.b";
         twin.shared_with = {"workspace"};
         s.package.region("workspace").shared_with = {"workspace.b"};
         s.package.description.memory.regions.push_back(twin);
       }},
      {"a page shared on one side's word",
       {"CB0504"},
       [](Scene& s) {
         auto twin = s.package.region("workspace");
         twin.id = "workspace.b";
         twin.shared_with = {"workspace"};
         s.package.description.memory.regions.push_back(twin);
       }},
      {"the same addresses on another chip are fine",
       {},
       [](Scene& s) {
         auto& d = s.package.description;
         d.device.chips = 2;
         d.device.chip_mask = 3;
         d.device.chip.push_back({1, 34292629504, {}, {}});
         d.kv.bytes_per_chip = {4096, 0};
         auto twin = s.package.region("workspace");
         twin.id = "workspace.1";
         twin.chip = 1;
         twin.parent.clear();
         d.memory.regions.push_back(twin);
         auto params = s.package.region("param");
         params.id = "param.1";
         params.chip = 1;
         params.parent.clear();
         d.memory.regions.push_back(params);
         auto one = s.package.param("one");
         one.name = "one.1";
         one.chip = 1;
         one.region = "param.1";
         one.file = "blk1";
         one.offset = 0;
         s.package.files["params/blk1.bin"] = std::string(8, '\1');
         d.files.push_back({"blk1", "params/blk1.bin", "param", 0, {}, 0, false});
         d.params.push_back(one);
       }},
      {"a region beyond its parent", {"CB0510"}, [](Scene& s) { s.package.region("chip0").size -= 4096; }},
      {"a parent that is its own child", {"CB0510"}, [](Scene& s) { s.package.region("chip0").parent = "chip0"; }},
  };
}

std::vector<LintCase> size_cases() {
  return {
      {"a tensor with one byte less than its shape", {"CB0505"}, [](Scene& s) { logits(s).size -= 1; }},
      {"strides of another dtype",
       {"CB0505"},
       [](Scene& s) {
         s.package.restride = false;
         for (auto& stride : s.package.decode_model().outputs[0].layout.strides_bytes) stride *= 2;
       }},
      {"a tensor with one byte more than its shape", {"CB0505"}, [](Scene& s) { logits(s).size += 1; }},
      {"rows that are no whole tiles",
       {"CB0505"},
       [](Scene& s) {
         logits(s).layout.tile = {16};
         logits(s).shape = {17, 32};
         logits(s).size = 17 * 128;
       }},
      {"a parameter with the bytes of another dtype",
       {"CB0505"},
       [](Scene& s) { s.package.param("table").dtype = DType::kBF16; }},
      {"more than the chip has",
       {"CB0506", "CB0508"},
       [](Scene& s) {
         s.profile = device(kUsed + 4095, 4096);
         set_usable(s, kUsed);
       }},
      {"exactly what the chip has is fine",
       {},
       [](Scene& s) {
         s.profile = device(kUsed + 4096, 4096);
         set_usable(s, kUsed);
       }},
      {"more than the package says is usable",
       {"CB0506"},
       [](Scene& s) {
         s.profile = device(1 << 20, 4096);
         set_usable(s, kUsed - 1);
       }},
      {"a package that counts on more than the chip has",
       {"CB0506"},
       [](Scene& s) {
         s.profile = device(1 << 20, 4096);
         set_usable(s, (1 << 20) + 1);
       }},
      {"a chip that the device does not have",
       {"CB0506", "CB0604", "CB0901", "CB0902"},
       [](Scene& s) {
         auto& d = s.package.description;
         d.device.chips = 2;
         d.device.chip_mask = 5;
         d.device.chip.push_back({2, 34292629504, {}, {}});
         d.kv.bytes_per_chip = {4096, 0};
       }},
      {"the KV cache of another context",
       {"CB0507"},
       [](Scene& s) {
         s.package.description.kv.bytes_total = 2048;
         s.package.description.kv.bytes_per_chip = {2048};
       }},
      {"KV parts that do not add up", {"CB0507"}, [](Scene& s) { s.package.description.kv.bytes_per_chip = {4095}; }},
      {"a KV cache in bf16 where f32 was reserved",
       {"CB0507"},
       [](Scene& s) { s.package.description.kv.k_dtype = s.package.description.kv.v_dtype = DType::kBF16; }},
      {"a KV cache of f32 keys and 8-bit values with scales is fine",
       {},
       [](Scene& s) {
         auto& kv = s.package.description.kv;
         kv.v_dtype = DType::kI8;
         kv.scale_dtype = "f32";
         kv.bytes_total = 512 * 5 + 512;
         kv.bytes_per_chip = {512 * 5 + 512};
       }},
      {"a KV cache of 8-bit values taken as half",
       {"CB0507"},
       [](Scene& s) {
         auto& kv = s.package.description.kv;
         kv.v_dtype = DType::kI8;
         kv.bytes_total = 2048;
         kv.bytes_per_chip = {2048};
       }},
      {"a KV region that is too small",
       {"CB0507"},
       [](Scene& s) {
         auto& d = s.package.description;
         d.limits.slots = 3;
         d.kv.bytes_total = 6144;
         d.kv.bytes_per_chip = {6144};
       }},
  };
}

std::vector<LintCase> operand_cases() {
  const auto write = [](Scene& s) -> calbin::Operand& { return s.package.decode.ops[0].writes[0]; };
  return {
      {"an op that reads outside its region",
       {"CB0509"},
       [](Scene& s) { s.package.decode.ops[0].reads[0].base = 0x900000000; }},
      {"an op that names no region", {"CB0509"}, [](Scene& s) { s.package.decode.ops[0].reads[0].region = "nowhere"; }},
      {"an op whose address wraps",
       {"CB0509"},
       [](Scene& s) { s.package.decode.ops[0].reads[0].base = 0xffffffffffffff00; }},
      {"an operand that is larger than its bytes", {"CB0509"}, [write](Scene& s) { write(s).size -= 4; }},
      {"an operand with bytes to spare is fine", {}, [write](Scene& s) { write(s).size += 64; }},
      {"op lists of prefill and decode swapped",
       {"CB0509"},
       [](Scene& s) { std::swap(s.package.prefill.submodel, s.package.decode.submodel); }},
      {"an op list for another chip", {"CB0509"}, [](Scene& s) { s.package.decode.chip = 1; }},
      {"an op that writes over a buffer in use",
       {"CB0704"},
       [](Scene& s) {
         s.package.prefill.ops[1].writes[0].base -= 8;
         s.package.prefill.ops[2].reads[1].base -= 8;
       }},
      {"two values in use on exactly the same bytes",
       {"CB0704"},
       [](Scene& s) {  // the difference takes the place of the length, which a later op still names
         auto& ops = s.package.prefill.ops;
         ops[1].writes[0].base = ops[0].writes[0].base;
         ops[2].reads[1].base = ops[0].writes[0].base;
         auto late = ops[1];
         late.id = 90;
         late.writes[0].name = "late";
         late.writes[0].base += 1024;
         s.package.prefill_model().workspace_peak += 1024;
         ops.push_back(late);
       }},
      {"two values of one op on exactly the same bytes",
       {"CB0704"},
       [](Scene& s) {
         auto& op = s.package.prefill.ops[0];
         op.writes.push_back(op.writes[0]);
         op.writes[1].name = "twin";
       }},
      {"CB0704 near: the same value is written again",
       {},
       [](Scene& s) {
         auto& ops = s.package.prefill.ops;
         auto again = ops[0];
         again.id = 90;
         ops.insert(ops.begin() + 1, again);
       }},
      {"an op that works in place is fine",
       {},
       [](Scene& s) {
         s.package.prefill.ops[1].writes[0].base -= 64;
         s.package.prefill.ops[2].reads[1].base -= 64;
       }},
      {"bytes that are written again after their last reader are fine",
       {},
       [](Scene& s) {
         s.package.prefill.ops[2].writes[0].base -= 128;
         s.package.prefill.ops[3].reads[1].base -= 128;
       }},
      {"an op that writes over an output",
       {"CB0704"},
       [](Scene& s) {
         auto late = s.package.decode.ops[0];
         late.id = 1;
         late.writes[0] = s.package.decode.ops[0].writes[0];
         late.writes[0].base += 64;
         late.writes[0].region = "io.decode";
         s.package.decode.ops.push_back(late);
       }},
      {"an op that writes over parameters",
       {"CB0705"},
       [write](Scene& s) {
         write(s).region = "param";
         write(s).base = s.package.region("param").base + 4096;
       }},
  };
}

/// Reservations are for one purpose each.
std::vector<LintCase> purpose_cases() {
  const auto logits_in = [](const char* kind) {
    return [kind](Scene& s) { s.package.region("io.decode").kind = kind; };
  };
  return {
      {"I/O in the guard", {"CB0501", "CB0509"}, logits_in("guard")},
      {"I/O in a workspace", {"CB0501"}, logits_in("workspace")},
      {"a workspace in the KV cache's reservation",
       {"CB0501"},
       [](Scene& s) { s.package.decode_model().workspace_region = "kv"; }},
      {"a KV cache in the workspace", {"CB0507"}, [](Scene& s) { s.package.description.kv.regions = {"workspace"}; }},
      {"half a KV reservation named twice",
       {"CB0507"},
       [](Scene& s) {
         s.package.region("kv").size /= 2;
         s.package.description.kv.regions = {"kv", "kv"};
       }},
      {"a register that splits a word", {"CB0503"}, [](Scene& s) { s.package.decode_model().csr[1].base += 6; }},
      {"a register on an input's bytes",
       {"CB0702"},
       [](Scene& s) { s.package.decode_model().csr[1].base = s.package.decode_model().inputs[0].base; }},
      {"an op that reads a register nobody has",
       {"CB0509"},
       [](Scene& s) {
         auto length = s.package.decode.ops[0].reads[0];
         length.csr = "seq_len";
         s.package.decode.ops[0].reads.push_back(length);
       }},
      {"an op that reads a register at another address",
       {"CB0509"},
       [](Scene& s) {
         auto length = s.package.decode.ops[0].reads[0];
         length.csr = "cur_seq_len";
         s.package.decode.ops[0].reads.push_back(length);
       }},
      {"an op list without ops", {"CB0509"}, [](Scene& s) { s.package.decode.ops.clear(); }},
      {"CB0410 near: a row-major layout without strides is fine",
       {},
       [](Scene& s) {
         s.package.restride = false;
         for (auto* model : {&s.package.prefill_model(), &s.package.decode_model()})
           for (auto* list : {&model->inputs, &model->outputs})
             for (auto& tensor : *list) tensor.layout.strides_bytes.clear();
       }},
  };
}

}  // namespace

std::vector<LintCase> memory_cases() {
  auto out = region_cases();
  for (auto part : {size_cases(), operand_cases(), purpose_cases()}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
