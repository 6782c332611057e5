#include "scenes.h"

#include <cstring>
#include <fstream>
#include <sstream>

#include "calkit/base/document.h"
#include "calkit/base/hash.h"
#include "calkit/tensor/npz.h"
#include "scratch_dir.h"

namespace calkit::lint {

namespace {

std::string digest_of_text(const std::string& text) {
  return "sha256:" + sha256_hex(text);
}

std::string npz_bytes(const Members& members) {
  testing_support::ScratchDir dir;
  if (!write_npz(dir / "golden.npz", members).ok()) std::abort();
  std::ifstream in(dir / "golden.npz", std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

void as_board(Scene& s) {
  s.package.description.compat.device = "board";
  s.support = manifest::SupportMatrix{"test matrix", {{{"any", "any", "any", "board"}, true, "tried"}}};
  auto& made = s.package.description.provenance;
  made.notes.clear();
  for (const char* part : {"compiler", "tvm", "kernel", "oplib"}) made.commits[part] = sha256_hex(part).substr(0, 40);
  made.container_digest = "registry.example/tools@" + digest_of_text("container");
  add_commands(s);
  add_control_program(s);
}

std::string frozen_manifest(const calbin::Description& d) {
  const auto& m = d.model;
  const Value chat = m.chat_template_digest.empty() ? Value::object({{"null_reason", "none"}})
                                                    : Value::object({{"sha256", m.chat_template_digest}});
  return to_json(Value::object(
      {{"schema", "calkit.model-source/1"},
       {"identity", Value::object({{"model_sha256", digest_of_text("model")}})},
       {"inputs", Value::array({Value::object({{"path", "config.json"}, {"sha256", m.config_digest}})})},
       {"spec", Value::object({{"layers", m.layers},
                               {"hidden", m.hidden},
                               {"q_heads", m.q_heads},
                               {"kv_heads", m.kv_heads},
                               {"head_dim", m.head_dim},
                               {"ffn", m.ffn},
                               {"vocab", m.vocab}})},
       {"tokenizer",
        Value::object({{"sha256", m.tokenizer_digest},
                       {"max_id", m.vocab - 1},
                       {"special_tokens", Value::object({{"eos", Value::array({Value::object({{"id", 2}})})}})},
                       {"chat_template", chat}})},
       {"stop_ids", Value::array({2})}}));
}

void put_bytes(Scene& s, std::uint64_t at, const void* bytes, std::size_t count) {
  auto& file = s.package.files["params/blk0.bin"];
  if (file.size() < at + count) file.resize(at + count, '\0');
  std::memcpy(file.data() + at, bytes, count);
}

void quantise(Scene& s) {
  const std::uint64_t base = s.package.region("param").base;
  for (std::uint64_t i = 0; i < 1024; ++i) {
    const auto value = static_cast<std::int8_t>(i * 7 % 251);
    put_bytes(s, kWeightAt + i, &value, 1);
  }
  for (std::uint64_t i = 0; i < 32; ++i) {
    const float scale = 0.01f + 0.001f * static_cast<float>(i);
    put_bytes(s, kScaleAt + 4 * i, &scale, sizeof scale);
  }
  calbin::Param weight = s.package.param("table");
  weight.name = "w";
  weight.dtype = DType::kI8;
  weight.offset = kWeightAt;
  weight.length = 1024;
  weight.base = base + kWeightAt;
  weight.quant_ref = "w8a8";
  calbin::Param scale = weight;
  scale.name = "w.scale";
  scale.dtype = DType::kF32;
  scale.shape = scale.logical_shape = {32};
  scale.offset = kScaleAt;
  scale.length = 128;
  scale.base = base + kScaleAt;
  scale.quant_ref.clear();
  auto& d = s.package.description;
  d.params.push_back(weight);
  d.params.push_back(scale);
  calbin::QuantScheme scheme;
  scheme.id = "w8a8";
  scheme.weight_bits = scheme.act_bits = 8;
  scheme.granularity = "channel";
  scheme.act_dynamic = true;
  scheme.act_granularity = "token";
  scheme.scale_dtype = "f32";
  d.quant = calbin::Quant{
      {scheme}, {{"MatMul", "w8a8"}, {"norm", "bf16"}}, digest_of_text("texts"), {{"w", {"w.scale", ""}}}};
}

void add_decode(Scene& s, const std::string& name) {
  auto other = s.package.decode_model();
  other.name = name;
  other.context = 32;
  other.oplist[0] = "oplist.spare";
  calbin::OpList list = s.package.decode;
  list.submodel = name;
  add_file(s, "oplist.spare", "oplists/spare.json", "oplist", to_json(calbin::to_value(list)));
  s.package.description.submodels.push_back(other);
}

void set_golden(Scene& s, const std::string& id, const Members& members) {
  s.package.files["golden/" + id + ".npz"] = npz_bytes(members);
}

void add_golden_files(Scene& s) {
  auto& d = s.package.description;
  const std::int64_t vocab = d.model.vocab;
  const auto tokens = Tensor::of<std::int32_t>({3}, {1, 2, 3});
  const auto logits = Tensor::of<float>({vocab}, std::vector<float>(static_cast<std::size_t>(vocab), 0.5f));
  struct File {
    const char* id;
    Members members;
  };
  const File files[] = {
      {"golden.prefill.inputs", {{"tokens.0", tokens}}},
      {"golden.prefill.outputs", {{"logits.0", logits}}},
      {"golden.decode.inputs", {{"tokens", tokens}}},
      {"golden.decode.outputs",
       {{"top_ids", Tensor::of<std::int32_t>({1, 2}, {4, 5})}, {"top_logits", Tensor::of<float>({1, 2}, {2, 1})}}}};
  for (const auto& file : files)
    add_file(s, file.id, "golden/" + std::string(file.id) + ".npz", "golden", npz_bytes(file.members));
  for (std::size_t i = 0; i < 2; ++i) {
    d.golden[i].inputs = files[2 * i].id;
    d.golden[i].outputs = files[2 * i + 1].id;
    d.golden[i].digest.clear();
    d.golden[i].recipe.clear();
  }
}

}  // namespace calkit::lint
