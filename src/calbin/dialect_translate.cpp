/// The producer's document -> the canonical one, with the origin of each value.
#include <algorithm>
#include <set>

#include "calkit/base/document.h"
#include "calkit/base/json_pointer.h"
#include "calkit/base/text.h"
#include "dialect_parts.h"

namespace calkit::calbin {

/// One translation at work. Lists come first, outer before inner, so that each has all its items however many of their
/// keys are there; then the other mappings in their order, of which the first to find something fills a field.
class Translation {
 public:
  Translation(Canonical& out, const Dialect& dialect) : out_(out), dialect_(dialect) {
    for (const auto& mapping : dialect.map)
      if (mapping.parse == Parser::kKey) named_.insert(mapping.from.text);
  }

  void run() {
    std::vector<std::size_t> lists;
    for (std::size_t i = 0; i < dialect_.map.size(); ++i)
      if (dialect_.map[i].parse == Parser::kItems) lists.push_back(i);
    std::stable_sort(lists.begin(), lists.end(), [&](std::size_t a, std::size_t b) {
      return dialect_.map[a].from.steps.size() < dialect_.map[b].from.steps.size();
    });
    for (const std::size_t i : lists) apply(i);
    for (std::size_t i = 0; i < dialect_.map.size(); ++i)
      if (dialect_.map[i].parse != Parser::kItems) apply(i);
    for (const auto& mapping : dialect_.map) out_.pairs_.emplace_back(mapping.to, mapping.from);
    find_strays();
    out_.document.set("schema", 1);
  }

 private:
  using Origin = Canonical::Origin;

  void apply(std::size_t index) {
    mapping_ = &dialect_.map[index];
    found_ = false;
    visit(*out_.producer_, 0);
    if (!found_) return;
    out_.used.push_back(index);
    if (mapping_->assumed) add_assumed(mapping_->from.text);
    if (!mapping_->quirk.empty()) out_.quirks.emplace_back(mapping_->from.text, mapping_->quirk);
  }

  void add_assumed(const std::string& key) {
    if (std::find(out_.assumed.begin(), out_.assumed.end(), key) == out_.assumed.end()) out_.assumed.push_back(key);
  }

  bool named(std::size_t step) const {
    std::string prefix;
    for (std::size_t i = 0; i <= step; ++i) prefix += "/" + pointer_step(mapping_->from.steps[i]);
    return named_.contains(prefix);
  }

  void visit(const Value& at, std::size_t step) {
    if (step == mapping_->from.steps.size()) return place(at);
    const auto& name = mapping_->from.steps[step];
    if (name != "*") {
      if (const Value* member = at.find(name)) descend(*member, Step(name), step);
      return;
    }
    std::size_t index = 0;
    if (const auto* items = at.if_array()) {
      for (const auto& item : *items) {
        places_.push_back(index);
        descend(item, Step(index++), step);
        places_.pop_back();
      }
    } else if (const auto* members = at.if_object(); members != nullptr && named(step)) {
      for (const auto& [key, value] : *members) {
        places_.push_back(index++);
        descend(value, Step(key), step);
        places_.pop_back();
      }
    }
  }

  void descend(const Value& value, Step step, std::size_t at) {
    from_.push_back(std::move(step));
    visit(value, at + 1);
    from_.pop_back();
  }

  /// The list that an object of named things stands for.
  Value list_of(const Value& raw) const {
    const auto* members = raw.if_object();
    if (members == nullptr || !named_.contains(mapping_->from.text + "/*")) return parse_value(*mapping_, raw);
    Value list = Value::array();
    for (const auto& member : *members) list.push(member.second);
    list.line = raw.line;
    list.column = raw.column;
    return parse_value(*mapping_, list);
  }

  void place(const Value& raw) {
    Path to;
    std::size_t star = 0;
    for (const auto& step : mapping_->to.steps) to.push_back(step == "*" ? Step(places_[star++]) : Step(step));
    const std::string pointer = pointer_of(to);
    if (done_.contains(pointer)) return;
    Value* target = make_place(out_.document, to);
    if (target == nullptr) return;  // something unreadable was carried over where this belongs
    found_ = true;
    const std::string from = pointer_of(from_);
    if (mapping_->parse == Parser::kItems) return place_list(*target, raw, pointer, from);
    done_.insert(pointer);
    *target =
        mapping_->parse == Parser::kKey ? Value(std::get<std::string>(from_.back())) : parse_value(*mapping_, raw);
    target->line = raw.line;
    target->column = raw.column;
    out_.origins_[pointer] = {from, &raw, mapping_->parse == Parser::kCopy};
    mark(to, raw);
  }

  void place_list(Value& target, const Value& raw, const std::string& pointer, const std::string& from) {
    target = list_of(raw);
    out_.origins_[pointer] = {from, &raw, false};
    std::size_t index = 0;
    const auto add = [&](const std::string& step, const Value& item) {
      out_.origins_[pointer + "/" + std::to_string(index++)] = {from + "/" + step, &item, !item.is_object()};
    };
    if (!target.is_array()) return;
    if (const auto* items = raw.if_array())
      for (const auto& item : *items) add(std::to_string(index), item);
    if (const auto* members = raw.if_object())
      for (const auto& [key, item] : *members) add(pointer_step(key), item);
  }

