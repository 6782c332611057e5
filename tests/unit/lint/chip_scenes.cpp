#include "chip_scenes.h"

#include <fmt/format.h>

#include <algorithm>

namespace calkit::lint {

using testing_support::ElfShape;

void add_file(Scene& scene, const std::string& id, const std::string& path, const std::string& role,
              std::string bytes) {
  scene.package.files[path] = std::move(bytes);
  scene.package.description.files.push_back({id, path, role, 0, {}, 0, false});
}

void add_bare_chip(Scene& scene, std::int64_t chip) {
  auto& d = scene.package.description;
  d.device.chips += 1;
  d.device.chip_mask |= 1ull << chip;
  auto entry = d.device.chip[0];
  entry.id = chip;
  d.device.chip.push_back(entry);
  d.kv.bytes_per_chip.push_back(0);
}

void add_chip(Scene& scene, std::int64_t chip) {
  add_bare_chip(scene, chip);
  auto& d = scene.package.description;
  auto region = scene.package.region("param");
  region.id = "param.other";
  region.chip = chip;
  region.parent.clear();
  d.memory.regions.push_back(region);
  auto param = scene.package.param("one");
  param.name = "one.other";
  param.chip = chip;
  param.region = region.id;
  param.file = "blk.other";
  param.offset = 0;
  d.params.push_back(param);
  add_file(scene, param.file, "params/other.bin", "param", std::string(8, '\1'));
  d.memory.device_required += region.size;
  d.memory.declared_text = fmt::format("{} B", d.memory.device_required);
}

void divide(Scene& scene) {
  add_bare_chip(scene);
  auto& d = scene.package.description;
  d.partition = {"tp", 2, {}};
  auto& decode = scene.package.decode_model();
  decode.chips = 3;
  // A guard may be asked for on every chip; chip 1 has the memory of chip 0, and reads its own copy of the parameters.
  auto regions = d.memory.regions;
  for (auto region : regions) {
    region.id += ".1";
    region.chip = 1;
    if (!region.parent.empty()) region.parent += ".1";
    if (region.kind == "kv") continue;
    d.memory.regions.push_back(region);
  }
  auto params = d.params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    d.params[i].shard = calbin::Shard{0, 0, 1, true};
    params[i].shard = calbin::Shard{0, 0, 1, true};
    params[i].chip = 1;
    params[i].region += ".1";
    params[i].file = "blk1";
    d.params.push_back(params[i]);
  }
  d.memory.device_required *= 2;
  d.memory.device_required -= scene.package.region("kv").size;
  d.memory.declared_text = fmt::format("{} B", d.memory.device_required);
  add_file(scene, "blk1", "params/blk1.bin", "param", scene.package.files["params/blk0.bin"]);
  scene.package.file("blk1").chips = 2;
  calbin::OpList list = scene.package.decode;
  list.chip = 1;
  for (auto& op : list.ops) {
    for (auto* operands : {&op.reads, &op.writes})
      for (auto& operand : *operands)
        if (!operand.region.empty()) operand.region += ".1";
  }
  add_file(scene, "oplist.decode.1", "oplists/decode.1.json", "oplist", to_json(calbin::to_value(list)));
  decode.oplist[1] = "oplist.decode.1";
}

void add_helper(Scene& scene) {
  add_file(scene, "helper", "d2d/helper.bin", "d2d-helper", "moves data");
  scene.package.description.d2d = calbin::D2d{"helper", true, {{0, 1}, {1, 0}}};
}

void add_all_reduce(Scene& scene) {
  auto& ops = scene.package.decode.ops;
  calbin::Op op = ops.back();
  op.id = ops.back().id + 1;
  op.type = "AllReduce";
  op.name = "AllReduce_9";
  op.domain = "com.microsoft";
  op.attributes.clear();
  op.reads = ops.back().writes;
  op.writes = ops.back().writes;
  ops.push_back(op);
}

void add_commands(Scene& scene) {
  for (auto& submodel : scene.package.description.submodels) {
    for (const char* kind : {"cpu", "pld"}) {
      std::string bin, text = "# index opcode address size\n";
      for (std::uint64_t i = 0; i < 3; ++i) {
        const std::uint64_t address = 0x10000000 + 64 * i;
        const std::size_t at = bin.size();
        bin.resize(at + 16);
        testing_support::elf_put(bin, at, 4, 7 + i, true);
        testing_support::elf_put(bin, at + 4, 8, address, true);
        testing_support::elf_put(bin, at + 12, 4, 64, true);
        text += fmt::format("{} OP{} {:#x} 64\n", i, i, address);
      }
      const std::string id = submodel.name + "." + kind;
      add_file(scene, id, "commands/" + id + ".bin", "command-bin", bin);
      add_file(scene, id + ".text", "commands/" + id + ".txt", "command-text", text);
      submodel.commands.push_back({kind, id, id + ".text", 0, 16, 3});
    }
  }
}

std::string& command_text(Scene& scene) {
  return scene.package.files["commands/mini-prefill.cpu.txt"];
}
std::string& command_bin(Scene& scene) {
  return scene.package.files["commands/mini-prefill.cpu.bin"];
}

void add_control_program(Scene& scene) {
  auto& d = scene.package.description;
  add_file(scene, "ccu", "ccu/control.elf", "ccu-elf", elf_image(testing_support::control_program(kCcuBase)));
  d.memory.regions.push_back({"ccu", 0, "dram", "ccu", kCcuBase, 8192, 4096, {}, {}});
  d.memory.device_required += 8192;
  d.memory.declared_text = fmt::format("{} KiB", d.memory.device_required / 1024);
  d.ccu = calbin::Ccu{"ccu", "riscv", 64, true, 0, "ccu"};
}

std::string& ccu_image(Scene& scene) {
  return scene.package.files["ccu/control.elf"];
}

void build_ccu(Scene& scene, const std::function<void(ElfShape&)>& change) {
  ElfShape shape = testing_support::control_program(kCcuBase);
  change(shape);
  ccu_image(scene) = elf_image(shape);
}

manifest::DeviceProfile board(std::int64_t chiplets) {
  manifest::DeviceProfile out;
  out.name = "board";
  out.assumed = false;
  out.chiplets = chiplets;
  out.dram_bytes = 34359738368;
  out.guard_bytes = 67108864;
  return out;
}

}  // namespace calkit::lint
