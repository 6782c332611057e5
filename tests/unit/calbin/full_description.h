#pragma once
#include <string>

#include "calkit/calbin/reading.h"
#include "package_builder.h"

namespace calkit::calbin {

/// Every optional field in use.
inline Description full_description() {
  Description d = testing_support::good_package().description;
  for (auto& file : d.files) file.digest = "sha256:" + std::string(64, 'a');
  d.created = "2026-01-02T03:04:05Z";
  d.model.hf_repo = "a/b";
  d.model.hf_revision = std::string(40, '1');
  d.model.chat_template_digest = "sha256:" + std::string(64, 'b');
  d.model.experts = 4;
  d.model.experts_per_token = 2;
  d.device.calcores_per_chip = 8;
  d.device.chip[0].sram = 1 << 20;
  d.device.chip[0].link_bw = 1 << 30;
  d.partition.axes = {"heads"};
  d.files[0].optional = true;
  d.memory.regions[0].parent = "kv";
  d.memory.regions[0].shared_with = d.memory.regions[1].shared_with = {"kv"};
  d.memory.regions[1].base = UINT64_MAX;
  d.params[0].shard = Shard{1, 0, 2, true};
  d.params[0].quant_ref = "w8";
  d.params[0].tied_to = "one";
  auto& submodel = d.submodels[0];
  submodel.tokens = {16, 128, 16};
  submodel.inputs[0].alias_of = "x";
  submodel.inputs[0].pingpong = PingPong{16, 32, 2};
  submodel.outputs[0].alias_of = "x";
  submodel.outputs[0].pingpong = PingPong{16, 32, 2};
  submodel.iomap[0] = "blk0";
  submodel.commands.push_back({"cpu", "blk0", "blk0", 0, 8, 3});
  d.kv.scale_dtype = "f32";
  d.provenance.commits["compiler"] = "abc";
  d.provenance.notes.erase("compiler");
  d.provenance.env_allow["A"] = "b";
  d.provenance.started = d.provenance.finished = "2026-01-02T03:04:05Z";
  d.golden = {{"mini-prefill",
               "blk0",
               "blk0",
               "sha256:" + std::string(64, 'c'),
               "f32",
               {{"tool", "t"}},
               "SHA-256 of the logits, f32, row-major",
               {1, 16}}};
  d.ccu = Ccu{"blk0", "riscv", 32, false, 5, "param"};
  d.d2d = D2d{"blk0", true, {{0, 1}}};
  QuantScheme scheme;
  scheme.id = "w8";
  scheme.weight_bits = scheme.act_bits = 8;
  scheme.symmetric = false;
  scheme.granularity = "group";
  scheme.group = 32;
  scheme.scale_dtype = "f32";
  scheme.zero_point_dtype = "i8";
  d.quant = Quant{{scheme}, {{"MatMul", "w8"}}, "sha256:" + std::string(64, 'd'), {{"table", {"one", "one"}}}};
  d.signatures.push_back({"blk0", "key"});
  d.seal = seal_of(to_value(d));
  return d;
}

}  // namespace calkit::calbin