  /// Objects that were made on the way get the place of the first thing in them.
  void mark(const Path& to, const Value& raw) {
    Value* at = &out_.document;
    for (const auto& step : to) {
      if (at->line == 0) {
        at->line = raw.line;
        at->column = raw.column;
      }
      const auto* key = std::get_if<std::string>(&step);
      at = key != nullptr ? at->find(*key) : &(*at->if_array())[std::get<std::size_t>(step)];
    }
  }

  void find_strays() {
    std::vector<KnownPath> known;
    for (const auto& mapping : dialect_.map) known.push_back({&mapping.from, mapping.parse == Parser::kCopy});
    for (const auto& pattern : dialect_.ignored) known.push_back({&pattern, true});
    for (auto& stray : strays(*out_.producer_, known))
      out_.unmapped.push_back({std::move(stray.pointer), stray.value->line, std::move(stray.nearest)});
  }

  Canonical& out_;
  const Dialect& dialect_;
  std::set<std::string, std::less<>> named_;  ///< patterns of members that a `key` mapping names
  std::set<std::string, std::less<>> done_;
  const Mapping* mapping_ = nullptr;
  bool found_ = false;
  Path from_;
  std::vector<std::size_t> places_;
};

Canonical translate(Value producer, const Dialect& dialect) {
  Canonical out;
  out.file = dialect.file;
  out.dialect = dialect.id;
  out.dialect_version = dialect.version;
  out.dialect_digest = dialect.digest;
  out.is_canonical = dialect.canonical;
  out.unmapped_is_error = dialect.unmapped_is_error;
  if (dialect.canonical) {
    out.document = std::move(producer);
    return out;
  }
  out.document = Value::object();
  out.document.line = producer.line;
  out.document.column = producer.column;
  out.producer_ = std::make_shared<const Value>(std::move(producer));
  Translation(out, dialect).run();
  return out;
}

namespace {

/// The steps of a pointer fit a pattern.
bool fits(const std::vector<std::string>& steps, const Pattern& pattern) {
  if (steps.size() != pattern.steps.size()) return false;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (pattern.steps[i] != "*" && pattern.steps[i] != steps[i]) return false;
  return true;
}

std::size_t after_last_star(const Pattern& pattern) {
  const auto last = std::find(pattern.steps.rbegin(), pattern.steps.rend(), "*");
  return static_cast<std::size_t>(pattern.steps.rend() - last);
}

std::string joined(const std::vector<std::string>& steps, std::size_t from, std::size_t to) {
  std::string out;
  for (std::size_t i = from; i < to; ++i) out += "/" + pointer_step(steps[i]);
  return out;
}

const Value* child(const Value& at, const std::string& step) {
  const auto* items = at.if_array();
  if (items == nullptr) return at.find(step);
  const auto index = parse_decimal_u64(step);
  return index && *index < items->size() ? &(*items)[*index] : nullptr;
}

/// The place of a pointer, or of the nearest thing around it.
Source locate(const Value& root, std::string pointer) {
  Source out{std::move(pointer), root.line, root.column, {}};
  const Value* at = &root;
  for (const auto& step : steps_of(out.pointer)) {
    at = child(*at, step);
    if (at == nullptr) return out;
    if (at->line == 0) continue;
    out.line = at->line;
    out.column = at->column;
  }
  const auto* text = at->if_string();
  out.raw = text != nullptr ? *text : at->is_object() || at->is_array() ? at->describe() : to_json(*at);
  return out;
}

}  // namespace

Source Canonical::source(std::string_view canonical) const {
  if (is_canonical || !producer_) return locate(document, std::string(canonical));
  if (const auto at = origins_.find(canonical); at != origins_.end()) return locate(*producer_, at->second.pointer);
  const auto steps = steps_of(canonical);
  for (const auto& [to, from] : pairs_) {
    if (!fits(steps, to)) continue;
    const std::size_t stars_end = after_last_star(to);
    const auto above = origins_.find(joined(steps, 0, stars_end));
    if (stars_end != 0 && above == origins_.end()) continue;
    return locate(*producer_, (stars_end != 0 ? above->second.pointer : std::string()) +
                                  joined(from.steps, after_last_star(from), from.steps.size()));
  }
  for (std::size_t count = steps.size(); count-- > 0;) {
    const auto above = origins_.find(joined(steps, 0, count));
    if (above == origins_.end()) continue;
    const auto& origin = above->second;
    return locate(*producer_, origin.whole ? origin.pointer + joined(steps, count, steps.size()) : origin.pointer);
  }
  return locate(*producer_, "");
}

std::map<std::string, Source> Canonical::source_map() const {
  std::map<std::string, Source> out;
  for (const auto& [pointer, origin] : origins_) out.emplace(pointer, locate(*producer_, origin.pointer));
  return out;
}

}  // namespace calkit::calbin
