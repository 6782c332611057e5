/// A canonical description -> the producer's form.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/document.h"
#include "calkit/base/json_pointer.h"
#include "dialect_parts.h"

namespace calkit::calbin {

namespace {

class Inverse {
 public:
  Inverse(const Value& canonical, const Dialect& dialect) : canonical_(canonical), dialect_(dialect) {
    for (const auto& mapping : dialect.map) {
      if (mapping.parse == Parser::kKey) named_[mapping.from.text] = &mapping.to;
      auto& same = fields_[mapping.to.text];
      if (same.empty()) order_.push_back(mapping.to.text);
      same.push_back(&mapping);
    }
    const auto outer_lists_first = [&](const std::string& text) {
      const auto& mapping = *fields_[text].front();
      return mapping.parse == Parser::kItems ? mapping.to.steps.size() : SIZE_MAX;
    };
    std::stable_sort(order_.begin(), order_.end(), [&](const std::string& a, const std::string& b) {
      return outer_lists_first(a) < outer_lists_first(b);
    });
  }

  Result<Value> run() {
    CALKIT_CHECK_OK(check_reach());
    out_ = Value::object();
    for (const auto& text : order_) {
      field_ = &fields_[text];
      CALKIT_CHECK_OK(visit(canonical_, 0));
    }
    return std::move(out_);
  }

 private:
  Error cannot_say(const std::string& pointer, std::string_view why) const {
    return input_error("the canonical description", pointer, why,
                       fmt::format("what dialect {} has a key for", dialect_.id), "extend the dialect's map");
  }

  /// Every value of the description has a mapping.
  Status check_reach() const {
    const Pattern schema{"/schema", {"schema"}};
    std::vector<KnownPath> known{{&schema, false}};
    for (const auto& mapping : dialect_.map) known.push_back({&mapping.to, mapping.parse == Parser::kCopy});
    const auto left = strays(canonical_, known);
    if (!left.empty()) return cannot_say(left[0].pointer, "a value without a mapping");
    return {};
  }

  Status visit(const Value& at, std::size_t step) {
    const auto& steps = field_->front()->to.steps;
    if (step == steps.size()) return say(at);
    if (steps[step] != "*") {
      const Value* member = at.find(steps[step]);
      return member != nullptr ? descend(*member, Step(steps[step]), step) : Status();
    }
    const auto* items = at.if_array();
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i)
      CALKIT_CHECK_OK(descend((*items)[i], Step(i), step));
    return {};
  }

  Status descend(const Value& value, Step step, std::size_t at) {
    to_.push_back(std::move(step));
    Status done = visit(value, at + 1);
    to_.pop_back();
    return done;
  }

  /// The producer's path of the value at hand: list places as they are, or the name of a named thing.
  Result<Path> path_of(const Mapping& mapping) const {
    Path out;
    std::string prefix;
    std::size_t at = 0;
    for (const auto& step : mapping.from.steps) {
      prefix += "/" + pointer_step(step);
      if (step != "*") {
        out.emplace_back(step);
        continue;
      }
      while (!std::holds_alternative<std::size_t>(to_[at])) ++at;
      const std::size_t index = std::get<std::size_t>(to_[at++]);
      const auto name = named_.find(prefix);
      if (name == named_.end()) {
        out.emplace_back(index);
        continue;
      }
      const Path item(to_.begin(), to_.begin() + static_cast<std::ptrdiff_t>(at));
      Path key = item;
      key.emplace_back(name->second->steps.back());
      const Value* value = look_up(canonical_, key);
      const auto* text = value != nullptr ? value->if_string() : nullptr;
      if (text == nullptr) return cannot_say(pointer_of(key), "no text to keep the item under");
      out.emplace_back(*text);
    }
    return out;
  }

  /// The first mapping of the field that is there already decides, if it gives this value; else the first that can
  /// say it and comes before.
  Status say(const Value& value) {
    const Mapping* writer = nullptr;
    Path place;
    for (const Mapping* mapping : *field_) {
      if (mapping->parse == Parser::kKey) return {};  // the name is a step of the path
      CALKIT_TRY(Path path, path_of(*mapping));
      if (const Value* present = look_up(out_, path)) {
        if (mapping->parse != Parser::kItems && parse_value(*mapping, *present) == value) return {};
        break;
      }
      const Value said = unparse_value(*mapping, value);
      const bool exact = mapping->parse == Parser::kItems || parse_value(*mapping, said) == value;
      if (writer != nullptr || !exact) continue;
      writer = mapping;
      place = std::move(path);
    }
    if (writer == nullptr)
      return cannot_say(pointer_of(to_), fmt::format("{}, which reads back as something else", value.describe()));
    Value* target = make_place(out_, place);
    if (target == nullptr) return cannot_say(pointer_of(to_), "a value where another one lies");
    *target = named_.contains(writer->from.text + "/*") ? Value::object() : unparse_value(*writer, value);
    return {};
  }

  const Value& canonical_;
  const Dialect& dialect_;
  std::map<std::string, const Pattern*, std::less<>> named_;
  std::map<std::string, std::vector<const Mapping*>> fields_;  ///< canonical pattern -> its mappings, in their order
  std::vector<std::string> order_;
  const std::vector<const Mapping*>* field_ = nullptr;
  Path to_;
  Value out_;
};

}  // namespace

Result<Value> to_dialect(const Value& canonical, const Dialect& dialect) {
  if (dialect.canonical) return canonical;
  CALKIT_TRY(Value out, Inverse(canonical, dialect).run());
  if (!(translate(out, dialect).document == canonical))
    return input_error("the canonical description", "/", "something that does not survive the way there and back",
                       fmt::format("what dialect {} can say", dialect.id), "extend the dialect's map");
  return out;
}

}  // namespace calkit::calbin
