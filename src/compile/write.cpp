#include "write.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/checked.h"
#include "calkit/base/hash.h"
#include "calkit/base/process.h"
#include "calkit/tensor/npz.h"

namespace calkit::compile {
namespace {

constexpr std::size_t kPiece = 8u << 20, kGoldenPrompts = 4, kGoldenSteps = 8;

/// A digest that is fed while the file is written, so that no byte is read back.
class HashedFile {
 public:
  static Result<HashedFile> create(const std::filesystem::path& path) {
    CALKIT_TRY(StagedFile file, StagedFile::create(path));
    return HashedFile(std::move(file));
  }
  Status write(std::span<const std::byte> bytes) {
    hash_.update(bytes);
    return file_.write(bytes);
  }
  Status pad_to(std::uint64_t offset) {
    const std::vector<std::byte> zeros(offset - file_.size());
    return write(zeros);
  }
  Result<calbin::PackageFile> finish(calbin::PackageFile entry) {
    entry.size = file_.size();
    entry.digest = "sha256:" + hash_.hex();
    CALKIT_CHECK_OK(file_.commit());
    return entry;
  }

 private:
  explicit HashedFile(StagedFile file) : file_(std::move(file)) {}
  StagedFile file_;
  Sha256 hash_;
};

calbin::PackageFile entry_of(const std::string& id, const std::string& path, const std::string& role,
                             std::uint64_t chips) {
  calbin::PackageFile entry;
  entry.id = id;
  entry.path = path;
  entry.role = role;
  entry.chips = chips;
  return entry;
}

/// External weights are read through our own mapping, whose pages can be let go; small constants lie in the model file.
std::span<const std::byte> bytes_of(const Inputs& inputs, const onnx::Initializer& initializer) {
  const bool external = initializer.location == inputs.weights_file &&
                        initializer.length == initializer.data->bytes() &&
                        range_inside(initializer.offset, initializer.length, inputs.weights->size());
  if (external) return inputs.weights->bytes().subspan(initializer.offset, initializer.length);
  return {initializer.data->raw(), initializer.data->bytes()};
}

calbin::Operand operand_of(const PlacedGraph& graph, const LoweredValue& value) {
  const Storage& storage = graph.lowered.storages[value.storage];
  calbin::Operand operand;
  operand.name = value.name;
  operand.region = graph.region[value.storage];
  operand.base = graph.address[value.storage];
  operand.size = storage.bytes;
  operand.dtype = value.dtype;
  operand.shape = value.shape;
  if (storage.home == Home::kCsr) operand.csr = storage.name;
  return operand;
}

Tensor ints(const std::vector<std::int32_t>& values) {
  return Tensor::of<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
}

Result<calbin::PackageFile> write_golden_file(const std::filesystem::path& dir, const std::string& id,
                                              const std::string& name,
                                              const std::vector<std::pair<std::string, Tensor>>& members) {
  calbin::PackageFile entry = entry_of(id, "golden/" + name, "golden", 0);
  CALKIT_CHECK_OK(write_npz(dir / entry.path, members), "writing " + entry.path);
  CALKIT_TRY(const FileDigest digest, hash_file(dir / entry.path));
  entry.size = digest.bytes;
  entry.digest = "sha256:" + digest.sha256;
  return entry;
}

using Members = std::vector<std::pair<std::string, Tensor>>;

Status add_golden(Goldens& out, const std::filesystem::path& dir, const Inputs& inputs, const std::string& phase,
                  const std::string& submodel, const Members& in, const Members& expected) {
  const std::string id = "golden." + phase;
  CALKIT_TRY(calbin::PackageFile in_file, write_golden_file(dir, id + ".inputs", phase + "_inputs.npz", in));
  CALKIT_TRY(calbin::PackageFile out_file, write_golden_file(dir, id + ".outputs", phase + "_outputs.npz", expected));
  calbin::Golden golden;
  golden.submodel = submodel;
  golden.inputs = in_file.id;
  golden.outputs = out_file.id;
  golden.digest = out_file.digest;
  golden.tolerance_class = inputs.dtype == DType::kF32 ? "fp32" : "bf16";
  golden.made_with = {{"model_digest", "sha256:" + inputs.source.model_sha256},
                      {"reference_dtype", inputs.reference.dtype},
                      {"tokenizer_digest", "sha256:" + inputs.source.tokenizer_sha256},
                      {"tool", "calkit freeze-baseline"}};
  golden.recipe = "SHA-256 of the file named in outputs";
  std::set<std::int64_t> lengths;
  for (const auto& [name, tensor] : in) lengths.insert(static_cast<std::int64_t>(tensor.elements()));
  golden.covers.assign(lengths.begin(), lengths.end());
  out.files.push_back(std::move(in_file));
  out.files.push_back(std::move(out_file));
  out.entries.push_back(std::move(golden));
  return {};
}

Status add_decode_golden(Goldens& out, const std::filesystem::path& dir, const Inputs& inputs, std::int64_t context,
                         const std::string& submodel) {
  for (const frozen::ReferenceItem& item : inputs.reference.items) {
    // Step 0 belongs to the prefill; step i follows the token that step i-1 chose.
    const std::size_t steps = item.greedy.empty() ? 0 : std::min(item.greedy.size() - 1, kGoldenSteps);
    if (item.ids.empty() || steps == 0 || static_cast<std::int64_t>(item.ids.size() + steps) > context) continue;
    const std::size_t k = item.greedy[1].top_ids.size();
    std::vector<std::int32_t> tokens = item.ids, top_ids;
    std::vector<float> top_logits;
    bool even = k > 0;
    for (std::size_t i = 1; i <= steps; ++i) {
      tokens.push_back(item.greedy[i - 1].token);
      even = even && item.greedy[i].top_ids.size() == k && item.greedy[i].top_logits.size() == k;
      top_ids.insert(top_ids.end(), item.greedy[i].top_ids.begin(), item.greedy[i].top_ids.end());
      top_logits.insert(top_logits.end(), item.greedy[i].top_logits.begin(), item.greedy[i].top_logits.end());
    }
    if (!even) continue;
    const Shape shape = {static_cast<std::int64_t>(steps), static_cast<std::int64_t>(k)};
    return add_golden(
        out, dir, inputs, "decode", submodel, {{"tokens", ints(tokens)}},
        {{"top_ids", Tensor::of<std::int32_t>(shape, top_ids)}, {"top_logits", Tensor::of<float>(shape, top_logits)}});
  }
  return {};
}

}  // namespace

Result<calbin::PackageFile> write_params(const std::filesystem::path& dir, const Inputs& inputs,
                                         const ParamBlock& block) {
  const calbin::PackageFile entry = entry_of("param_blk0", "param_blk0.bin", "param", 1);
  CALKIT_TRY(HashedFile file, HashedFile::create(dir / entry.path));
  for (const BlockEntry& param : block.entries) {
    CALKIT_CHECK_OK(file.pad_to(param.offset), "writing " + entry.path);
    const std::span<const std::byte> bytes = bytes_of(inputs, *param.initializer);
    for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
      if (interrupted()) return interrupted_error();
      CALKIT_CHECK_OK(file.write(bytes.subspan(at, std::min(kPiece, bytes.size() - at))), "writing " + entry.path);
    }
    inputs.weights->release(param.initializer->offset, param.initializer->length);
  }
  return file.finish(entry);
}

