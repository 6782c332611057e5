#include "calkit/manifest/targets.h"

namespace calkit::manifest {
namespace {

// Positions are int32 on the way to the device, and a step's sequences are numbered in 16 bits.
constexpr std::int64_t kMaxContext = INT32_MAX;
constexpr std::int64_t kMaxBatch = UINT16_MAX;
constexpr std::string_view kProjectSchema = "calkit.project/1";

Result<std::string> kv_dtype_of(const Cursor& at) {
  return at.as_word({"bf16", "f32"});
}

}  // namespace

Value to_value(const ProductTargets& targets) {
  return Value::object({{"context", targets.context},
                        {"batch", targets.batch},
                        {"kv_dtype", targets.kv_dtype},
                        {"source", targets.source}});
}

Result<ProductTargets> parse_targets(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"context", "batch", "kv_dtype", "source"}));
  ProductTargets targets;
  CALKIT_TRY(targets.context, at.integer("context", 1, kMaxContext));
  CALKIT_TRY(targets.batch, at.integer("batch", 1, kMaxBatch));
  CALKIT_TRY(const Cursor kv, at.at("kv_dtype"));
  CALKIT_TRY(targets.kv_dtype, kv_dtype_of(kv));
  CALKIT_TRY(targets.source, at.string("source"));
  return targets;
}

Result<ProductTargets> read_project(const std::filesystem::path& path) {
  CALKIT_TRY(const Value document, read_yaml(path), "reading the project file");
  const Cursor root(document, path.string());
  CALKIT_CHECK_OK(root.only({"schema", "targets"}));
  CALKIT_TRY(const Cursor schema, root.at("schema"));
  CALKIT_TRY(const std::string word, schema.as_word({kProjectSchema}));
  static_cast<void>(word);
  CALKIT_TRY(const Cursor given, root.at("targets"));
  CALKIT_CHECK_OK(given.only({"context", "batch", "kv_dtype"}));
  ProductTargets targets;
  targets.source = path.filename().string();
  if (const auto context = given.find("context")) {
    CALKIT_TRY(targets.context, context->as_int(1, kMaxContext));
  }
  if (const auto batch = given.find("batch")) {
    CALKIT_TRY(targets.batch, batch->as_int(1, kMaxBatch));
  }
  if (const auto kv = given.find("kv_dtype")) {
    CALKIT_TRY(targets.kv_dtype, kv_dtype_of(*kv));
  }
  return targets;
}

}  // namespace calkit::manifest
