/// Family 09.
#include "chip_scenes.h"

namespace calkit::lint {

namespace {

calbin::Description& description(Scene& s) {
  return s.package.description;
}

/// Slices have bytes of their own.
void change_second_block(Scene& s) {
  for (char& byte : s.package.files["params/blk1.bin"]) byte = static_cast<char>(byte ^ 1);
}

/// The two copies of the table become slices.
void slice_table(Scene& s) {
  divide(s);
  change_second_block(s);
  for (auto& param : description(s).params)
    if (param.name == "table") param.shard = calbin::Shard{0, param.chip, 2, false};
}

/// Four chips, of which the package uses 0 and 2.
void use_separate_chips(Scene& s) {
  s.profile = board(4);
  add_chip(s, 2);
}

std::vector<LintCase> mask_cases() {
  return {
      {"CB0901 more chips than mask bits", {"CB0507", "CB0901"}, [](Scene& s) { description(s).device.chips = 2; }},
      {"CB0901 a mask of two bits for one chip", {"CB0901"}, [](Scene& s) { description(s).device.chip_mask = 3; }},
      {"CB0901 a mask of no chip", {"CB0404", "CB0901"}, [](Scene& s) { description(s).device.chip_mask = 0; }},
      {"CB0901 chips that are no neighbours", {"CB0901"}, [](Scene& s) { use_separate_chips(s); }},
      {"CB0901 chips that are joined one way only",
       {"CB0901"},
       [](Scene& s) {
         use_separate_chips(s);
         description(s).d2d = calbin::D2d{{}, false, {{0, 2}}};
       }},
      {"CB0901 near: separate chips that are joined by routes",
       {},
       [](Scene& s) {
         use_separate_chips(s);
         description(s).d2d = calbin::D2d{{}, false, {{0, 2}, {2, 0}}};
       }},
      {"CB0901 a chip that is not described",
       {"CB0901"},
       [](Scene& s) {
         add_chip(s);
         description(s).device.chip.pop_back();
       }},
      {"CB0901 a chip that is described twice",
       {"CB0901"},
       [](Scene& s) { description(s).device.chip.push_back(description(s).device.chip[0]); }},
      {"CB0901 a description of a chip outside the mask",
       {"CB0901"},
       [](Scene& s) {
         description(s).device.chip.push_back(description(s).device.chip[0]);
         description(s).device.chip[1].id = 1;
       }},
      {"CB0901 near: two chips in a row", {}, [](Scene& s) { add_chip(s); }},
      {"CB0902 a chip beyond those of the board",
       {"CB0506", "CB0902"},
       [](Scene& s) {
         s.profile = board(1);
         add_chip(s);
       }},
      {"CB0902 a chip that the board's mask does not have",
       {"CB0902"},
       [](Scene& s) {
         s.profile = board();
         s.profile->chip_mask = 6;
       }},
      {"CB0902 near: a part of the board",
       {},
       [](Scene& s) {
         s.profile = board(4);
         s.profile->chip_mask = 0xf;
         add_chip(s);
       }},
  };
}

/// Parameters of two experts on two chips, [experts, 4, 4] or by name; `slice` gives their shards.
void add_experts(Scene& s, bool stacked, const std::function<calbin::Shard(std::int64_t chip)>& slice) {
  divide(s);
  change_second_block(s);
  auto& d = description(s);
  d.partition.kind = "ep";
  d.model.experts = 2;
  d.model.experts_per_token = 1;
  for (std::int64_t chip = 0; chip < 2; ++chip) {
    auto& table = *std::find_if(d.params.begin(), d.params.end(),
                                [&](const calbin::Param& p) { return p.name == "table" && p.chip == chip; });
    table.name = stacked ? "mlp.up" : "mlp.experts.0.up";
    table.shard = slice(chip);
    const std::int64_t stack = table.shard->axis == 0 ? 1 : 2;
    if (stacked) table.shape = table.logical_shape = {stack, 32 / stack, 32};
  }
}

std::vector<LintCase> partition_cases() {
  return {
      {"CB0903 a submodel on two chips, not divided",
       {"CB0903"},
       [](Scene& s) {
         divide(s);
         description(s).partition = {"single", 1, {}};
       }},
      {"CB0903 near: two chips, a submodel on each",
       {},
       [](Scene& s) {
         add_chip(s);
         description(s).partition = {"single", 1, {}};
       }},
      {"CB0903 near: a model divided over two chips", {}, [](Scene& s) { divide(s); }},
      {"CB0903 a package that is not divided, of degree 2",
       {"CB0903"},
       [](Scene& s) { description(s).partition.degree = 2; }},
      {"CB0903 tensor parallel over one chip", {"CB0903"}, [](Scene& s) { description(s).partition = {"tp", 1, {}}; }},
      {"CB0903 a degree above the chips",
       {"CB0903"},
       [](Scene& s) {
         divide(s);
         description(s).partition.degree = 4;
       }},
      {"CB0903 experts of a model that has none",
       {"CB0903"},
       [](Scene& s) {
         divide(s);
         description(s).partition.kind = "ep";
       }},
      {"CB0903 a slice of every expert on every chip, stacked",
       {"CB0903"},
       [](Scene& s) { add_experts(s, true, [](std::int64_t chip) { return calbin::Shard{1, chip, 2, false}; }); }},
      {"CB0903 a slice of every expert on every chip, by name",
       {"CB0903"},
       [](Scene& s) { add_experts(s, false, [](std::int64_t chip) { return calbin::Shard{0, chip, 2, false}; }); }},
      {"CB0903 near: whole experts on each chip",
       {},
       [](Scene& s) { add_experts(s, true, [](std::int64_t chip) { return calbin::Shard{0, chip, 2, false}; }); }},
      {"CB0904 near: slices that make up a parameter", {}, [](Scene& s) { slice_table(s); }},
      {"CB0904 a slice twice",
       {"CB0904"},
       [](Scene& s) {
         slice_table(s);
         for (auto& param : description(s).params)
           if (param.name == "table") param.shard->index = 0;
       }},
      {"CB0904 a slice that is missing",
       {"CB0904"},
       [](Scene& s) {
         slice_table(s);
         for (auto& param : description(s).params)
           if (param.name == "table") param.shard->count = 3;
       }},
      {"CB0904 an index beyond the count",
       {"CB0904"},
       [](Scene& s) {
         slice_table(s);
         s.package.param("table").shard->index = 2;
       }},
      {"CB0904 slices of two axes",
       {"CB0904"},
       [](Scene& s) {
         slice_table(s);
         s.package.param("table").shard->axis = 1;
       }},
      {"CB0904 an axis the parameter does not have",
       {"CB0904"},
       [](Scene& s) {
         slice_table(s);
         for (auto& param : description(s).params)
           if (param.name == "table") param.shard->axis = 2;
       }},
      {"CB0904 slices of two widths",
       {"CB0904"},
       [](Scene& s) {
         slice_table(s);
         auto& table = s.package.param("table");
         table.shape = table.logical_shape = {64, 16};
       }},
      {"CB0904 a copy beside a slice",
       {"CB0904"},
       [](Scene& s) {
         slice_table(s);
         s.package.param("table").shard = calbin::Shard{0, 0, 1, true};
       }},
      {"CB0904 two copies that do not say so",
       {"CB0904"},
       [](Scene& s) {
         divide(s);
         for (auto& param : description(s).params) param.shard.reset();
       }},
      {"CB0904 a copy that does not say so",
       {"CB0904"},
       [](Scene& s) {
         divide(s);
         s.package.param("table").shard.reset();
       }},
  };
}

std::vector<LintCase> chip_work_cases() {
  return {
      {"CB0905 a chip of a submodel without op list",
       {"CB0905"},
       [](Scene& s) {
         divide(s);
         s.package.decode_model().oplist.erase(1);
       }},
      {"CB0905 an op list for a chip the submodel does not use",
       {"CB0905"},
       [](Scene& s) {
         divide(s);
         s.package.decode_model().chips = 1;
       }},
      {"CB0905 parameters on a chip without op list",
       {"CB0905"},
       [](Scene& s) {
         divide(s);
         s.package.decode_model().chips = 1;
         s.package.decode_model().oplist.erase(1);
       }},
      {"CB0905 other layers on another chip",
       {"CB0905"},
       [](Scene& s) {
         divide(s);
         s.package.decode.ops[0].name = "/model/layers.3/Gather";
       }},
      {"CB0905 near: other layers under pipeline parallelism",
       {},
       [](Scene& s) {
         divide(s);
         description(s).partition.kind = "pp";
         s.package.decode.ops[0].name = "/model/layers.3/Gather";
       }},
      {"CB0906 data moved between chips without helper",
       {"CB0906"},
       [](Scene& s) {
         divide(s);
         add_all_reduce(s);
       }},
      {"CB0906 near: data moved between chips by a helper",
       {},
       [](Scene& s) {
         divide(s);
         add_helper(s);
         add_all_reduce(s);
       }},
      {"CB0906 near: two chips that exchange nothing", {}, [](Scene& s) { divide(s); }},
      {"CB0906 a helper without a way back",
       {"CB0906"},
       [](Scene& s) {
         divide(s);
         add_helper(s);
         add_all_reduce(s);
         description(s).d2d->routes.pop_back();
       }},
      {"CB0906 a helper that is needed and missing",
       {"CB0906"},
       [](Scene& s) {
         divide(s);
         description(s).d2d = calbin::D2d{{}, true, {}};
       }},
      {"CB0906 a helper of another role",
       {"CB0906"},
       [](Scene& s) {
         divide(s);
         add_helper(s);
         s.package.file("helper").role = "license";
       }},
      {"CB0906 a route to a chip outside the package",
       {"CB0906"},
       [](Scene& s) {
         divide(s);
         add_helper(s);
         description(s).d2d->routes.push_back({0, 2});
       }},
      {"CB0906 near: a helper in a package for one chip is a note",
       {},
       [](Scene& s) {
         add_helper(s);
         description(s).d2d->routes.clear();
       }},
  };
}

}  // namespace

std::vector<LintCase> partition_and_chip_cases() {
  std::vector<LintCase> out = mask_cases();
  for (const auto& part : {partition_cases(), chip_work_cases()}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
