#include "package_builder.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "calkit/base/hash.h"
#include "calkit/calbin/reading.h"
#include "package_parts.h"
#include "reseal.h"

namespace calkit::testing_support {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kBase = 0x10000000;
constexpr std::uint64_t kPage = 4096;
constexpr std::int64_t kOnnxInt64 = 7;  // TensorProto.DataType.INT64

[[noreturn]] void give_up(const std::string& what) {
  std::cerr << "package_builder: " << what << '\n';
  std::abort();
}

std::uint64_t pages(std::uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

template <class Item, class Key>
Item& find_or_die(std::vector<Item>& items, Key key, const std::string& wanted) {
  for (auto& item : items)
    if (item.*key == wanted) return item;
  give_up("nothing is called " + wanted);
}

void write_file(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string digest_of_text(const std::string& text) {
  return "sha256:" + sha256_hex(text);
}

calbin::Extent symbol(const char* name) {
  return {std::string(name)};
}
calbin::Extent number(std::int64_t value) {
  return {value};
}

calbin::Operand operand(const std::string& name, const std::string& region, std::uint64_t base, std::uint64_t size,
                        DType dtype, std::vector<calbin::Extent> shape) {
  calbin::Operand out;
  out.name = name;
  out.region = region;
  out.base = base;
  out.size = size;
  out.dtype = dtype;
  out.shape = std::move(shape);
  return out;
}

calbin::Op op(std::int64_t id, const std::string& type, std::vector<calbin::OpAttribute> attributes,
              std::vector<calbin::Operand> reads, calbin::Operand write) {
  return {id, type, "", type + "_" + std::to_string(id), std::move(attributes), std::move(reads), {std::move(write)}};
}

calbin::IoTensor tensor(std::int64_t index, const std::string& name, const std::string& role, const std::string& region,
                        std::uint64_t base, DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t tile) {
  calbin::IoTensor out;
  out.index = index;
  out.name = name;
  out.role = role;
  out.region = region;
  out.base = base;
  out.dtype = dtype;
  out.layout.logical_shape = {rows, columns};
  out.shape = {tile > 0 ? (rows + tile - 1) / tile * tile : rows, columns};
  if (tile > 0) out.layout.tile = {tile};
  const std::uint64_t unit = dtype_bytes(dtype), row = unit * static_cast<std::uint64_t>(columns);
  out.layout.strides_bytes = {row, unit};
  out.size = row * static_cast<std::uint64_t>(out.shape[0]);
  return out;
}

void add_regions(TestPackage& p, const PackageShape& s, std::uint64_t param_bytes, std::uint64_t kv_bytes,
                 std::uint64_t io_bytes) {
  struct Part {
    const char *id, *kind;
    std::uint64_t bytes;
  };
  std::vector<Part> parts = {{"param", "param", param_bytes},
                             {"kv", "kv", kv_bytes},
                             {"workspace", "workspace", kPage},
                             {"io.prefill", "io", io_bytes},
                             {"io.decode", "io", io_bytes}};
  if (s.full)
    parts.insert(parts.end(), {{"command", "command", kPage}, {"ccu", "ccu", 2 * kPage}, {"guard", "guard", kPage}});
  auto& memory = p.description.memory;
  for (std::int64_t chip = 0; chip < s.chips; ++chip) {
    const std::string global = "chip" + std::to_string(chip);
    const std::size_t first = memory.regions.size();
    std::uint64_t at = kBase;
    memory.regions.push_back({global, chip, "dram", "global", kBase, 0, kPage, {}, {}});
    for (const auto& part : parts) {
      memory.regions.push_back(
          {on_chip(part.id, chip), chip, "dram", part.kind, at, pages(part.bytes), kPage, global, {}});
      at += pages(part.bytes);
    }
    memory.regions[first].size = at - kBase;
    memory.device_required += at - kBase;
  }
  memory.declared_text = std::to_string(memory.device_required / 1024) + " KiB";
}

calbin::Submodel submodel(TestPackage& p, const PackageShape& s, bool decode) {
  const std::string phase = decode ? "decode" : "prefill", region = "io." + phase;
  const std::int64_t tokens = decode ? 1 : s.max_tokens;
  const std::uint64_t io = p.region(region).base;
  calbin::Submodel out;
  out.name = "mini-" + phase;
  out.type = phase;
  out.context = s.context;
  out.tokens = {1, tokens, 1};
  out.chips = chip_bit(s.chips) - 1;
  for (std::int64_t chip = 0; chip < s.chips; ++chip) {
    out.oplist[chip] = on_chip("oplist." + phase, chip);
    out.files.insert(out.files.end(), {on_chip("blk0", chip), out.oplist[chip]});
  }
  out.inputs.push_back(tensor(0, "token_ids", "token", region, io, DType::kI64, 1, tokens, 0));
  out.inputs.push_back(
      tensor(1, "position_ids", "position", region, io + out.inputs[0].size, DType::kI64, 1, tokens, 0));
  const std::uint64_t csr = io + 2 * out.inputs[0].size;
  out.csr.push_back({"cur_seq_len", "cur_seq_len", csr, 32, 1, false});
  out.csr.push_back({"past_kv_cur_seq_len", "past_kv_cur_seq_len", csr + 4, 32, 1, false});
  out.outputs.push_back(
      tensor(0, "logits", "logits", region, (csr + 8 + 63) / 64 * 64, DType::kF32, 1, s.vocab, s.tile));
  out.workspace_region = "workspace";
  out.workspace_peak = s.chips > 1 ? 256 + 4 * static_cast<std::uint64_t>(2 * s.vocab) : 192;
  return out;
}

void add_ops(TestPackage& p, const PackageShape& s) {
  const auto& params = p.description.params;
  const std::int64_t columns = s.vocab / s.chips;
  const auto table =
      operand("table", "param", params[0].base, params[0].length, DType::kF32, {number(s.vocab), number(columns)});
  const auto one = operand("one", "param", params[1].base, params[1].length, DType::kI64, {number(1)});
  const std::uint64_t work = p.region("workspace").base;
  const auto scratch = [&](const char* name, std::uint64_t slot, std::vector<calbin::Extent> shape) {
    return operand(name, "workspace", work + 64 * slot, 64, DType::kI64, std::move(shape));
  };
  const auto logits_of = [&](const calbin::Submodel& m) {
    const auto& t = m.outputs[0];
    return operand("logits", t.region, t.base, t.size, DType::kF32, {symbol("B"), number(s.vocab)});
  };
  const auto tokens_of = [&](const calbin::Submodel& m, std::vector<calbin::Extent> shape) {
    const auto& t = m.inputs[0];
    return operand("token_ids", t.region, t.base, t.size, DType::kI64, std::move(shape));
  };
  calbin::Operand length;
  length.name = length.csr = "cur_seq_len";
  length.base = p.prefill_model().csr[0].base;
  length.dtype = DType::kI32;
  length.shape = {symbol("B")};
  p.prefill = {"mini-prefill", 0, {}};
  p.prefill.ops.push_back(op(0, "Cast", {{"to", kOnnxInt64}}, {length}, scratch("length", 0, {symbol("B")})));
  p.prefill.ops.push_back(
      op(1, "Sub", {}, {scratch("length", 0, {symbol("B")}), one}, scratch("last", 1, {symbol("B")})));
  p.prefill.ops.push_back(
      op(2, "GatherND", {{"batch_dims", std::int64_t{1}}},
         {tokens_of(p.prefill_model(), {symbol("B"), symbol("S")}), scratch("last", 1, {symbol("B"), number(1)})},
         scratch("token", 2, {symbol("B")})));
  p.prefill.ops.push_back(op(3, "Gather", {{"axis", std::int64_t{0}}}, {table, scratch("token", 2, {symbol("B")})},
                             logits_of(p.prefill_model())));
  p.decode = {"mini-decode", 0, {}};
  p.decode.ops.push_back(op(0, "Gather", {{"axis", std::int64_t{0}}},
                            {table, tokens_of(p.decode_model(), {symbol("B")})}, logits_of(p.decode_model())));
}

/// A chip after the first: gets the token, looks its columns up and gives them to all.
calbin::OpList columns_of_chip(TestPackage& p, const PackageShape& s, const calbin::Submodel& m, std::int64_t chip) {
  const std::int64_t columns = s.vocab / s.chips;
  const std::string region = on_chip("workspace", chip);
  const std::uint64_t work = p.region(region).base, part_bytes = static_cast<std::uint64_t>(columns) * 4;
  const auto& table = p.description.params[static_cast<std::size_t>(2 * chip)];
  const auto token = operand("token", region, work, 64, DType::kI64, {symbol("B")});
  const auto part = operand("part", region, work + 64, part_bytes, DType::kF32, {symbol("B"), number(columns)});
  const auto all = operand("logits", region, work + 64 + part_bytes, part_bytes * static_cast<std::uint64_t>(s.chips),
                           DType::kF32, {symbol("B"), number(s.vocab)});
  calbin::OpList out{m.name, chip, {}};
  out.ops.push_back(op(0, "Recv", {}, {}, token));
  out.ops.push_back(
      op(1, "Gather", {{"axis", std::int64_t{0}}},
         {operand("table", table.region, table.base, table.length, DType::kF32, {number(s.vocab), number(columns)}),
          token},
         part));
  out.ops.push_back(op(2, "AllGather", {}, {part}, all));
  return out;
}

/// The last op of chip 0 gives its columns alone: the others' are gathered into the logits.
void gather_columns(TestPackage& p, const PackageShape& s, calbin::OpList& list) {
  const auto bytes = static_cast<std::uint64_t>(s.vocab / s.chips) * 4;
  auto& last = list.ops.back();
  const auto logits = last.writes[0];
  last.writes[0] = operand("part", "workspace", p.region("workspace").base + 256, bytes, DType::kF32,
                           {symbol("B"), number(s.vocab / s.chips)});
  list.ops.push_back(op(static_cast<std::int64_t>(list.ops.size()), "AllGather", {}, {last.writes[0]}, logits));
}

/// The columns of `chip`, then the number one.
void add_params(TestPackage& p, const PackageShape& s, std::int64_t chip) {
  const std::int64_t columns = s.vocab / s.chips;
  std::string block;
  for (std::int64_t row = 0; row < s.vocab; ++row) {
    for (std::int64_t column = chip * columns; column < (chip + 1) * columns; ++column) {
      const float value = table_value(row, column);
      block.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  const std::uint64_t table_bytes = block.size();
  const std::int64_t one = 1;
  block.append(reinterpret_cast<const char*>(&one), sizeof one);
  p.files["params/" + on_chip("blk0", chip) + ".bin"] = block;
  for (const bool table : {true, false}) {
    calbin::Param out;
    out.name = table ? "table" : "one";
    out.file = on_chip("blk0", chip);
    out.region = on_chip("param", chip);
    out.chip = chip;
    out.offset = table ? 0 : table_bytes;
    out.length = table ? table_bytes : 8;
    out.base = kBase + out.offset;
    out.dtype = table ? DType::kF32 : DType::kI64;
    out.shape = table ? Shape{s.vocab, columns} : Shape{1};
    out.logical_shape = table ? Shape{s.vocab, s.vocab} : Shape{1};
    if (s.chips > 1) out.shard = calbin::Shard{table ? 1 : 0, chip, s.chips, !table};
    p.description.params.push_back(out);
  }
}

void add_facts(calbin::Description& d, const PackageShape& s) {
  std::vector<calbin::Route> routes;
  d.name = "mini";
  d.version = "1.0.0";
  d.compat = {"0.7.6", "any", "any", "emulated"};
  d.model.family = "qwen3";
  d.model.config_digest = digest_of_text("config");
  d.model.tokenizer_digest = digest_of_text("tokenizer");
  d.model.layers = d.model.q_heads = d.model.kv_heads = 1;
  d.model.hidden = d.model.ffn = s.vocab;
  d.model.head_dim = 4;
  d.model.vocab = s.vocab;
  d.model.trained_context = s.context;
  d.model.rope_theta = 10000;
  d.limits = {s.context, 1, s.max_tokens, s.slots};
  d.device.profile = "calculet-assumed";
  d.device.chips = s.chips;
  d.device.chip_mask = chip_bit(s.chips) - 1;
  const std::uint64_t kv = static_cast<std::uint64_t>(4 * s.context * s.slots) * 8;
  d.kv = {DType::kF32, DType::kF32, {}, "slot,layer,k|v,head,position,dim", kv, {}, {}};
  for (std::int64_t chip = 0; chip < s.chips; ++chip) {
    d.device.chip.push_back({chip, 34292629504, {}, {}});
    d.kv.bytes_per_chip.push_back(kv / static_cast<std::uint64_t>(s.chips));
    d.kv.regions.push_back(on_chip("kv", chip));
  }
  d.partition.kind = "single";
  if (s.chips > 1) {
    d.partition = {"tp", s.chips, {"columns", "heads"}};
    d.model.q_heads = d.model.kv_heads = s.chips;  // a head of each chip, and as many bytes as before
    d.model.head_dim = 4 / s.chips;
    for (std::int64_t from = 0; from < s.chips; ++from)
      for (std::int64_t to = 0; to < s.chips; ++to)
        if (from != to) routes.push_back({from, to});
    d.d2d = calbin::D2d{"d2d", true, routes};
  }
  for (const char* part : {"compiler", "tvm", "kernel", "oplib", "container_digest"})
    d.provenance.notes[part] = "a test's package";
  d.provenance.argv = {"package_builder"};
  d.provenance.config_digest = digest_of_text("mini");
  d.provenance.input_onnx_digest = {{"prefill", digest_of_text("prefill")}, {"decode", digest_of_text("decode")}};
}

/// No files: the digest of what the table answers, and the recipe.
void add_golden(calbin::Description& d, const PackageShape& s) {
  for (const char* phase : {"prefill", "decode"}) {
    calbin::Golden golden;
    golden.submodel = std::string("mini-") + phase;
    golden.digest = digest_of_text(golden.submodel);
    golden.recipe = "SHA-256 of the logits of token 1, f32, row-major";
    golden.covers = {1, 2, 15, 16, 17, s.context};
    golden.tolerance_class = "fp32";
    golden.made_with = {{"model_digest", digest_of_text("model")}, {"tool", "package_builder"}};
    d.golden.push_back(golden);
  }
}

void add_files(TestPackage& p, const PackageShape& s) {
  for (std::int64_t chip = 0; chip < s.chips; ++chip) {
    const std::string block = on_chip("blk0", chip);
    p.description.files.push_back({block, "params/" + block + ".bin", "param", 0, {}, chip_bit(chip), false});
    for (const auto& m : p.description.submodels) {
      const std::string path = "oplists/" + on_chip(m.type, chip) + ".json";
      p.description.files.push_back({m.oplist.at(chip), path, "oplist", 0, {}, chip_bit(chip), false});
      if (chip > 0) p.more_oplists[path] = columns_of_chip(p, s, m, chip);
    }
  }
  if (s.chips > 1) list_file(p, "d2d", "d2d/helper.bin", "d2d-helper", chip_bit(s.chips) - 1, "moves bytes");
}

/// Everything else that a board's package has.
void complete(TestPackage& p, const PackageShape& s) {
  add_quantised(p, s.chips);
  for (auto& m : p.description.submodels) {
    for (std::int64_t chip = 0; chip < s.chips; ++chip) {
      const auto& ops = chip > 0             ? p.more_oplists.at("oplists/" + on_chip(m.type, chip) + ".json")
                        : m.type == "decode" ? p.decode
                                             : p.prefill;
      for (const char* kind : {"cpu", "pld"}) add_command(p, m, ops, kind);
      add_iomap(p, m, chip);
    }
  }
  add_control_program(p, s.chips);
  add_golden_results(p, s);
  add_origin(p);
}

}  // namespace

float table_value(std::int64_t token, std::int64_t column) {
  // One clear maximum per row (the token after it), different values everywhere.
  const std::int64_t distance = column - token - 1;
  return 8.0f - static_cast<float>(distance * distance) / 16.0f + static_cast<float>(column) / 1024.0f;
}

calbin::Region& TestPackage::region(const std::string& id) {
  return find_or_die(description.memory.regions, &calbin::Region::id, id);
}
calbin::Param& TestPackage::param(const std::string& name) {
  return find_or_die(description.params, &calbin::Param::name, name);
}
calbin::PackageFile& TestPackage::file(const std::string& id) {
  return find_or_die(description.files, &calbin::PackageFile::id, id);
}

TestPackage good_package(const PackageShape& shape) {
  TestPackage p;
  add_facts(p.description, shape);
  add_golden(p.description, shape);
  for (std::int64_t chip = 0; chip < shape.chips; ++chip) add_params(p, shape, chip);
  const std::uint64_t io = 2 * 8 * static_cast<std::uint64_t>(shape.max_tokens) + 128 +
                           4 * static_cast<std::uint64_t>(shape.vocab * std::max<std::int64_t>(shape.tile, 1));
  const std::uint64_t quantised = shape.full ? 256 : 0;
  add_regions(p, shape, p.files["params/blk0.bin"].size() + quantised, p.description.kv.bytes_per_chip[0], io);
  p.description.submodels.push_back(submodel(p, shape, false));
  p.description.submodels.push_back(submodel(p, shape, true));
  add_ops(p, shape);
  if (shape.chips > 1)
    for (auto* list : {&p.prefill, &p.decode}) gather_columns(p, shape, *list);
  add_files(p, shape);
  if (shape.full) complete(p, shape);
  return p;
}

manifest::ServiceManifest good_service(const PackageShape& shape) {
  manifest::ServiceManifest out;
  out.architecture = "qwen3";
  out.calbin_version = "1.0.0";
  out.runtime_abi = "0.7.6";
  out.context = shape.context;
  out.batch = 1;
  out.vocab = shape.vocab;
  out.prefill_model = "mini-prefill";
  out.decode_model = "mini-decode";
  out.token = {"inputs", 0, "inputs[0]"};
  out.position = {"inputs", 1, "inputs[1]"};
  out.logits = {"outputs", 0, "outputs[0]"};
  out.csr_current = {"cur_seq_len", 0, "cur_seq_len[0]"};
  out.csr_past_current = {"past_kv_cur_seq_len", 0, "past_kv_cur_seq_len[0]"};
  return out;
}

namespace {

void make_strides(calbin::IoTensor& io) {
  if (io.layout.order != "row-major" || io.layout.strides_bytes.size() != io.shape.size()) return;
  std::uint64_t step = dtype_bytes(io.dtype);
  for (std::size_t axis = io.shape.size(); axis-- > 0;) {
    io.layout.strides_bytes[axis] = step;
    step *= static_cast<std::uint64_t>(io.shape[axis]);
  }
}

}  // namespace

void TestPackage::write(const fs::path& dir) const {
  auto all = files;
  all.emplace("oplists/prefill.json", to_json(calbin::to_value(prefill)) + "\n");
  all.emplace("oplists/decode.json", to_json(calbin::to_value(decode)) + "\n");
  for (const auto& [path, list] : more_oplists) all.emplace(path, to_json(calbin::to_value(list)) + "\n");
  auto d = description;
  for (auto& submodel : d.submodels)
    for (auto* list : {&submodel.inputs, &submodel.outputs})
      for (auto& io : *list)
        if (restride) make_strides(io);
  for (auto& file : d.files) {
    const auto bytes = all.find(file.path);
    if (!rehash || bytes == all.end()) continue;
    file.size = bytes->second.size();
    file.digest = digest_of_text(bytes->second);
  }
  Value document = calbin::to_value(d);
  if (edit_document) edit_document(document);
  if (reseal) document.set("seal", calbin::seal_of(document));
  std::string text = to_json(document) + "\n";
  if (edit_text) {
    edit_text(text);
    if (reseal) reseal_text(text);
  }
  for (const auto& [path, bytes] : all) write_file(dir / path, bytes);
  write_file(dir / "calbin.json", text);
  if (edit_folder) edit_folder(dir);
}

}  // namespace calkit::testing_support
