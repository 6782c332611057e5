/// Families 05, 06 and 08, what came with the second wave: guard, coverage, contents, units.
#include <cstring>

#include "scenes.h"

namespace calkit::lint {

namespace {

constexpr std::uint64_t kEnd = 4104;  // of the good package's blocks

/// Moves parameter 'one' to `at` of its file, and its memory with it.
void move_one(Scene& s, std::uint64_t at) {
  auto& one = s.package.param("one");
  const std::int64_t value = 1, nothing = 0;
  put_bytes(s, one.offset, &nothing, sizeof nothing);
  put_bytes(s, at, &value, sizeof value);
  one.base = s.package.region("param").base + at;
  one.offset = at;
  s.package.prefill.ops[1].reads[1].base = one.base;
}
void fill_table(Scene& s, char value) {
  const std::string bytes(4096, value);
  put_bytes(s, 0, bytes.data(), bytes.size());
}

void two_chips(Scene& s) {
  auto& d = s.package.description;
  d.device.chips = 2;
  d.device.chip_mask = 3;
  d.device.chip.push_back({1, d.device.chip[0].dram_usable, {}, {}});
}
/// A second slice of the table, in a reservation of its own.
void split_table(Scene& s, bool same_bytes, bool replicated) {
  auto& d = s.package.description;
  auto other = s.package.region("param");
  other.id = "param.1";
  other.base = 0x20000000;
  other.parent.clear();
  d.memory.regions.push_back(other);
  std::string block = s.package.files["params/blk0.bin"].substr(0, 4096);
  if (!same_bytes) block[5] = static_cast<char>(block[5] + 1);
  add_file(s, "blk1", "params/blk1.bin", "param", block);
  auto half = s.package.param("table");
  half.file = "blk1";
  half.region = "param.1";
  half.base = other.base;
  half.shard = calbin::Shard{0, 1, 2, replicated};
  s.package.param("table").shard = calbin::Shard{0, 0, 2, replicated};
  d.params.push_back(half);
}

std::vector<LintCase> guard_cases() {
  const auto usable = [](const char* name, Ids expected, std::uint64_t bytes) {
    return LintCase{name, std::move(expected),
                    [bytes](Scene& s) { s.package.description.device.chip[0].dram_usable = bytes; }};
  };
  return {
      usable("memory planned to the last byte", {"CB0508"}, 34359738368),
      usable("a guard smaller than the profile's", {"CB0508"}, 34292629505),
      usable("CB0508 near: a guard larger than the profile's", {}, 34292629503),
      {"CB0508 near: a guard region",
       {},
       [](Scene& s) {
         auto& d = s.package.description;
         d.device.chip[0].dram_usable = 34359738368;
         d.memory.regions.push_back({"guard", 0, "dram", "guard", 0x20000000, 67108864, 4096, {}, {}});
         d.memory.device_required += 67108864;
         d.memory.declared_text.clear();
       }},
  };
}

std::vector<LintCase> coverage_cases() {
  return {
      {"eight bytes behind the last parameter",
       {"CB0603"},
       [](Scene& s) { s.package.files["params/blk0.bin"].append(8, '\0'); }},
      {"a page between two parameters", {"CB0603"}, [](Scene& s) { move_one(s, 8192 - 8); }},
      {"a hole that no alignment explains", {"CB0603"}, [](Scene& s) { move_one(s, kEnd + 8); }},
      {"CB0603 near: padding before a multiple of 64", {}, [](Scene& s) { quantise(s); }},
      {"padding that is not zero",
       {"CB0603"},
       [](Scene& s) {
         quantise(s);
         put_bytes(s, kEnd + 6, "hidden", 6);
       }},
      {"a parameter file that no parameter names",
       {"CB0603"},
       [](Scene& s) { add_file(s, "blk9", "params/blk9.bin", "param", "12345678"); }},
      {"CB0603 near: such a file of another role",
       {},
       [](Scene& s) { add_file(s, "notes", "notes.bin", "log", "12345678"); }},
  };
}

std::vector<LintCase> chip_cases() {
  return {
      {"a chip of the mask without parameters",
       {"CB0604"},
       [](Scene& s) {
         two_chips(s);
         s.package.description.kv.bytes_per_chip.push_back(0);
       }},
  };
}

std::vector<LintCase> content_cases_only() {
  return {
      {"a table of zeros", {"CB0606"}, [](Scene& s) { fill_table(s, '\0'); }},
      {"a table of ones", {"CB0606"}, [](Scene& s) { fill_table(s, '\xff'); }},
      {"a table of text", {"CB0606"}, [](Scene& s) { fill_table(s, 'x'); }},
      {"CB0606 near: a table with one byte beyond text in each part",
       {},
       [](Scene& s) {
         fill_table(s, 'x');
         for (std::uint64_t at = 0; at < 4096; at += 256) put_bytes(s, at, "\x01", 1);
       }},
      {"CB0606 near: a vector of zeros",
       {},
       [](Scene& s) {
         fill_table(s, '\0');
         auto& table = s.package.param("table");
         table.shape = table.logical_shape = {1024};
       }},
  };
}

std::vector<LintCase> unit_cases() {
  const auto text = [](const char* name, Ids expected, const char* declared) {
    return LintCase{name, std::move(expected),
                    [declared](Scene& s) { s.package.description.memory.declared_text = declared; }};
  };
  return {
      text("bytes in units of 1024 under a unit of 1000", {"CB0804", "CB0805"}, "24 kB"),
      text("CB0804 near: the same in KiB", {}, "24 KiB"),
      text("CB0804 near: a number that fits neither", {"CB0805"}, "23 kB"),
      {"CB0804 near: bytes in units of 1000",
       {},
       [](Scene& s) {
         s.package.description.memory.declared_text = "25 kB";
         s.package.description.memory.device_required = 25000;
       }},
  };
}

}  // namespace

std::vector<LintCase> content_cases() {
  auto out = guard_cases();
  for (auto part : {coverage_cases(), chip_cases(), content_cases_only(), unit_cases()})
    out.insert(out.end(), part.begin(), part.end());
  out.push_back({"two chips with the same slice", {"CB0606"}, [](Scene& s) { split_table(s, true, false); }});
  out.push_back({"CB0606 near: two chips with different slices", {}, [](Scene& s) { split_table(s, false, false); }});
  out.push_back({"CB0606 near: a replicated block", {}, [](Scene& s) { split_table(s, true, true); }});
  return out;
}

}  // namespace calkit::lint
