#pragma once
/// What is in an ONNX file: operators, shapes, types, who feeds whom, and where the bytes are. Works on any ONNX file,
/// reads no weights and runs nothing. The document is calkit.onnx-inventory/1, see docs/formats/inventory.md.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calkit/base/value.h"
#include "calkit/onnx/model.h"

namespace calkit::inventory {

/// Operators are written "domain:type"; the default domain is "ai.onnx".
using OpCounts = std::map<std::string, std::uint64_t>;

/// Where nodes stand: "main", "main/If:then_branch", "function my.domain:Block". Equal paths are counted together.
struct Level {
  std::string path;
  OpCounts op_counts;
};

/// Nodes with the same operator and the same types and shapes: "FLOAT[B, S, 256]", "?" unknown, "-" absent.
struct Family {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::uint64_t count = 0;
  std::string example;  ///< name of the first such node
};

struct Sum {
  std::uint64_t count = 0, bytes = 0;
};

struct Weight {
  std::string name, type, level;
  std::vector<std::int64_t> dims;
  std::uint64_t bytes = 0;
  std::string location;  ///< external file; empty: inside
};

struct Finding {
  enum class Severity { kError, kNote };  ///< an error makes the verdict fail
  Severity severity = Severity::kNote;
  std::string text;
};

struct Inventory {
  std::string file;
  std::uint64_t file_bytes = 0;
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;  ///< "ai.onnx" -> 23
  std::string producer;
  std::vector<std::string> functions;  ///< "domain:name"

  std::uint64_t nodes = 0;  ///< of all levels, as are all figures below
  OpCounts op_counts;
  std::vector<Level> levels;     ///< in order of first appearance, main first
  std::vector<Family> families;  ///< by operator, then by count, most first

  std::vector<onnx::ValueInfo> inputs;  ///< what a caller must feed: initialisers listed as inputs are left out
  std::vector<onnx::ValueInfo> outputs;
  std::vector<std::string> parameters;   ///< initialisers that are listed as inputs
  std::vector<std::string> overridable;  ///< those a caller may replace (IR 4 and later): none of them can be folded
  std::map<std::string, std::vector<std::string>> symbols;  ///< axis symbol -> "ids[0]", of inputs and outputs

  std::map<std::string, std::uint64_t> value_types;  ///< element type, or "?" -> values
  std::uint64_t values = 0, values_without_shape = 0, values_unused = 0;
  std::map<std::uint64_t, std::uint64_t> consumers;                    ///< consumers -> values with as many
  std::map<std::pair<std::string, std::string>, std::uint64_t> edges;  ///< producing op -> consuming op; also
                                                                       ///< "(input)", "(initializer)", "(output)"
  Sum weights, constants;  ///< initialisers; tensors inside Constant and other nodes
  std::map<std::string, Sum> weights_by_type, weights_by_consumer;
  std::map<std::string, Sum> external_files;
  std::vector<Weight> largest;  ///< at most 10, largest first

  std::string inference_note;  ///< why shape inference gave up, or empty
  std::vector<Finding> findings;
  bool passed() const;  ///< no finding is an error
};

/// kInput if the file is no ONNX model; anything else that is wrong with it becomes a finding.
Result<Inventory> take_inventory(const std::filesystem::path& graph);

Value to_value(const Inventory& inventory);
/// The calkit.onnx-inventory/1 document of several graphs; `op_counts` adds them up.
Value to_document(const std::vector<Inventory>& inventories);
std::string to_text(const Inventory& inventory);

}  // namespace calkit::inventory
