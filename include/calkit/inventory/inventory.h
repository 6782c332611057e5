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
#include "calkit/inventory/formula.h"
#include "calkit/manifest/custom_operators.h"
#include "calkit/manifest/op_support.h"
#include "calkit/onnx/io.h"

namespace calkit::inventory {

/// Operators are written "domain:type"; the default domain is "ai.onnx".
using OpCounts = std::map<std::string, std::uint64_t>;

/// Where nodes stand: "main", "main/If:then_branch", "function my.domain:Block". Equal paths are counted together.
struct Level {
  std::string path;
  OpCounts op_counts;
};

/// What one call of a node costs, over the symbols of the graph. Unknown where a shape, a type or the operator is.
struct Cost {
  Formula flops;    ///< floating-point operations, and those of integer matrix products
  Formula weights;  ///< bytes read that are constant
  Formula read, written;
  Formula bytes() const { return weights + read + written; }
};

/// Whether a family runs on the device, and who says so.
struct Support {
  enum class State {
    kFolded,       ///< computed from constants alone: done before the first call
    kFunction,     ///< a call of a function of the model: its body is judged
    kNpu,          ///< the device has a kernel
    kCpu,          ///< falls back to the host
    kNeedsKernel,  ///< the matrix says that a kernel must be made
    kUnsupported,  ///< no row covers it
  };
  State state = State::kUnsupported;
  std::string kernel;  ///< the kernel it has or lacks
  std::string status, source, note;
  bool assumed = false;
  std::string reason;  ///< unsupported: what the nearest row asks for
};
std::string_view state_name(Support::State state);

/// Nodes with the same operator and the same types and shapes: "FLOAT[B, S, 256]", "?" unknown, "-" absent.
struct Family {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::uint64_t count = 0;
  std::string example;  ///< name of the first such node
  Support support;      ///< nodes that differ in it are families of their own
  Cost cost;            ///< of all nodes of the family together
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

/// Where the parameters of an operator come from: its attributes are always in the file, inputs such as axes may not
/// be.
struct Parameter {
  std::string op, name;
  bool is_input = false;
  std::map<std::string, std::uint64_t> values;  ///< of an attribute, at most 8 different ones
  std::uint64_t other_values = 0;
  std::uint64_t constant = 0, shapes = 0, fed = 0, computed = 0;  ///< of an input: nodes by where its value comes from
};

/// An operator outside ai.onnx.
struct CustomOperator {
  std::string op;
  std::uint64_t nodes = 0;
  bool function = false;              ///< the model says what it means by a function
  manifest::Description description;  ///< into Options::operators; its pointers may be null
};

/// Nodes that a fused kernel could take together, found by a simple pattern.
struct Candidate {
  std::string pattern;          ///< "RMSNorm", "RoPE", ...
  std::uint64_t fused = 0;      ///< there is one operator for it already
  std::uint64_t spelt_out = 0;  ///< made of several nodes
  std::string example;
};

/// One kernel that the device lacks, and what it would bring.
struct Kernel {
  std::string name;
  Support::State now = Support::State::kFolded;  ///< the worst of its families
  std::vector<std::string> ops;
  std::string reason;
  std::uint64_t nodes = 0;
  Formula flops, bytes;                                         ///< of the nodes whose formula is known
  std::uint64_t flops_unknown = 0, bytes_unknown = 0;           ///< nodes whose formula is not
  double node_share = 0, flop_share = 0, byte_share = 0;        ///< of all nodes that are not folded, at Inventory::at
  double nodes_so_far = 0, flops_so_far = 0, bytes_so_far = 0;  ///< supported once this and all before it are there
};

/// A stretch of nodes that repeats, and one of its repetitions as a graph.
struct Layer {
  struct Node {
    std::string op, name, output;  ///< output: its type and shape
    Support::State state = Support::State::kUnsupported;
    std::vector<std::size_t> from;     ///< nodes of the layer it reads
    std::vector<std::string> outside;  ///< what else it reads, constants left out
  };
  std::uint64_t first = 0, repeats = 0;  ///< index of the first node shown; how often the stretch stands in a row
  std::vector<Node> nodes;
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
  std::vector<Parameter> operator_parameters;
  std::vector<Candidate> candidates;
  std::vector<CustomOperator> custom_operators;
  std::map<std::string, Formula> relations;  ///< symbol -> what it must be equal to: total -> past + seq
  std::map<std::string, std::uint64_t> function_calls;
  Layer layer;

  Cost cost;  ///< of one call of the graph; bodies of If, Loop and Scan count once
  bool has_control_flow = false;
  std::map<std::string, std::uint64_t> flops_unknown, bytes_unknown;  ///< operator -> nodes that `cost` leaves out
  Formula input_bytes, output_bytes;
  Formula tokens;             ///< of one call
  std::string tokens_reason;  ///< where they are read off, or why they are not known
  Bindings at;                ///< where formulas are evaluated
  Bindings at_defaults;       ///< the part of it that nobody asked for
  std::string support_target, support_source;
  std::vector<Kernel> kernels;  ///< greedy: most FLOPs first, then bytes, then nodes

  Sum weights, constants;  ///< initialisers; tensors inside Constant and other nodes
  std::map<std::string, Sum> weights_by_type, weights_by_consumer;
  std::map<std::string, Sum> external_files;
  std::vector<Weight> largest;      ///< at most 10, largest first
  std::vector<Weight> weight_list;  ///< all of them; not part of the document

  std::string inference_note;  ///< why shape inference gave up, or empty
  std::vector<Finding> findings;
  bool passed() const;  ///< no finding is an error
};

struct Options {
  const manifest::OpSupport* support = nullptr;  ///< nullptr: the built-in matrix of the emulated device
  const std::vector<manifest::CustomOperators>* operators =
      nullptr;  ///< what custom operators mean; outlives the inventory
  Bindings at;  ///< symbols without a value get 1 if they are a first axis, else 512
  /// The mildest state that fails the verdict: kUnsupported, kNeedsKernel or kCpu. kFolded: none does.
  Support::State fail_on = Support::State::kFolded;
};
/// kInput if the file is no ONNX model; anything else that is wrong with it becomes a finding.
Result<Inventory> take_inventory(const std::filesystem::path& graph, const Options& options = {});
/// The same of a file that has been read; its name and size are left empty.
Result<Inventory> inventory_of(const onnx::Outline& outline, const Options& options = {});

/// One difference between two graphs; the absent side is empty.
struct Change {
  std::string kind;  ///< "operator", "family", "type", "weight", "symbol", "input", "output", "opset"
  std::string what, before, after;
};
std::vector<Change> diff(const Inventory& before, const Inventory& after);

Value to_value(const Inventory& inventory);
/// The calkit.onnx-inventory/1 document of several graphs; `op_counts` adds them up. Two graphs are compared too.
Value to_document(const std::vector<Inventory>& inventories);
/// calkit.onnx-inventory-diff/1
Value diff_document(const Inventory& before, const Inventory& after, const std::vector<Change>& changes);

std::string to_text(const Inventory& inventory);
std::string to_text(const std::vector<Change>& changes);
std::string to_csv(const std::vector<Inventory>& inventories);  ///< one line a family
std::string to_markdown(const std::vector<Inventory>& inventories);
std::string to_html(const std::vector<Inventory>& inventories);  ///< one file, nothing outside it

}  // namespace calkit::inventory
