/// Families 02 and 03.
#include <filesystem>
#include <fstream>

#include "scenes.h"

namespace calkit::lint {

namespace {

void text(Scene& s, std::function<void(std::string&)> edit) {
  s.package.edit_text = std::move(edit);
}
void document(Scene& s, std::function<void(Value&)> edit) {
  s.package.edit_document = std::move(edit);
}

void replace(std::string& in, const std::string& from, const std::string& to) {
  const auto at = in.find(from);
  if (at == std::string::npos) throw std::runtime_error("no " + from);
  in.replace(at, from.size(), to);
}

Value& submodel(Value& d, std::size_t i) {
  return (*d.find("submodels")->if_array())[i];
}

/// All rules but the one that says why nothing could be read.
Ids all_but(const std::string& culprit) {
  Ids out;
  for (const auto& rule : rules())
    if (rule.id != culprit) out.push_back(std::string(rule.id));
  return out;
}

LintCase unreadable(const char* name, const char* rule, std::function<void(std::string&)> edit) {
  return {name, {rule}, [edit = std::move(edit)](Scene& s) { text(s, edit); }, all_but(rule)};
}

std::vector<LintCase> unreadable_cases() {
  return {
      unreadable("an empty description", "CB0201", [](std::string& t) { t.clear(); }),
      unreadable("half a description", "CB0201", [](std::string& t) { t.resize(t.size() / 2); }),
      unreadable("no JSON at all", "CB0201", [](std::string& t) { t = "not a model at all\n"; }),
      unreadable("the first byte flipped", "CB0201", [](std::string& t) { t[0] ^= 1; }),
      unreadable("a description that is null", "CB0205", [](std::string& t) { t = "null"; }),
      unreadable("a description that is a list", "CB0205", [](std::string& t) { t = "[1]"; }),
      unreadable("a description that is a text", "CB0205", [](std::string& t) { t = "\"x\""; }),
      unreadable("bytes after the document", "CB0201", [](std::string& t) { t += "{}"; }),
      {"a byte order mark", {"CB0201"}, [](Scene& s) { text(s, [](std::string& t) { t.insert(0, "\xEF\xBB\xBF"); }); }},
      unreadable("two byte order marks", "CB0201", [](std::string& t) { t.insert(0, "\xEF\xBB\xBF\xEF\xBB\xBF"); }),
      unreadable("a number that is none", "CB0201",
                 [](std::string& t) { replace(t, "\"rope_theta\": ", "\"rope_theta\": NaN, \"x-t\": "); }),
      unreadable("a double beyond its range", "CB0207",
                 [](std::string& t) { replace(t, "\"rope_theta\": ", "\"rope_theta\": 1e400, \"x-t\": "); }),
      unreadable("a negative zero", "CB0207", [](std::string& t) { replace(t, "\"slots\": 2", "\"slots\": -0"); }),
      unreadable("a string of 64 KiB and a byte", "CB0211",
                 [](std::string& t) {
                   replace(t, "\"axes\": []", "\"x-a\": \"" + std::string(65537, 'a') + "\", \"axes\": []");
                 }),
      {"CB0211 near: a string of 64 KiB",
       {},
       [](Scene& s) {
         text(s, [](std::string& t) {
           replace(t, "\"axes\": []", "\"x-a\": \"" + std::string(65536, 'a') + "\", \"axes\": []");
         });
       }},
      unreadable("a million values too many", "CB0211",
                 [](std::string& t) {
                   std::string list = "0";
                   for (int i = 0; i < 1000000; ++i) list += ",0";
                   replace(t, "\"axes\": []", "\"x-a\": [" + list + "], \"axes\": []");
                 }),
      unreadable("a byte that is not UTF-8", "CB0201", [](std::string& t) { replace(t, "mini", "m\xffni"); }),
      {"no description",
       {"CB0201"},
       [](Scene& s) {
         s.package.edit_folder = [](const std::filesystem::path& d) { std::filesystem::remove(d / "calbin.json"); };
       },
       all_but("CB0201")},
      {"white space around the document is fine",
       {},
       [](Scene& s) { text(s, [](std::string& t) { t = "\n  " + t + "\n\n"; }); }},
      unreadable("a key given twice", "CB0202",
                 [](std::string& t) { replace(t, "\"max_batch\": 1", "\"max_batch\": 1, \"max_batch\": 4"); }),
      unreadable("a key given twice in another spelling", "CB0202",
                 [](std::string& t) { replace(t, "\"max_batch\": 1", "\"max_batch\": 1, \"\\u006dax_batch\": 4"); }),
      unreadable(
          "an integer of 65 bits", "CB0207",
          [](std::string& t) { replace(t, "\"device_required\": ", "\"device_required\": 100000000000000000"); }),
      unreadable("nesting without end", "CB0211",
                 [](std::string& t) {
                   replace(t, "\"axes\": []", "\"axes\": " + std::string(70, '[') + std::string(70, ']'));
                 }),
      unreadable("schema 2", "CB0206", [](std::string& t) { replace(t, "\"schema\": 1", "\"schema\": 2"); }),
      unreadable("schema as a text", "CB0206",
                 [](std::string& t) { replace(t, "\"schema\": 1", "\"schema\": \"1\""); }),
      {"no schema",
       {"CB0206"},
       [](Scene& s) { document(s, [](Value& d) { d.set("schema", Value()); }); },
       all_but("CB0206")},
  };
}

/// The description as YAML (JSON is YAML, but for what these cases change), and a dialect that reads it.
void as_yaml(Scene& s, std::function<void(std::string&)> edit) {
  text(s, std::move(edit));
  s.package.edit_folder = [](const std::filesystem::path& d) {
    std::filesystem::rename(d / "calbin.json", d / "calbin.yaml");
    const auto dialects = d.parent_path() / "dialects";
    std::filesystem::create_directory(dialects);
    std::ofstream(dialects / "yaml.yaml") << "schema: calkit.dialect/1\nid: plain-yaml\nversion: \"1\"\n"
                                             "match: {file: calbin.yaml}\nmap: canonical\nunmapped: warn\n";
  };
}
LintCase unreadable_yaml(const char* name, const char* rule, const char* from, const char* to) {
  return {name,
          {rule},
          [from, to](Scene& s) { as_yaml(s, [from, to](std::string& t) { replace(t, from, to); }); },
          all_but(rule)};
}

std::vector<LintCase> yaml_cases() {
  const char* slots = "\"slots\": 2";
  return {
      {"CB0210 near: plain YAML with quoted keys", {}, [](Scene& s) { as_yaml(s, [](std::string&) {}); }},
      unreadable_yaml("an anchor in YAML", "CB0210", slots, "\"slots\": &n 2"),
      unreadable_yaml("an alias in YAML", "CB0210", slots, "\"slots\": *n"),
      unreadable_yaml("a tag in YAML", "CB0210", slots, "\"slots\": !!int 2"),
      unreadable_yaml("an octal number in YAML", "CB0205", slots, "\"slots\": 02"),
      unreadable_yaml("a key twice in YAML", "CB0202", slots, "\"slots\": 2, \"slots\": 4"),
  };
}

std::vector<LintCase> field_cases() {
  return {
      {"two regions with one id",
       {"CB0202"},
       [](Scene& s) {
         auto twin = s.package.region("workspace");
         twin.base += 0x100000;
         twin.parent.clear();
         s.package.description.memory.regions.push_back(twin);
       }},
      {"an op list that is cut",
       {"CB0201"},
       [](Scene& s) { s.package.files["oplists/decode.json"] = "{\"schema\": \"calkit.oplist/1\", \"ops\": ["; },
       {"CB0509", "CB0704", "CB0705"}},
      {"an op list with a key twice",
       {"CB0202"},
       [](Scene& s) { s.package.files["oplists/decode.json"] = "{\"chip\": 0, \"chip\": 0}"; },
       {"CB0509", "CB0704", "CB0705"}},
      {"an op list of another schema",
       {"CB0201"},
       [](Scene& s) { s.package.files["oplists/decode.json"] = "{\"schema\": \"calkit.oplist/2\"}"; },
       {"CB0509", "CB0704", "CB0705"}},
      {"a misspelt key",
       {"CB0203"},
       [](Scene& s) { document(s, [](Value& d) { d.find("limits")->set("contxt", 64); }); }},
      {"an extension key is fine",
       {},
       [](Scene& s) { document(s, [](Value& d) { d.find("limits")->set("x-contxt", 64); }); }},
      {"a required number is absent",
       {"CB0204"},
       [](Scene& s) { document(s, [](Value& d) { d.find("model")->set("vocab", Value()); }); },
       {"CB0403", "CB0406", "CB0409", "CB0411", "CB1202"}},
      {"a section is absent",
       {"CB0204"},
       [](Scene& s) { document(s, [](Value& d) { d.set("kv", Value()); }); },
       {"CB0405", "CB0410", "CB0507"}},
      {"a parameter names a file nobody lists",
       {"CB0204"},
       [](Scene& s) { s.package.param("one").file = "blk7"; },
       {"CB0601", "CB0602", "CB0603", "CB0606", "CB1303"}},
      {"a tensor names a region nobody reserves",
       {"CB0204"},
       [](Scene& s) { s.package.decode_model().inputs[0].region = "io.nowhere"; },
       {"CB0501", "CB0502", "CB0509", "CB0701", "CB0702", "CB0703", "CB0705"}},
      {"an optional text is absent and that is fine", {}, [](Scene& s) { s.package.description.created.reset(); }},
      {"a number as a text",
       {"CB0205"},
       [](Scene& s) { document(s, [](Value& d) { submodel(d, 1).set("batch", "1"); }); },
       {"CB0303", "CB0307", "CB0309", "CB0401", "CB0406", "CB0412", "CB0509"}},
      {"a number with a fraction",
       {"CB0205"},
       [](Scene& s) { document(s, [](Value& d) { d.find("limits")->set("context", 64.0); }); },
       {"CB0309", "CB0402", "CB0507", "CB1205"}},
      {"a word that is none",
       {"CB0205"},
       [](Scene& s) { document(s, [](Value& d) { d.find("partition")->set("kind", "2_chips"); }); },
       {"CB0309", "CB0903", "CB0904", "CB0905"}},
      {"a negative size",
       {"CB0207"},
       [](Scene& s) { document(s, [](Value& d) { d.find("memory")->set("device_required", -1); }); },
       {"CB0803", "CB0804", "CB0805"}},
      {"a version that is no version",
       {"CB0208"},
       [](Scene& s) {
         s.package.description.version = "latest";
         s.service->calbin_version = "latest";
       }},
      {"a version with a wildcard",
       {"CB0208"},
       [](Scene& s) {
         s.package.description.version = "1.0.x";
         s.service->calbin_version = "1.0.x";
       }},
      {"another version than the service names", {"CB0208"}, [](Scene& s) { s.package.description.version = "1.0.1"; }},
      {"a version with a suffix is exact",
       {},
       [](Scene& s) {
         s.package.description.version = "1.0.0-rc.1";
         s.service->calbin_version = "1.0.0-rc.1";
       }},
      {"another runtime ABI in the package",
       {"CB0209"},
       [](Scene& s) { s.package.description.compat.runtime_abi = "0.8.0"; }},
      {"another runtime ABI in package and service",
       {"CB0209"},
       [](Scene& s) {
         s.package.description.compat.runtime_abi = "0.8.0";
         s.service->runtime_abi = "0.8.0";
       }},
      {"another runtime ABI in the service", {"CB0209"}, [](Scene& s) { s.service->runtime_abi = "0.7.60"; }},
  };
}

std::vector<LintCase> submodel_cases() {
  return {
      {"an unknown type", {"CB0301"}, [](Scene& s) { s.package.prefill_model().type = "llm"; }},
      {"a type in another case", {"CB0301"}, [](Scene& s) { s.package.prefill_model().type = "Prefill"; }},
      {"a type with a blank", {"CB0301"}, [](Scene& s) { s.package.decode_model().type = "decode "; }},
      {"a producer's word for the right type",
       {"CB0301"},
       [](Scene& s) { s.package.prefill_model().type = "llm_prefill"; }},
      {"a prefill typed llm_decode",
       {"CB0301", "CB0302"},
       [](Scene& s) { s.package.prefill_model().type = "llm_decode"; }},
      {"a prefill typed llm_decode, no service given",
       {"CB0301", "CB0302"},
       [](Scene& s) {
         s.package.prefill_model().type = "llm_decode";
         s.service.reset();
       }},
      {"a prefill typed decode", {"CB0302"}, [](Scene& s) { s.package.prefill_model().type = "decode"; }},
      {"a decode typed prefill", {"CB0302"}, [](Scene& s) { s.package.decode_model().type = "prefill"; }},
      {"a decode that takes four tokens",
       {"CB0302", "CB0303"},
       [](Scene& s) { s.package.decode_model().tokens.max = 4; }},
      {"swapped models in the service",
       {"CB0302"},
       [](Scene& s) { std::swap(s.service->prefill_model, s.service->decode_model); }},
      {"a kv_update beside them is fine",
       {},
       [](Scene& s) {
         add_decode(s, "mini-kv");
         s.package.description.submodels.back().type = "kv_update";
       }},
      {"a name that is a prefix", {"CB0304"}, [](Scene& s) { s.service->decode_model = "mini-dec"; }},
      {"a name that is longer", {"CB0304"}, [](Scene& s) { s.service->decode_model = "mini-decode-v2"; }},
      {"a name in another case", {"CB0304"}, [](Scene& s) { s.service->prefill_model = "Mini-prefill"; }},
      {"a name with a trailing blank", {"CB0304"}, [](Scene& s) { s.service->prefill_model = "mini-prefill "; }},
      {"no prefill in the package",
       {"CB0306", "CB1201"},
       [](Scene& s) { s.package.description.submodels.erase(s.package.description.submodels.begin()); }},
      {"no decode in the package", {"CB0306", "CB1201"}, [](Scene& s) { s.package.description.submodels.pop_back(); }},
      {"two submodels with one name",
       {"CB0303", "CB0307", "CB0407", "CB0905"},
       [](Scene& s) {
         auto twin = s.package.decode_model();
         twin.batch = 2;
         twin.outputs[0].layout.logical_shape[0] = twin.outputs[0].shape[0] = 2;
         twin.outputs[0].size *= 2;
         twin.oplist.clear();
         s.package.description.submodels.push_back(twin);
       }},
      {"two submodels that cannot be told apart",
       {"CB0305", "CB0307", "CB0905"},
       [](Scene& s) {
         auto twin = s.package.decode_model();
         twin.name = "mini-decode-b";
         twin.oplist.clear();
         s.package.description.submodels.push_back(twin);
       }},
  };
}

}  // namespace

std::vector<LintCase> description_cases() {
  auto out = unreadable_cases();
  for (auto part : {yaml_cases(), field_cases(), submodel_cases()}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace calkit::lint
