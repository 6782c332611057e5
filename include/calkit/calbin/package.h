#pragma once
/// The canonical description of a compiled package, calbin.json (schema 1), as plain structs; docs/formats/calbin.md
/// has the table. Addresses and masks are "0x..." strings on disk and uint64 here; sizes are bytes; digests
/// "sha256:<hex>".
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/base/tree.h"
#include "calkit/tensor/tensor.h"

namespace calkit::calbin {

struct Compat {
  std::string runtime_abi, driver, firmware, device;  ///< exact versions or range texts; "any"
  bool operator==(const Compat&) const = default;
};
struct ModelFacts {
  std::string family;  ///< "qwen3"
  std::optional<std::string> hf_repo, hf_revision;
  std::string config_digest, tokenizer_digest, chat_template_digest;
  std::int64_t layers = 0, hidden = 0, q_heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocab = 0, trained_context = 0;
  std::optional<std::int64_t> experts, experts_per_token;
  double rope_theta = 0;
  bool operator==(const ModelFacts&) const = default;
};
struct Limits {
  std::int64_t context = 0, max_batch = 0, max_prefill_tokens = 0, slots = 0;
  bool operator==(const Limits&) const = default;
};
struct Chip {
  std::int64_t id = 0;
  std::uint64_t dram_usable = 0;
  std::optional<std::uint64_t> sram, link_bw;
  bool operator==(const Chip&) const = default;
};
struct DeviceFacts {
  std::string profile;
  std::int64_t chips = 0;
  std::uint64_t chip_mask = 0;
  std::optional<std::int64_t> calcores_per_chip;
  std::vector<Chip> chip;
  bool operator==(const DeviceFacts&) const = default;
};
struct Partition {
  std::string kind;  ///< single, tp, ep, pp, mixed
  std::int64_t degree = 1;
  std::vector<std::string> axes;
  bool operator==(const Partition&) const = default;
};
struct PackageFile {
  std::string id, path, role;  ///< role: param, command-bin, command-text, ccu-elf, d2d-helper, profile, oplist, iomap,
                               ///< golden, onnx, log, license
  std::uint64_t size = 0;
  std::string digest;
  std::uint64_t chips = 0;  ///< mask; 0: not tied to a chip
  bool optional = false;
  bool operator==(const PackageFile&) const = default;
};
struct Region {
  std::string id;
  std::int64_t chip = 0;
  std::string space = "dram";  ///< dram, sram
  std::string kind;            ///< param, kv, workspace, io, command, ccu, guard, global
  std::uint64_t base = 0, size = 0, align = 1;
  std::string parent;  ///< region id, or empty
  std::vector<std::string> shared_with;
  bool operator==(const Region&) const = default;
};
struct Memory {
  std::uint64_t device_required = 0;  ///< bytes
  std::string declared_text;          ///< the producer's own text, with unit; may be empty
  std::vector<Region> regions;
  bool operator==(const Memory&) const = default;
};
struct Shard {
  std::int64_t axis = 0, index = 0, count = 1;
  bool replicated = false;
  bool operator==(const Shard&) const = default;
};
struct Param {
  std::string name, file, region;  ///< file and region by id
  std::uint64_t offset = 0, length = 0, base = 0;
  std::int64_t chip = 0;
  DType dtype = DType::kF32;
  Shape shape, logical_shape;
  std::optional<Shard> shard;
  std::string quant_ref, tied_to;  ///< empty: none
  bool operator==(const Param&) const = default;
};
/// False when the blocks of this shape cannot make up logical_shape. Blocks of a quantised tensor may be packed, and
/// are not judged.
bool holds_logical_shape(const Param& param);
/// How a tensor lies in memory. `tile` {} is plain row-major; {16} or {32} pads axis -2 to a multiple of it (the tile
/// size D0), the rows beyond logical_shape being undefined.
struct Layout {
  std::string order = "row-major";
  std::vector<std::int64_t> tile;
  Shape logical_shape;
  std::vector<std::uint64_t> strides_bytes;
  bool operator==(const Layout&) const = default;
};
struct PingPong {
  std::uint64_t ping_base = 0, pong_base = 0;
  std::int64_t inflight = 1;
  bool operator==(const PingPong&) const = default;
};
struct IoTensor {
  std::int64_t index = 0;
  std::string name, role,
      region;  ///< role: token, position, mask, logits, past_k, past_v, present_k, present_v, hidden
  DType dtype = DType::kF32;
  Shape shape;  ///< physical, for the largest S
  Layout layout;
  std::int64_t chip = 0;
  std::uint64_t base = 0, size = 0;
  std::string alias_of;  ///< name of the tensor whose exact range this shares
  std::optional<PingPong> pingpong;
  bool operator==(const IoTensor&) const = default;
};
struct Csr {
  std::string name, role;  ///< role: cur_seq_len, past_kv_cur_seq_len, ...
  std::uint64_t base = 0;
  std::int64_t width_bits = 32, count = 1;
  bool is_signed = false;
  bool operator==(const Csr&) const = default;
};
/// Tokens per call: exactly `max` when fixed, else min..max in steps.
struct TokenRange {
  std::int64_t min = 1, max = 1, step = 1;
  bool operator==(const TokenRange&) const = default;
};
struct Command {
  std::string kind, bin, text;
  std::int64_t chip = 0, record_size = 0, records = 0;
  bool operator==(const Command&) const = default;
};
struct Submodel {
  std::string name, type;  ///< type: prefill, decode, kv_update (as found in the file; lint judges it)
  std::int64_t batch = 1, context = 0;
  TokenRange tokens;
  std::uint64_t chips = 1;  ///< mask
  std::vector<std::string> files;
  std::vector<IoTensor> inputs, outputs;
  std::vector<Csr> csr;
  std::string workspace_region;
  std::uint64_t workspace_peak = 0;
  std::map<std::int64_t, std::string> oplist, iomap;  ///< chip -> file id
  std::vector<Command> commands;
  bool operator==(const Submodel&) const = default;
};
struct Kv {
  DType k_dtype = DType::kF32, v_dtype = DType::kF32;
  std::string scale_dtype;  ///< empty: none
  std::string layout;       ///< "slot,layer,k|v,head,position,dim"
  std::uint64_t bytes_total = 0;
  std::vector<std::uint64_t> bytes_per_chip;
  std::vector<std::string> regions;
  bool operator==(const Kv&) const = default;
};
struct Provenance {
  std::map<std::string, std::string> commits;  ///< compiler, tvm, kernel, oplib -> commit
  std::string container_digest;                ///< empty with a reason in `notes`
  std::vector<std::string> argv;
  std::string config_digest;
  std::map<std::string, std::string> env_allow;
  std::map<std::string, std::string> input_onnx_digest;  ///< prefill, decode -> digest
  std::optional<std::string> started, finished;
  std::map<std::string, std::string> notes;  ///< field -> why it is empty
  bool operator==(const Provenance&) const = default;
};
/// What a submodel must answer: in files, or as a digest with the recipe of what is hashed.
struct Golden {
  std::string submodel, inputs, outputs, digest, tolerance_class;  ///< inputs/outputs: file ids
  std::map<std::string, std::string> made_with;  ///< model_digest, calbin_digest, tokenizer_digest, tool, ...
  std::string recipe;                            ///< what `digest` is taken over, and in which layout
  std::vector<std::int64_t> covers;              ///< prompt lengths that were compared
  bool operator==(const Golden&) const = default;
};

/// The control program of each chip (one ELF image) and where it is loaded.
struct Ccu {
  std::string elf;      ///< file id, role ccu-elf
  std::string machine;  ///< "riscv", "aarch64", ...: the name the device profile knows it by
  int elf_class = 64;   ///< 32 or 64
  bool little_endian = true;
  std::uint64_t flags = 0;  ///< e_flags
  std::string load_region;  ///< region id, kind ccu
  bool operator==(const Ccu&) const = default;
};
/// One way from chip to chip.
struct Route {
  std::int64_t from = 0, to = 0;
  bool operator==(const Route&) const = default;
};
/// The helper that moves data between chips.
struct D2d {
  std::string helper;  ///< file id, role d2d-helper; empty: none
  bool required = false;
  std::vector<Route> routes;
  bool operator==(const D2d&) const = default;
};
/// One way to quantise weights and activations; params name it by id in `quant_ref`.
struct QuantScheme {
  std::string id;  ///< "w8a8"
  std::int64_t weight_bits = 16;
  bool weight_signed = true, symmetric = true;
  std::string granularity = "tensor";  ///< tensor, channel, group
  std::int64_t group = 0;              ///< elements of one group along `axis`; 0 unless granularity is group
  std::int64_t axis = 0;               ///< of the weight's logical shape that the scales run along
  std::int64_t act_bits = 16;
  bool act_dynamic = false;
  std::string act_granularity = "tensor";  ///< tensor, token
  std::string scale_dtype;                 ///< "f32", "bf16", "f16"
  std::string zero_point_dtype;            ///< empty: none (symmetric)
  bool operator==(const QuantScheme&) const = default;
};
struct Quant {
  std::vector<QuantScheme> schemes;
  std::map<std::string, std::string>
      ops;                         ///< op kind or name ("MatMul", "router", "norm") -> scheme id, "bf16" or "f32"
  std::string calibration_digest;  ///< of the calibration set; empty: none
  /// Parameter name -> names of the parameters that hold its scales and zero points.
  struct Scales {
    std::string scale, zero_point;
    bool operator==(const Scales&) const = default;
  };
  std::map<std::string, Scales> scales;
  bool operator==(const Quant&) const = default;
};
/// A DSSE envelope over an in-toto statement whose subjects are the listed files.
struct Signature {
  std::string file, key_id;  ///< file id
  bool operator==(const Signature&) const = default;
};

/// The whole description.
struct Description {
  std::string name, version;
  std::optional<std::string> created;
  Compat compat;
  ModelFacts model;
  Limits limits;
  DeviceFacts device;
  Partition partition;
  std::vector<PackageFile> files;
  Memory memory;
  std::vector<Param> params;
  std::vector<Submodel> submodels;
  Kv kv;
  Provenance provenance;
  std::vector<Golden> golden;
  std::optional<Ccu> ccu;
  std::optional<D2d> d2d;
  std::optional<Quant> quant;
  std::vector<Signature> signatures;
  std::string seal;  ///< "sha256:<hex>" over the canonical form without `seal` (seal_of()); empty: none

