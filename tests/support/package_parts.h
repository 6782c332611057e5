#pragma once
/// What a package of a real board has beside what the emulated device executes: commands and their text, a control
/// program, I/O maps, quantised parameters, golden files, a full provenance.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "calkit/base/hash.h"
#include "calkit/base/text.h"
#include "calkit/tensor/npz.h"
#include "elf_builder.h"
#include "package_builder.h"

namespace calkit::testing_support {

/// Regions, files and op lists of chip 0 have plain ids, those of chip 1 end in ".1".
inline std::string on_chip(const std::string& id, std::int64_t chip) {
  return chip == 0 ? id : id + "." + std::to_string(chip);
}
inline std::uint64_t chip_bit(std::int64_t chip) {
  return 1ull << chip;
}

inline void list_file(TestPackage& p, const std::string& id, const std::string& path, const std::string& role,
                      std::uint64_t chips, std::string bytes) {
  p.files[path] = std::move(bytes);
  p.description.files.push_back({id, path, role, 0, {}, chips, false});
}

inline std::string npz_bytes(const std::vector<std::pair<std::string, Tensor>>& members) {
  std::string folder = (std::filesystem::temp_directory_path() / "calkit-npz-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) std::abort();
  const auto path = std::filesystem::path(folder) / "golden.npz";
  const bool written = write_npz(path, members).ok();
  std::ifstream in(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::filesystem::remove_all(folder);
  if (!written || bytes.empty()) std::abort();
  return bytes;
}

/// One record per op: opcode, size, address (docs/formats/calbin.md).
inline void add_command(TestPackage& p, calbin::Submodel& submodel, const calbin::OpList& ops,
                        const std::string& kind) {
  std::string bin, text = "# index opcode address size\n";
  std::int64_t records = 0;
  for (const auto& op : ops.ops) {
    const auto& write = op.writes[0];
    const std::uint64_t opcode = (kind == "cpu" ? 16 : 32) + static_cast<std::uint64_t>(op.id);
    const std::uint64_t at = bin.size();
    elf_put(bin, at, 4, opcode, true);
    elf_put(bin, at + 4, 4, write.size, true);
    elf_put(bin, at + 8, 8, write.base, true);
    text += std::to_string(records++) + " " + std::to_string(opcode) + " " + hex_u64(write.base) + " " +
            std::to_string(write.size) + "\n";
  }
  const std::string id = on_chip(kind + "." + submodel.type, ops.chip);
  list_file(p, id, "commands/" + id + ".bin", "command-bin", chip_bit(ops.chip), bin);
  list_file(p, id + ".text", "commands/" + id + ".txt", "command-text", chip_bit(ops.chip), text);
  submodel.commands.push_back({kind, id, id + ".text", ops.chip, 16, records});
}

inline void add_iomap(TestPackage& p, calbin::Submodel& submodel, std::int64_t chip) {
  Value rows = Value::array();
  const auto row = [&](const char* kind, const std::string& name, std::uint64_t base, std::uint64_t size) {
    rows.push(Value::object({{"kind", kind}, {"name", name}, {"base", hex_u64(base)}, {"size", size}}));
  };
  if (chip == 0) {
    for (const auto& t : submodel.inputs) row("input", t.name, t.base, t.size);
    for (const auto& t : submodel.outputs) row("output", t.name, t.base, t.size);
    for (const auto& c : submodel.csr) row("csr", c.name, c.base, 4);
  }
  const Value map =
      Value::object({{"schema", "calkit.iomap/1"}, {"submodel", submodel.name}, {"chip", chip}, {"rows", rows}});
  const std::string id = on_chip("iomap." + submodel.type, chip);
  list_file(p, id, "iomaps/" + id + ".json", "iomap", chip_bit(chip), to_json(map) + "\n");
  submodel.iomap[chip] = id;
}

/// "proj", i8 [8, 16], one f32 scale per row; cut into rows over the chips. Nothing executes it.
inline void add_quantised(TestPackage& p, std::int64_t chips) {
  constexpr std::int64_t kRows = 8, kColumns = 16;
  calbin::QuantScheme scheme;
  scheme.id = "w8a8";
  scheme.weight_bits = scheme.act_bits = 8;
  scheme.granularity = "channel";
  scheme.act_dynamic = true;
  scheme.act_granularity = "token";
  scheme.scale_dtype = "f32";
  p.description.quant = calbin::Quant{{scheme},
                                      {{"MatMul", "w8a8"}, {"norm", "f32"}, {"router", "f32"}},
                                      "sha256:" + sha256_hex("calibration"),
                                      {{"proj", {"proj.scale", ""}}}};
  for (std::int64_t chip = 0; chip < chips; ++chip) {
    const std::int64_t rows = kRows / chips;
    std::string block;
    for (std::int64_t i = 0; i < rows * kColumns; ++i) block += static_cast<char>((i * 37 + chip * 11 + 5) % 255 - 127);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float scale = 0.01f + 0.001f * static_cast<float>(row + chip * rows);
      block.append(reinterpret_cast<const char*>(&scale), sizeof scale);
    }
    calbin::Param weight;
    weight.name = "proj";
    weight.file = on_chip("quant", chip);
    weight.region = on_chip("param", chip);
    weight.chip = chip;
    const auto& blk = p.files[on_chip("params/blk0", chip) + ".bin"];
    weight.base = p.region(weight.region).base + (blk.size() + 63) / 64 * 64;
    weight.dtype = DType::kI8;
    weight.shape = {rows, kColumns};
    weight.logical_shape = {kRows, kColumns};
    weight.length = static_cast<std::uint64_t>(rows * kColumns);
    weight.quant_ref = "w8a8";
    if (chips > 1) weight.shard = calbin::Shard{0, chip, chips, false};
    calbin::Param scale = weight;
    scale.name = "proj.scale";
    scale.dtype = DType::kF32;
    scale.offset = weight.length;
    scale.base = weight.base + scale.offset;
    scale.shape = {rows};
    scale.logical_shape = {kRows};
    scale.length = static_cast<std::uint64_t>(rows) * 4;
    scale.quant_ref.clear();
    list_file(p, weight.file, "params/" + weight.file + ".bin", "param", chip_bit(chip), block);
    p.description.params.push_back(weight);
    p.description.params.push_back(scale);
  }
}

/// What the table answers to a prompt of three tokens, and to one more.
inline void add_golden_results(TestPackage& p, const PackageShape& s) {
  p.description.golden.clear();
  for (const bool decode : {false, true}) {
    const std::string phase = decode ? "decode" : "prefill";
    const std::vector<std::int64_t> prompt = {3, 1, 2}, next = {5};
    const auto& tokens = decode ? next : prompt;
    std::vector<float> row;
    for (std::int64_t i = 0; i < s.vocab; ++i) row.push_back(table_value(tokens.back(), i));
    const auto in =
        npz_bytes({{"tokens", Tensor::of<std::int64_t>({static_cast<std::int64_t>(tokens.size())}, tokens)}});
    const auto out = npz_bytes({{"logits", Tensor::of<float>({1, s.vocab}, row)}});
    list_file(p, "golden." + phase + ".inputs", "golden/" + phase + "_inputs.npz", "golden", 0, in);
    list_file(p, "golden." + phase + ".outputs", "golden/" + phase + "_outputs.npz", "golden", 0, out);
    calbin::Golden golden;
    golden.submodel = "mini-" + phase;
    golden.inputs = "golden." + phase + ".inputs";
    golden.outputs = "golden." + phase + ".outputs";
    golden.recipe = "SHA-256 of the file named as outputs";
    golden.covers = {1, 2, 15, 16, 17, s.context - 1, s.context};
    golden.tolerance_class = "fp32";
    golden.made_with = {{"model_digest", "sha256:" + sha256_hex("model")},
                        {"tokenizer_digest", p.description.model.tokenizer_digest},
                        {"tool", "package_builder"}};
    p.description.golden.push_back(golden);
  }
}

inline void add_origin(TestPackage& p) {
  auto& made = p.description.provenance;
  made.notes.clear();
  for (const char* part : {"compiler", "tvm", "kernel", "oplib"}) made.commits[part] = sha256_hex(part).substr(0, 40);
  made.container_digest = "sha256:" + sha256_hex("container");
  made.env_allow["SOURCE_DATE_EPOCH"] = "1767323045";
  made.started = "2026-01-02T03:04:05Z";
  made.finished = p.description.created = "2026-01-02T03:14:05Z";
  p.description.model.hf_repo = "example/mini";
  p.description.model.hf_revision = sha256_hex("mini").substr(0, 40);
  for (const char* phase : {"prefill", "decode"})  // input_onnx_digest is that of these bytes
    list_file(p, std::string("onnx.") + phase, std::string("onnx/") + phase + ".onnx", "onnx", 0, phase);
}

inline void add_control_program(TestPackage& p, std::int64_t chips) {
  const auto& region = p.region("ccu");
  list_file(p, "ccu", "ccu/control.elf", "ccu-elf", chip_bit(chips) - 1, elf_image(control_program(region.base)));
  p.description.ccu = calbin::Ccu{"ccu", "riscv", 64, true, 0, "ccu"};
}

}  // namespace calkit::testing_support
