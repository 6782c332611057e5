#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calkit/base/files.h"
#include "calkit/base/hash.h"
#include "calkit/frozen/difference.h"
#include "calkit/tensor/metrics.h"
#include "diff_documents.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kFieldsPerFile = 200;

using Hashes = std::map<std::string, std::string>;

Result<Hashes> hash_all(const fs::path& dir) {
  std::error_code ignored;
  if (!fs::is_directory(dir / kSourceDir, ignored) || !fs::is_directory(dir / kReferenceDir, ignored))
    return input_error(dir.string(), {}, "no model-source and reference", "a frozen baseline",
                       "make one with `calkit freeze-baseline model`");
  CALKIT_TRY(const auto files, list_tree(dir));
  Hashes out;
  for (const std::string& file : files) {
    if (file == kSums) continue;  // it only repeats what the files say
    CALKIT_TRY(const auto digest, hash_file(dir / file));
    out.emplace(file, digest.sha256);
  }
  return out;
}

class Differ {
 public:
  Differ(const fs::path& a, const fs::path& b) : a_(a), b_(b) {}

  Result<BaselineDiff> run() {
    CALKIT_CHECK_OK(files());
    CALKIT_CHECK_OK(documents());
    if (reference_changed_) CALKIT_CHECK_OK(prompts());
    return std::move(out_);
  }

 private:
  Status files() {
    CALKIT_TRY(const auto left, hash_all(a_), "reading " + a_.string());
    CALKIT_TRY(const auto right, hash_all(b_), "reading " + b_.string());
    for (const auto& [file, digest] : left) {
      const auto other = right.find(file);
      if (other == right.end())
        out_.only_a.push_back(file);
      else if (other->second != digest)
        out_.changed.push_back(file);
    }
    for (const auto& [file, digest] : right)
      if (!left.contains(file)) out_.only_b.push_back(file);
    const auto in_reference = [](const std::string& file) { return file.starts_with(kReferenceDir); };
    for (const auto* list : {&out_.only_a, &out_.only_b, &out_.changed})
      reference_changed_ = reference_changed_ || std::any_of(list->begin(), list->end(), in_reference);
    return {};
  }

  Status documents() {
    const std::string manifest = fmt::format("{}/{}", kSourceDir, kManifest);
    std::vector<std::string> same;  // changed in nothing but env
    for (const std::string& file : out_.changed) {
      if (!file.ends_with(".json")) continue;
      CALKIT_TRY(auto left, read_json(a_ / file), "reading " + a_.string());
      CALKIT_TRY(auto right, read_json(b_ / file), "reading " + b_.string());
      if (file == manifest && drop_env(left, right)) {
        out_.env_differs = true;
        if (left == right) same.push_back(file);
      }
      std::vector<FieldChange> fields;
      diff_documents(left, right, file, fields);
      if (fields.size() > kFieldsPerFile) {
        out_.fields_left_out += fields.size() - kFieldsPerFile;
        fields.resize(kFieldsPerFile);
      }
      std::move(fields.begin(), fields.end(), std::back_inserter(out_.fields));
    }
    std::erase_if(out_.changed,
                  [&](const std::string& file) { return std::find(same.begin(), same.end(), file) != same.end(); });
    return {};
  }

  // True if the two differ in `env`, which both lose.
  static bool drop_env(Value& left, Value& right) {
    const Value *a = left.find("env"), *b = right.find("env");
    const bool differs = a == nullptr || b == nullptr ? a != b : !(*a == *b);
    for (Value* document : {&left, &right})
      if (auto* members = document->if_object())
        std::erase_if(*members, [](const Value::Member& member) { return member.first == "env"; });
    return differs;
  }

  Status prompts() {
    CALKIT_TRY(const Reference left, read_reference(a_), "reading " + a_.string());
    CALKIT_TRY(const Reference right, read_reference(b_), "reading " + b_.string());
    std::map<std::string_view, const ReferenceItem*> theirs;
    for (const ReferenceItem& item : right.items) theirs.emplace(item.prompt.id, &item);
    for (const ReferenceItem& item : left.items) {
      const auto other = theirs.find(item.prompt.id);
      if (other == theirs.end()) {
        out_.prompts_only_a.push_back(item.prompt.id);
        continue;
      }
      if (auto changes = item_changes(item, *other->second); !changes.empty())
        out_.prompts.emplace_back(item.prompt.id, std::move(changes));
      theirs.erase(other);
    }
    for (const ReferenceItem& item : right.items)
      if (theirs.contains(item.prompt.id)) out_.prompts_only_b.push_back(item.prompt.id);
    return {};
  }