  const PackageFile* file(std::string_view id) const;
  const Region* region(std::string_view id) const;
  const Submodel* submodel(std::string_view exact_name) const;
  bool operator==(const Description&) const = default;
};

/// Strict both ways: parse(to_value(d)) == d. kInput names pointer, found, allowed; the first problem of
/// read_description() (calkit/calbin/reading.h) is the error.
Result<Description> parse_description(const Cursor& root);
Value to_value(const Description& description);

/// A package opened for reading: a folder, a .tar or a .tar.zst, never unpacked to disk.
class Package {
 public:
  static Result<Package> open(const std::filesystem::path& path);
  /// The same of files that are already open.
  static Result<Package> open(std::shared_ptr<const FileTree> tree);
  const Description& description() const { return description_; }
  const Value& document() const { return *document_; }  ///< calbin.json as read, with positions
  const FileTree& tree() const { return *tree_; }
  /// The bytes of a listed file by id.
  Result<std::shared_ptr<const MappedFile>> map(std::string_view file_id) const;
  /// "sha256:<64 hex>" of calbin.json: it covers every listed file through their digests.
  const std::string& digest() const { return digest_; }
  /// Every listed, non-optional file has the stated size and SHA-256. Reads each once, with a thread per core.
  Status verify_files() const;

 private:
  std::string place_of(const PackageFile& file) const;

  Description description_;
  std::shared_ptr<const Value> document_;
  std::shared_ptr<const FileTree> tree_;
  std::string digest_;
};

}  // namespace calkit::calbin
