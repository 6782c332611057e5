/// Where a package came from and how it is checked: provenance, golden results, signatures.
#include <fmt/format.h>

#include "sections.h"

namespace calkit::calbin {

namespace {

/// What lint tells as an incomplete provenance (CB1101), and the strict reader refuses.
void absent(Reader& in, const Node& node, std::string allowed) {
  in.problem(ProblemKind::kOrigin, node, node.value == nullptr ? "nothing" : "null", std::move(allowed),
             "have the producer record what the package was built from", /*understood=*/true);
}

/// A commit, which may be null when `notes` says why.
std::string commit(Reader& in, const Node& at, std::string_view key, const std::map<std::string, std::string>& notes) {
  const Node node = Reader::member(at, key);
  if (node.present()) return in.text(at, key);
  if (!notes.contains(std::string(key))) absent(in, node, fmt::format("a value, or the reason in notes.{}", key));
  return {};
}

/// A text that may be null when `notes` says why.
std::string explained_text(Reader& in, const Node& at, std::string_view key,
                           const std::map<std::string, std::string>& notes) {
  if (Reader::member(at, key).present()) return in.text(at, key);
  if (!notes.contains(std::string(key)))
    in.problem(ProblemKind::kMissing, Reader::member(at, key), "nothing",
               fmt::format("a value, or the reason in notes.{}", key));
  return {};
}

/// Names are free; a name that ends in _digest has a digest.
std::map<std::string, std::string> read_made_with(Reader& in, const Node& at) {
  std::map<std::string, std::string> out;
  for (const auto& member : *at.value->if_object()) {
    const std::string& name = member.first;
    out[name] = name.ends_with("_digest") ? in.digest(at, name) : in.text(at, name);
  }
  return out;
}

}  // namespace

Provenance read_provenance(Reader& in, const Node& root) {
  Provenance out;
  const auto at = in.object(root, "provenance");
  if (!at) return out;
  in.only(*at, {"compiler", "tvm", "kernel", "oplib", "container_digest", "argv", "config_digest", "env_allow",
                "input_onnx_digest", "started", "finished", "notes"});
  out.notes = in.text_map(*at, "notes", Need::kOptional);
  for (const char* key : {"compiler", "tvm", "kernel", "oplib"}) {
    const std::string text = commit(in, *at, key, out.notes);
    if (!text.empty()) out.commits[key] = text;
  }
  out.container_digest = explained_text(in, *at, "container_digest", out.notes);
  for (const char* key : {"argv", "config_digest", "input_onnx_digest"})
    if (const Node node = Reader::member(*at, key); !node.present()) absent(in, node, "a value: the field is required");
  out.argv = in.texts(*at, "argv", Need::kOptional);
  out.config_digest = in.digest(*at, "config_digest", Need::kOptional);
  out.env_allow = in.text_map(*at, "env_allow", Need::kOptional);
  if (const auto digests = in.object(*at, "input_onnx_digest", Need::kOptional))
    for (const auto& member : *digests->value->if_object())
      out.input_onnx_digest[member.first] = in.digest(*digests, member.first);
  out.started = in.maybe_time(*at, "started");
  out.finished = in.maybe_time(*at, "finished");
  return out;
}

Golden read_golden(Reader& in, const Node& at) {
  in.only(at, {"submodel", "inputs", "outputs", "digest", "recipe", "covers", "tolerance_class", "made_with"});
  Golden out;
  out.submodel = in.text(at, "submodel");
  out.inputs = in.text(at, "inputs", Need::kOptional);
  out.outputs = in.text(at, "outputs", Need::kOptional);
  out.digest = in.digest(at, "digest", Need::kOptional);
  out.tolerance_class = in.text(at, "tolerance_class", Need::kOptional);
  out.recipe = in.text(at, "recipe", Need::kOptional);
  out.covers = in.counts(at, "covers", Need::kOptional);
  if (const auto made_with = in.object(at, "made_with", Need::kOptional))
    out.made_with = read_made_with(in, *made_with);
  return out;
}

Signature read_signature(Reader& in, const Node& at) {
  in.only(at, {"file", "key_id"});
  return {in.text(at, "file"), in.text(at, "key_id", Need::kOptional)};
}

}  // namespace calkit::calbin
