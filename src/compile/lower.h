#pragma once
/// A graph as ops on storages, before anything has an address.
#include <cstdint>
#include <string>
#include <vector>

#include "calkit/calbin/oplist.h"
#include "calkit/hf/spec.h"
#include "calkit/onnx/model.h"

namespace calkit::compile {

/// Where the bytes of a storage live.
enum class Home { kWorkspace, kParam, kInput, kOutput, kCsr, kKey, kValue };

/// Bytes with one address. Several values may look at them under other shapes.
struct Storage {
  std::string name;
  Home home = Home::kWorkspace;
  std::uint64_t bytes = 0;          ///< for the largest call
  std::int64_t layer = 0;           ///< kKey and kValue
  std::size_t first = 0, last = 0;  ///< ops that write and read it last (kWorkspace)
};

struct LoweredValue {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<calbin::Extent> shape;
  std::size_t storage = 0;
};

struct LoweredOp {
  std::string type, domain, name;
  std::vector<calbin::OpAttribute> attributes;
  std::vector<std::int64_t> reads;  ///< value index; -1 is an absent optional
  std::vector<std::size_t> writes;
};

struct Lowered {
  std::vector<Storage> storages;
  std::vector<LoweredValue> values;
  std::vector<LoweredOp> ops;
  /// Constants that the lowering itself needs, in the form of initialisers.
  std::vector<onnx::Initializer> extra;
};

/// What the lowering must know beside the graph.
struct LowerOptions {
  bool decode = false;
  std::int64_t batch = 1, max_tokens = 1, context = 0;
};

/// The names that graph, package and op list share.
inline constexpr const char* kTokenName = "token_ids";
inline constexpr const char* kPositionName = "position_ids";
inline constexpr const char* kLogitsName = "logits";
inline constexpr const char* kCurrentCsr = "cur_seq_len";
inline constexpr const char* kPastCsr = "past_kv_cur_seq_len";

/// Attention with its past and present becomes calkit:CacheAttention on the KV slot; a weight behind a Transpose
/// becomes calkit:MatMulNT; reshapes become other views of the same bytes; the last token's index comes from the CSR.
/// kInput: an operator, attribute or shape that has no lowering, naming the node.
Result<Lowered> lower(const onnx::Model& model, const hf::ModelSpec& spec, const LowerOptions& options);

/// Bytes of a value for a call of `batch` rows and `tokens` tokens.
Result<std::uint64_t> value_bytes(const LoweredValue& value, std::int64_t batch, std::int64_t tokens);

}  // namespace calkit::compile
