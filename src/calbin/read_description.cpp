/// calbin.json -> Description: one reader for the strict use (parse_description) and for lint (read_description).
#include "calkit/calbin/reading.h"
#include "sections.h"

namespace calkit::calbin {

namespace {

void read_all(Reader& in, const Node& root, Description& out) {
  in.only(root, {"schema", "package", "model", "limits", "device", "partition", "files", "memory", "params",
                 "submodels", "kv", "ccu", "d2d", "quant", "provenance", "golden", "signatures", "seal"});
  if (const auto package = in.object(root, "package")) {
    in.only(*package, {"name", "version", "created", "compat"});
    out.name = in.text(*package, "name");
    out.version = in.text(*package, "version");
    out.created = in.maybe_time(*package, "created");
    out.compat = read_compat(in, *package);
  }
  out.model = read_model(in, root);
  out.limits = read_limits(in, root);
  out.device = read_device(in, root);
  out.partition = read_partition(in, root);
  in.objects(root, "files", [&](const Node& item) { out.files.push_back(read_file_entry(in, item)); });
  out.memory = read_memory(in, root);
  in.objects(root, "params", [&](const Node& item) { out.params.push_back(read_param(in, item)); });
  in.objects(root, "submodels", [&](const Node& item) { out.submodels.push_back(read_submodel(in, item)); });
  out.kv = read_kv(in, root);
  out.ccu = read_ccu(in, root);
  out.d2d = read_d2d(in, root);
  out.quant = read_quant(in, root);
  out.provenance = read_provenance(in, root);
  in.objects(root, "golden", [&](const Node& item) { out.golden.push_back(read_golden(in, item)); });
  in.objects(
      root, "signatures", [&](const Node& item) { out.signatures.push_back(read_signature(in, item)); },
      Need::kOptional);
  out.seal = in.digest(root, "seal");
}

/// The schema number comes first: a document of another schema is not read as if it were this one.
bool schema_is_ours(Reader& in, const Node& root) {
  const Node schema = Reader::member(root, "schema");
  const bool ours = schema.value != nullptr && schema.value->is_integer() && schema.value->if_int() == 1;
  if (!ours)
    in.problem(ProblemKind::kSchema, schema, schema.value == nullptr ? "nothing" : schema.value->describe(),
               "the integer 1", "this calkit reads schema 1 of calbin.json only");
  return ours;
}

void check_seal(Reader& in, const Node& root, const std::string& seal) {
  if (seal.empty()) return;  // told by the reader of the field
  const std::string want = seal_of(*root.value);
  if (seal != want)
    in.problem(ProblemKind::kSeal, Reader::member(root, "seal"), seal, want,
               "the description was changed after it was sealed; take it from its producer again", /*understood=*/true);
}

}  // namespace

Reading read_description(const Cursor& cursor) {
  Reading out;
  Reader in(out.problems);
  const std::string prefix = cursor.pointer();
  const Node root{&cursor.value(), nullptr, prefix};
  if (!cursor.value().is_object()) {
    in.problem(ProblemKind::kWrongType, root, cursor.value().describe(), "an object");
    return out;
  }
  if (!schema_is_ours(in, root)) return out;
  read_all(in, root, out.description);
  check_references(cursor.value(), out.description, out.problems);
  check_seal(in, root, out.description.seal);
  return out;
}

Result<Description> parse_description(const Cursor& root) {
  Reading reading = read_description(root);
  for (const auto& problem : reading.problems)
    if (problem.kind != ProblemKind::kDigestCase) return error_of(problem, root.file());
  return std::move(reading.description);
}

}  // namespace calkit::calbin
