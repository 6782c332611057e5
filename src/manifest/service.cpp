#include "calkit/manifest/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "calkit/base/text.h"

namespace calkit::manifest {
namespace {

constexpr std::int64_t kMaxContext = INT32_MAX;  // positions are int32 on the way to the device
constexpr std::int64_t kMaxBatch = UINT16_MAX;
constexpr std::int64_t kMaxVocab = INT32_MAX;
constexpr std::uint64_t kMaxIndex = UINT16_MAX;

Result<std::string> text_field(const Cursor& at, std::string_view key) {
  CALKIT_TRY(const Cursor field, at.at(key));
  CALKIT_TRY(std::string text, field.as_string());
  if (text.empty()) return field.error("an empty string", "a name");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control))
    return field.error(fmt::format("'{}'", printable(text)), "a name without control characters");
  return text;
}

bool is_name(std::string_view text) {
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
         });
}

/// "inputs[0]": a name and a plain decimal index.
std::optional<Binding> parse_binding(const std::string& text) {
  const std::size_t bracket = text.find('[');
  if (bracket == std::string::npos || text.back() != ']') return std::nullopt;
  const std::string name = text.substr(0, bracket);
  const std::string digits = text.substr(bracket + 1, text.size() - bracket - 2);
  const auto index = parse_decimal_u64(digits);
  if (!is_name(name) || !index || *index > kMaxIndex || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  return Binding{name, static_cast<std::uint32_t>(*index), text};
}

/// @param group the only name allowed ("inputs"), or empty for any.
Result<Binding> read_binding(const Cursor& at, std::string_view key, std::string_view group) {
  CALKIT_TRY(const Cursor field, at.at(key));
  CALKIT_TRY(const std::string text, field.as_string());
  const auto binding = parse_binding(text);
  if (binding && (group.empty() || binding->name == group)) return *binding;
  return field.error(field.value().describe(), group.empty()
                                                   ? std::string("NAME[INDEX], for example \"cur_seq_len[0]\"")
                                                   : fmt::format("{}[INDEX], for example \"{}[0]\"", group, group));
}

Status read_names(const Cursor& root, ServiceManifest& out) {
  CALKIT_TRY(out.architecture, text_field(root, "architecture"));
  CALKIT_TRY(out.calbin_version, text_field(root, "calbin_version"));
  CALKIT_TRY(out.runtime_abi, text_field(root, "runtime_abi"));
  if (root.value().find("target") != nullptr) {
    CALKIT_TRY(out.target, text_field(root, "target"));
  }
  CALKIT_TRY(const Cursor models, root.at("models"));
  CALKIT_CHECK_OK(models.only({"prefill", "decode"}));
  CALKIT_TRY(out.prefill_model, text_field(models, "prefill"));
  CALKIT_TRY(out.decode_model, text_field(models, "decode"));
  if (out.prefill_model == out.decode_model)
    return models.error("one name for both models", "a prefill and a decode model of different names");
  return {};
}

Status read_bindings(const Cursor& root, ServiceManifest& out) {
  CALKIT_TRY(const Cursor tensors, root.at("tensors"));
  CALKIT_CHECK_OK(tensors.only({"token", "position", "logits"}));
  CALKIT_TRY(out.token, read_binding(tensors, "token", "inputs"));
  CALKIT_TRY(out.position, read_binding(tensors, "position", "inputs"));
  CALKIT_TRY(out.logits, read_binding(tensors, "logits", "outputs"));
  if (out.token.index == out.position.index)
    return tensors.error(out.token.text + " for token and position", "two different inputs");
  CALKIT_TRY(const Cursor csr, root.at("csr"));
  CALKIT_CHECK_OK(csr.only({"current", "past_current"}));
  CALKIT_TRY(out.csr_current, read_binding(csr, "current", {}));
  CALKIT_TRY(out.csr_past_current, read_binding(csr, "past_current", {}));
  if (out.csr_current.text == out.csr_past_current.text)
    return csr.error(out.csr_current.text + " for current and past_current", "two different registers");
  return {};
}

/// A JSON string is a YAML string in double quotes.
std::string yaml_text(std::string_view text) {
  return to_json(Value(text));
}

}  // namespace

Result<ServiceManifest> read_service(const std::filesystem::path& path) {
  CALKIT_TRY(const Value document, read_yaml(path), "reading the service manifest");
  const Cursor root(document, path.string());
  CALKIT_CHECK_OK(root.only({"schema", "architecture", "calbin_version", "runtime_abi", "target", "context", "batch",
                             "vocab", "models", "tensors", "csr"}));
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  if (schema.value() != Value(1))
    return schema.error(schema.value().describe(), "1", "this calkit reads schema 1 of the service manifest");
  ServiceManifest out;
  CALKIT_CHECK_OK(read_names(root, out));
  CALKIT_TRY(out.context, root.integer("context", 1, kMaxContext));
  CALKIT_TRY(out.batch, root.integer("batch", 1, kMaxBatch));
  CALKIT_TRY(out.vocab, root.integer("vocab", 1, kMaxVocab));
  CALKIT_CHECK_OK(read_bindings(root, out));
  return out;
}

std::string to_yaml(const ServiceManifest& manifest) {
  return fmt::format(
      "schema: 1\narchitecture: {}\ncalbin_version: {}\nruntime_abi: {}\n{}context: {}\nbatch: {}\nvocab: {}\n"
      "models: {{prefill: {}, decode: {}}}\ntensors: {{token: {}, position: {}, logits: {}}}\n"
      "csr: {{current: {}, past_current: {}}}\n",
      yaml_text(manifest.architecture), yaml_text(manifest.calbin_version), yaml_text(manifest.runtime_abi),
      manifest.target.empty() ? "" : "target: " + yaml_text(manifest.target) + "\n", manifest.context, manifest.batch,
      manifest.vocab, yaml_text(manifest.prefill_model), yaml_text(manifest.decode_model),
      yaml_text(manifest.token.text), yaml_text(manifest.position.text), yaml_text(manifest.logits.text),
      yaml_text(manifest.csr_current.text), yaml_text(manifest.csr_past_current.text));
}

}  // namespace calkit::manifest