Result<calbin::PackageFile> write_oplist(const std::filesystem::path& dir, const PlacedGraph& graph,
                                         const std::string& submodel) {
  calbin::OpList list;
  list.submodel = submodel;
  for (const LoweredOp& lowered : graph.lowered.ops) {
    calbin::Op op;
    op.id = static_cast<std::int64_t>(list.ops.size());
    op.type = lowered.type;
    op.domain = lowered.domain;
    op.name = lowered.name;
    op.attributes = lowered.attributes;
    for (const std::int64_t read : lowered.reads) {
      calbin::Operand absent;
      absent.absent = true;
      op.reads.push_back(read < 0 ? absent : operand_of(graph, graph.lowered.values[static_cast<std::size_t>(read)]));
    }
    for (const std::size_t write : lowered.writes) op.writes.push_back(operand_of(graph, graph.lowered.values[write]));
    list.ops.push_back(std::move(op));
  }
  const std::string text = to_json(calbin::to_value(list)) + "\n";
  const calbin::PackageFile entry =
      entry_of("oplist." + graph.phase + ".chip0", "oplist/" + graph.phase + ".chip0.json", "oplist", 1);
  CALKIT_TRY(HashedFile file, HashedFile::create(dir / entry.path));
  CALKIT_CHECK_OK(file.write(std::as_bytes(std::span(text))), "writing " + entry.path);
  return file.finish(entry);
}

Result<Goldens> write_goldens(const std::filesystem::path& dir, const Inputs& inputs, std::int64_t context,
                              const std::string& prefill_model, const std::string& decode_model) {
  Goldens out;
  Members tokens, logits;
  for (const frozen::ReferenceItem& item : inputs.reference.items) {
    if (tokens.size() == kGoldenPrompts) break;
    if (item.ids.empty() || item.logits.empty() || static_cast<std::int64_t>(item.ids.size()) > context) continue;
    tokens.emplace_back(fmt::format("tokens.{}", tokens.size()), ints(item.ids));
    logits.emplace_back(fmt::format("logits.{}", logits.size()),
                        Tensor::of<float>({static_cast<std::int64_t>(item.logits.size())}, item.logits));
  }
  if (tokens.empty())
    return input_error("baseline reference", "prompts", "none with tokens and logits within the context",
                       "at least one", "freeze the baseline with prompts that fit the context");
  CALKIT_CHECK_OK(add_golden(out, dir, inputs, "prefill", prefill_model, tokens, logits));
  CALKIT_CHECK_OK(add_decode_golden(out, dir, inputs, context, decode_model));
  return out;
}

}  // namespace calkit::compile
