#pragma once
/// Which operators a device runs: manifests/support/ops-*.yaml, schema calkit.op-support/1
/// (docs/formats/op-support.md).
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/result.h"
#include "calkit/base/value.h"

namespace calkit::manifest {

/// What a row asks of one input, output or attribute. All that is stated must hold; what is not known does not hold.
struct OpCondition {
  enum class Of { kInput, kOutput, kAttribute };
  Of of = Of::kInput;
  std::size_t index = 0;  ///< of an input or output
  std::string attribute;
  std::optional<bool> present, constant;
  std::vector<std::string> types;  ///< empty: any
  std::optional<std::int64_t> min_rank, max_rank;
  std::optional<std::int64_t> axis;  ///< negative counts from the end; the next four are about it
  bool is_static = false;            ///< without an axis: all extents are numbers
  std::optional<std::int64_t> multiple_of, min, max;
  std::vector<Value> one_of;  ///< an attribute's value, or an extent
  bool or_absent = false;     ///< an absent attribute will do too
};

struct OpRow {
  enum class Run { kNpu, kCpu, kNeedsKernel };
  std::vector<std::string> ops;    ///< "ai.onnx:MatMul"
  std::vector<std::string> types;  ///< each input and output has one of them; empty: any
  std::optional<std::int64_t> min_opset, max_opset;
  std::vector<OpCondition> where;
  Run run = Run::kCpu;
  std::string kernel;        ///< the one it has or needs; may be empty
  std::string status;        ///< C0 to C4
  std::string source, note;  ///< who says so; never empty
  bool assumed = false;      ///< nobody who builds the device has stated it
};

struct OpSupport {
  std::string file;                    ///< for messages
  std::string target, device_version;  ///< whose matrix this is, and of which release
  std::int64_t revision = 0;           ///< of the file
  std::vector<OpRow> rows;             ///< read from the top: the first that fits decides
};
/// kInput: schema, unknown keys, unknown element types, conditions that can never hold, an empty source.
Result<OpSupport> read_op_support(const std::filesystem::path& path);
/// "emulated" or "calculet-assumed": the matrices built into the library. kUsage for another name.
Result<const OpSupport*> built_in_op_support(std::string_view name);

}  // namespace calkit::manifest
