#include "contract.h"

#include <fmt/format.h>

#include <utility>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/process.h"

namespace calkit::model {
namespace {

constexpr const char* kSchema = "calkit.onnx-contract/1";
constexpr const char* kFile = "contract.json";

Value shape_value(const onnx::ValueInfo& value) {
  Value out = Value::array();
  for (const onnx::Dim& dim : value.shape.value_or(std::vector<onnx::Dim>{})) {
    if (const auto* number = std::get_if<std::int64_t>(&dim.value))
      out.push(*number);
    else
      out.push(dim.text());
  }
  return out;
}

std::string meaning(const std::string& name) {
  if (name == "token_ids")
    return "ids from the tokenizer, each row left-aligned and padded on the right with any valid id";
  if (name == "position_ids") return "position of each token in its own row, from 0";
  if (name == "last_index") return "index in S of each row's last valid token";
  if (name == "logits") return "scores of the token that follows each row's last valid token";
  const bool key = name.find("_key.") != std::string::npos;
  const bool past = name.starts_with("past_");
  return fmt::format("{} of layer {}, {}", key ? "keys (after RoPE)" : "values", name.substr(name.find('.') + 1),
                     past ? "tokens before this step" : "this step's tokens included");
}

Value values(const std::vector<onnx::ValueInfo>& list) {
  Value out = Value::array();
  for (const onnx::ValueInfo& value : list)
    out.push(Value::object({{"name", value.name},
                            {"type", onnx::element_type_name(value.type)},
                            {"shape", shape_value(value)},
                            {"meaning", meaning(value.name)}}));
  return out;
}

Value file_value(const NamedDigest& file) {
  return Value::object({{"file", file.name}, {"sha256", "sha256:" + file.digest.sha256}, {"bytes", file.digest.bytes}});
}

Value graph_value(const NamedDigest& file, const onnx::Model& model) {
  Value out = file_value(file);
  out.set("nodes", model.graph.nodes.size());
  out.set("inputs", values(model.graph.inputs));
  out.set("outputs", values(model.graph.outputs));
  return out;
}

Value axes_value(const FixedAxes& fixed) {
  const auto axis = [](const char* text, const std::optional<std::int64_t>& number) {
    Value out = Value::object({{"meaning", text}, {"varies", !number}});
    if (number) out.set("value", *number);
    return out;
  };
  std::optional<std::int64_t> present;
  if (fixed.past) present = *fixed.past + 1;
  return Value::object({{"B", axis("sequences in the batch, 1 or more", fixed.batch)},
                        {"S", axis("tokens of the longest row of a prefill, 1 or more", fixed.tokens)},
                        {"P", axis("tokens already in the cache, equal for all rows of a decode step", fixed.past)},
                        {"P+1", axis("P and the new token", present)}});
}

Value axis_value(const std::optional<std::int64_t>& fixed, const char* symbol) {
  return fixed ? Value(*fixed) : Value(symbol);
}

Value weights_value(const NamedDigest& file) {
  if (!file.digest.sha256.empty()) return file_value(file);
  return Value::object({{"file", file.name},
                        {"sha256", Value()},
                        {"bytes", file.digest.bytes},
                        {"reason", "exported from the config alone, without weights"}});
}

Result<std::string> digest(const Cursor& at) {
  CALKIT_TRY(const std::string text, at.string("sha256"));
  if (text.size() != 71 || !text.starts_with("sha256:") ||
      text.find_first_not_of("0123456789abcdef", 7) != std::string::npos)
    return at.error(text, "sha256: and 64 lower-case hex digits");
  return text.substr(7);
}

Status file_entry(const Cursor& at, std::string& file, std::string& sha256) {
  CALKIT_TRY(file, at.string("file"));
  if (const std::string reason = unsafe_path_reason(file); !reason.empty())
    return at.error(file, "a relative path inside the folder (" + reason + ")");
  CALKIT_TRY(sha256, digest(at));
  return {};
}

Result<Contract> parse_contract(const Cursor& root) {
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_CHECK_OK([&]() -> Status {
    CALKIT_TRY(const std::string word, schema.as_word({kSchema}));
    return {};
  }());
  CALKIT_CHECK_OK(root.only({"schema", "dtype", "opset", "axes", "prefill", "decode", "weights", "logits", "kv", "spec",
                             "config", "inputs", "env"}));
  Contract out;
  out.path = root.file();
  CALKIT_TRY(const Cursor axes, root.at("axes"));
  CALKIT_TRY(const auto known_axes, axes.members());
  for (const auto& [axis, at] : known_axes) {
    CALKIT_TRY(const bool varies, at.boolean("varies"));
    out.fixed_axes = out.fixed_axes || !varies;
  }
  CALKIT_TRY(const Cursor dtype, root.at("dtype"));
  CALKIT_TRY(const std::string dtype_text, dtype.as_word({"f32", "bf16"}));
  out.dtype = *dtype_from_name(dtype_text);
  CALKIT_TRY(const Cursor config, root.at("config"));
  CALKIT_TRY(out.spec, hf::parse_spec(config));
  CALKIT_TRY(const Cursor spec, root.at("spec"));
  if (!(spec.value() == hf::to_value(out.spec)))
    return spec.error("a record that differs from /config", "what calkit reads from /config",
                      "the contract was edited; export the model again");
  CALKIT_TRY(const Cursor prefill, root.at("prefill"));
  CALKIT_CHECK_OK(file_entry(prefill, out.prefill_file, out.prefill_sha256));
  CALKIT_TRY(const Cursor decode, root.at("decode"));
  CALKIT_CHECK_OK(file_entry(decode, out.decode_file, out.decode_sha256));
  CALKIT_TRY(const Cursor weights, root.at("weights"));
  if (const Value* sha256 = weights.value().find("sha256"); sha256 != nullptr && sha256->is_null())
    return weights.error("graphs without weights", "graphs with theirs", "export again from the checkpoint");
  CALKIT_CHECK_OK(file_entry(weights, out.weights_file, out.weights_sha256));
  CALKIT_TRY(const Cursor inputs, root.at("inputs"));
  CALKIT_TRY(const auto items, inputs.items());
  for (const Cursor& item : items) {
    CALKIT_TRY(const std::string file, item.string("file"));
    if (file != "config.json") continue;
    CALKIT_TRY(out.config_sha256, digest(item));
  }
  if (out.config_sha256.empty()) return inputs.error("no config.json", "an entry for config.json");
  return out;
}

}  // namespace

Value contract_value(const ContractParts& parts) {
  const hf::ModelSpec& spec = parts.spec;
  const std::string dtype(dtype_name(parts.dtype));
  Value inputs = Value::array();
  for (const NamedDigest& input : parts.inputs) inputs.push(file_value(input));
  return Value::object(
      {{"schema", kSchema},
       {"dtype", dtype},
       {"opset", parts.prefill.opsets.at("")},
       {"axes", axes_value(parts.fixed)},
       {"prefill", graph_value(parts.prefill_file, parts.prefill)},
       {"decode", graph_value(parts.decode_file, parts.decode)},
       {"weights", weights_value(parts.weights_file)},
       {"logits", Value::object({{"of", "each row's last valid token"},
                                 {"shape", Value::array({axis_value(parts.fixed.batch, "B"), spec.vocab})},
                                 {"dtype", dtype},
                                 {"softmax", false}})},
       {"kv", Value::object({{"layers", spec.layers},
                             {"shape", Value::array({axis_value(parts.fixed.batch, "B"), spec.kv_heads, "tokens",
                                                     spec.head_dim})},
                             {"dtype", dtype},
                             {"bytes_per_token", hf::kv_bytes_per_token(spec, parts.dtype)}})},
       {"spec", hf::to_value(spec)},
       {"config", parts.config},
       {"inputs", std::move(inputs)},
       {"env", Value::object({{"calkit", calkit_version()}})}});
}

Result<Contract> read_contract(const std::filesystem::path& onnx_dir) {
  CALKIT_TRY(const Value document, read_json(onnx_dir / kFile), "reading the exported graphs' contract");
  return parse_contract(Cursor(document, (onnx_dir / kFile).string()));
}

Status check_contract_files(const std::filesystem::path& onnx_dir, const Contract& contract) {
  const std::pair<const std::string&, const std::string&> files[] = {{contract.prefill_file, contract.prefill_sha256},
                                                                     {contract.decode_file, contract.decode_sha256},
                                                                     {contract.weights_file, contract.weights_sha256}};
  CALKIT_TRY(const Root root, Root::open(onnx_dir));
  for (const auto& [file, sha256] : files) {
    CALKIT_TRY(const FileDigest found, hash_file(root, file));
    if (found.sha256 != sha256)
      return input_error((onnx_dir / file).string(), "sha256", found.sha256, sha256 + " (contract.json)",
                         "the file is not the one that was exported; export the model again");
  }
  return {};
}

}  // namespace calkit::model
