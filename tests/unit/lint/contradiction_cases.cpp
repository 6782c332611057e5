/// Packages that say two things at once, each in another place.
#include "package_parts.h"
#include "scenes.h"

namespace calkit::lint {

namespace {

constexpr const char* kDecodeMap = "iomaps/iomap.decode.json";

calbin::IoTensor& logits(Scene& s) {
  return s.package.decode_model().outputs[0];
}

/// Both submodels with an I/O map; `change` has the decode's.
LintCase mapped(const char* name, Ids expected, std::function<void(Value&)> change, Ids open = {}) {
  return {name, std::move(expected),
          [change = std::move(change)](Scene& s) {
            for (auto* model : {&s.package.prefill_model(), &s.package.decode_model()})
              testing_support::add_iomap(s.package, *model, 0);
            std::string& text = s.package.files[kDecodeMap];
            Value map = parse_json(text, kDecodeMap).value();
            change(map);
            text = map.is_string() ? *map.if_string() : to_json(map);
          },
          std::move(open)};
}
Value& row(Value& map, std::size_t i) {
  return (*map.find("rows")->if_array())[i];
}

std::vector<LintCase> map_cases() {
  return {
      mapped("CB0509 near: I/O maps that say what the description says", {}, [](Value&) {}),
      mapped("CB0509 near: an I/O map in another order", {}, [](Value& m) { std::swap(row(m, 0), row(m, 2)); }),
      mapped("an I/O map with another address", {"CB0509"}, [](Value& m) { row(m, 2).set("base", "0x10005080"); }),
      mapped("an I/O map with another size", {"CB0509"}, [](Value& m) { row(m, 2).set("size", 124); }),
      mapped("an I/O map with a register elsewhere", {"CB0509"}, [](Value& m) { row(m, 3).set("base", "0x10005800"); }),
      mapped("an I/O map without the logits", {"CB0509"},
             [](Value& m) { m.find("rows")->if_array()->erase(m.find("rows")->if_array()->begin() + 2); }),
      mapped("an I/O map without a register", {"CB0509"}, [](Value& m) { m.find("rows")->if_array()->pop_back(); }),
      mapped("an I/O map with a tensor nobody has", {"CB0509"}, [](Value& m) { row(m, 2).set("name", "logit"); }),
      mapped("an I/O map with a row twice", {"CB0509"}, [](Value& m) { m.find("rows")->push(row(m, 0)); }),
      mapped("the I/O map of the other submodel", {"CB0509"}, [](Value& m) { m.set("submodel", "mini-prefill"); }),
      mapped("an I/O map for another chip", {"CB0509"}, [](Value& m) { m.set("chip", 1); }),
      mapped("an I/O map of another schema", {"CB0201"}, [](Value& m) { m.set("schema", "calkit.iomap/2"); },
             {"CB0509"}),
      mapped("an I/O map with a number as address", {"CB0201"}, [](Value& m) { row(m, 0).set("base", 268455936); },
             {"CB0509"}),
      mapped("an I/O map that is cut", {"CB0201"}, [](Value& m) { m = Value("{\"schema\": "); }, {"CB0509"}),
      mapped("an I/O map with a key twice", {"CB0202"}, [](Value& m) { m = Value("{\"chip\": 0, \"chip\": 0}"); },
             {"CB0509"}),
      {"an I/O map that is a file of another role",
       {"CB0509"},
       [](Scene& s) {
         testing_support::add_iomap(s.package, s.package.decode_model(), 0);
         s.package.file("iomap.decode").role = "log";
       }},
      {"an op list that is a file of another role",
       {"CB0509"},
       [](Scene& s) { s.package.file("oplist.decode").role = "log"; }},
  };
}

/// The number one again, behind the first.
void add_one(Scene& s) {
  const std::int64_t one = 1;
  put_bytes(s, 4104, &one, sizeof one);
  auto again = s.package.param("one");
  again.offset += 8;
  again.base += 8;
  s.package.description.params.push_back(again);
}

LintCase edited(const char* name, Ids expected, std::function<void(Value&)> change, Ids open = {}) {
  return {name, std::move(expected), [change = std::move(change)](Scene& s) { s.package.edit_document = change; },
          std::move(open)};
}
std::function<void(Value&)> set(const char* section, const char* key, Value value) {
  return [=](Value& d) { d.find(section)->set(key, value); };
}
std::function<void(Value&)> drop(const char* section, const char* key) {
  return [=](Value& d) {
    auto& members = *d.find(section)->if_object();
    std::erase_if(members, [&](const Value::Member& member) { return member.first == key; });
  };
}

std::vector<LintCase> name_cases() {
  return {
      {"two inputs of one name", {"CB0202"}, [](Scene& s) { s.package.decode_model().inputs[1].name = "token_ids"; }},
      {"CB0202 near: an input and an output of one name", {}, [](Scene& s) { logits(s).name = "token_ids"; }},
      {"two registers of one name",
       {"CB0202", "CB0407"},
       [](Scene& s) { s.package.decode_model().csr[1].name = "cur_seq_len"; }},
      {"a parameter twice", {"CB0202"}, [](Scene& s) { add_one(s); }},
      {"CB0202 near: a parameter in two parts",
       {},
       [](Scene& s) {
         add_one(s);
         auto& params = s.package.description.params;
         for (auto* part : {&params[1], &params[2]}) {
           part->logical_shape = {2};
           part->shard = calbin::Shard{0, part == &params[2], 2, false};
         }
       }},
      edited("a type that is empty", {"CB0301"},
             [](Value& d) { (*d.find("submodels")->if_array())[1].set("type", ""); }),
  };
}

std::vector<LintCase> fact_cases() {
  const auto experts = [](std::int64_t per_token) {
    return [=](Value& d) {
      d.find("model")->set("experts", 2);
      d.find("model")->set("experts_per_token", per_token);
    };
  };
  return {
      {"a block that is smaller than its logical shape",
       {"CB0505"},
       [](Scene& s) { s.package.param("table").logical_shape = {64, 32}; }},
      {"CB0505 near: a block that is padded", {}, [](Scene& s) { s.package.param("table").logical_shape = {31, 32}; }},
      {"positions whose logical shape is larger than the physical",
       {"CB0303", "CB0505"},
       [](Scene& s) { s.package.prefill_model().inputs[1].layout.logical_shape = {1, 32}; }},
      edited("more experts for a token than there are", {"CB0207"}, experts(3)),
      edited("CB0207 near: all experts for each token", {}, experts(2)),
      edited("experts for each token of a model that has none", {"CB0204"}, set("model", "experts_per_token", 2),
             {"CB0903"}),
      edited("experts, and nobody knows how many for each token", {"CB0204"}, set("model", "experts", 2)),
      edited("a negative RoPE base", {"CB0207"}, set("model", "rope_theta", -10000.0)),
      edited("CB0207 near: a model without RoPE", {}, set("model", "rope_theta", 0)),
      edited("a day that no month has", {"CB0205"}, set("package", "created", "2025-02-31T00:00:00Z")),
      edited("the 29th of February of a common year", {"CB0205"}, set("provenance", "started", "2025-02-29T00:00:00Z")),
      edited("CB0205 near: the 29th of February", {}, set("package", "created", "2024-02-29T00:00:00Z")),
      {"a region that shares with one that does not",
       {"CB0504"},
       [](Scene& s) { s.package.region("workspace").shared_with = {"kv"}; }},
      {"a region that shares with itself",
       {"CB0504"},
       [](Scene& s) { s.package.region("workspace").shared_with = {"workspace"}; }},
      {"CB0504 near: two regions that may share and do not",
       {},
       [](Scene& s) {
         s.package.region("workspace").shared_with = {"kv"};
         s.package.region("kv").shared_with = {"workspace"};
       }},
      edited("an empty memory text", {"CB0801"}, set("memory", "declared_text", "")),
      edited("CB0801 near: no memory text", {}, drop("memory", "declared_text")),
      edited("a package planned for another device profile", {"CB0902"}, set("device", "profile", "other")),
      {"CB0902 near: a package of the profile that judges it", {}, [](Scene& s) { s.profile = board(); }},
      edited("no compiler in the provenance", {"CB1101"},
             [](Value& d) {
               Value& made = *d.find("provenance");
               made.set("compiler", Value());
               made.find("notes")->set("kernel", "none");
               std::erase_if(*made.find("notes")->if_object(),
                             [](const auto& note) { return note.first == "compiler"; });
             }),
      edited("a build that ended before it began", {"CB1101"},
             [](Value& d) {
               d.find("provenance")->set("started", "2026-01-02T03:04:05Z");
               d.find("provenance")->set("finished", "2026-01-02T03:04:04Z");
             }),
      edited("CB1101 near: a build of less than a second", {},
             [](Value& d) {
               d.find("provenance")->set("started", "2026-01-02T03:04:05Z");
               d.find("provenance")->set("finished", "2026-01-02T03:04:05Z");
             }),
      edited("query heads that no KV head can serve alike", {"CB0411"},
             [](Value& d) {
               Value& model = *d.find("model");
               model.set("q_heads", 3);
               model.set("kv_heads", 2);
               model.set("head_dim", 2);
             }),
      edited("no digest of the compiler's settings", {"CB1101"}, drop("provenance", "config_digest")),
      edited("no command at all", {"CB1101"}, drop("provenance", "argv")),
      edited("no graphs at all", {"CB1101"}, drop("provenance", "input_onnx_digest")),
      edited("a mask of the other chip", {"CB0404"}, set("device", "chip_mask", "0x2")),
  };
}

/// Records in the form of docs/formats/calbin.md: one of the decode, four of the prefill.
LintCase recorded(const char* name, Ids expected, std::string_view from, std::string_view to) {
  return {name, std::move(expected), [=](Scene& s) {
            for (const char* kind : {"cpu", "pld"}) {
              testing_support::add_command(s.package, s.package.prefill_model(), s.package.prefill, kind);
              testing_support::add_command(s.package, s.package.decode_model(), s.package.decode, kind);
            }
            std::string& text = s.package.files["commands/cpu.decode.txt"];
            if (!from.empty()) text.replace(text.find(from), from.size(), to);
          }};
}

std::vector<LintCase> record_cases() {
  return {
      recorded("CB1002 near: records in our form", {}, "", ""),
      recorded("CB1002 the one record at another address", {"CB1002"}, "0x10005040", "0x10005044"),
      recorded("CB1002 the one record of another size", {"CB1002"}, " 128\n", " 256\n"),
      recorded("CB1002 the one record with another opcode", {"CB1002"}, "0 16 ", "0 17 "),
      recorded("CB1002 near: an opcode in hexadecimal", {}, "0 16 ", "0 0x10 "),
  };
}

}  // namespace

std::vector<LintCase> contradiction_cases() {
  auto out = map_cases();
  for (const auto& part : {name_cases(), fact_cases(), record_cases()}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