  static std::vector<std::string> item_changes(const ReferenceItem& a, const ReferenceItem& b) {
    std::vector<std::string> out;
    if (a.prompt.kind != b.prompt.kind) out.push_back(fmt::format("kind: {} -> {}", a.prompt.kind, b.prompt.kind));
    if (a.prompt.text != b.prompt.text)
      out.push_back(fmt::format("text: {} -> {} bytes", a.prompt.text.size(), b.prompt.text.size()));
    if (a.prompt.add_special_tokens != b.prompt.add_special_tokens)
      out.push_back(
          fmt::format("add_special_tokens: {} -> {}", a.prompt.add_special_tokens, b.prompt.add_special_tokens));
    if (a.ids != b.ids) {
      const auto at = std::mismatch(a.ids.begin(), a.ids.end(), b.ids.begin(), b.ids.end()).first - a.ids.begin();
      out.push_back(fmt::format("token ids: {} -> {}, other from position {} on", a.ids.size(), b.ids.size(), at));
    }
    if (a.logits.size() != b.logits.size())
      out.push_back(fmt::format("logits: {} -> {}", a.logits.size(), b.logits.size()));
    else if (a.logits != b.logits) {
      const Closeness close = compare(b.logits, a.logits);
      out.push_back(fmt::format("logits: max abs {:.3g} at id {}, NMSE {:.3g}", close.max_abs, close.max_abs_index,
                                close.nmse.value_or(0)));
    }
    greedy_changes(a, b, out);
    return out;
  }

  static void greedy_changes(const ReferenceItem& a, const ReferenceItem& b, std::vector<std::string>& out) {
    if (a.greedy.size() != b.greedy.size())
      out.push_back(fmt::format("greedy steps: {} -> {}", a.greedy.size(), b.greedy.size()));
    const std::size_t steps = std::min(a.greedy.size(), b.greedy.size());
    bool numbers = false;
    for (std::size_t i = 0; i < steps; ++i) {
      if (a.greedy[i].token != b.greedy[i].token) {
        out.push_back(fmt::format("greedy step {}: token {} -> {}", i, a.greedy[i].token, b.greedy[i].token));
        return;
      }
      numbers =
          numbers || a.greedy[i].top_logits != b.greedy[i].top_logits || a.greedy[i].top_ids != b.greedy[i].top_ids;
    }
    if (numbers) out.push_back("greedy steps: the same tokens, other top logits");
  }

  const fs::path &a_, &b_;
  BaselineDiff out_;
  bool reference_changed_ = false;
};

Value side(const std::optional<Value>& value) {
  return value ? *value : Value();
}

}  // namespace

Result<BaselineDiff> diff_baselines(const fs::path& a, const fs::path& b) {
  return Differ(a, b).run();
}

Value to_value(const BaselineDiff& diff) {
  Value fields(Value::Array{}), prompts(Value::Array{});
  for (const FieldChange& change : diff.fields)
    fields.push(Value::object({{"file", change.file},
                               {"pointer", change.pointer},
                               {"in_a", change.a.has_value()},
                               {"in_b", change.b.has_value()},
                               {"a", side(change.a)},
                               {"b", side(change.b)}}));
  for (const auto& [id, changes] : diff.prompts)
    prompts.push(Value::object({{"id", id}, {"changes", Value::list(changes)}}));
  return Value::object({{"schema", "calkit.baseline-diff/1"},
                        {"equal", diff.equal()},
                        {"env_differs", diff.env_differs},
                        {"files", Value::object({{"only_a", Value::list(diff.only_a)},
                                                 {"only_b", Value::list(diff.only_b)},
                                                 {"changed", Value::list(diff.changed)}})},
                        {"fields", std::move(fields)},
                        {"fields_left_out", diff.fields_left_out},
                        {"prompts", Value::object({{"only_a", Value::list(diff.prompts_only_a)},
                                                   {"only_b", Value::list(diff.prompts_only_b)},
                                                   {"changed", std::move(prompts)}})}});
}

}  // namespace calkit::frozen
