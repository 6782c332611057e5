#include <fmt/format.h>

#include "ops.h"
#include "parser.h"

namespace calkit::jinja {

Result<Var> Run::eval(const Expr& e, Frame& frame) {
  Deeper deeper(*this);
  CALKIT_CHECK_OK(check_nesting());
  CALKIT_CHECK_OK(step());
  return eval_node(e, frame);
}

Result<Var> Run::eval_node(const Expr& e, Frame& frame) {
  switch (e.op) {
    case Op::kConst:
      return e.constant;
    case Op::kName:
      return eval_name(e, frame);
    case Op::kTuple:
    case Op::kList:
      return eval_sequence(e, frame);
    case Op::kDict:
      return eval_dict(e, frame);
    case Op::kCondition:
      return eval_condition(e, frame);
    case Op::kOr:
    case Op::kAnd:
    case Op::kNot:
      return eval_logic(e, frame);
    case Op::kCompare:
      return eval_compare(e, frame);
    case Op::kBinary:
      return eval_binary(e, frame);
    case Op::kConcat:
      return eval_concat(e, frame);
    case Op::kNegative:
    case Op::kPositive:
      return eval_sign(e, frame);
    case Op::kAttribute:
    case Op::kItem:
      return eval_item(e, frame);
    case Op::kFilter:
      return eval_filter(e, nullptr, frame);
    case Op::kTest:
      return eval_test(e, frame);
    case Op::kCall:
      return eval_call(e, frame, nullptr);
    default:
      break;
  }
  return Error{ErrorKind::kInternal, "a node that no expression has"};
}

Result<Var> Run::eval_name(const Expr& e, const Frame& frame) {
  const Frame* at = &frame;
  for (std::uint32_t i = 0; i < e.hops; ++i) at = at->outer;
  const Var& value = at->slots[e.slot];
  if (!value.is(Kind::kMissing)) return value;
  return Var::undefined(fmt::format("'{}' is undefined", e.name));
}

Result<Var> Run::eval_sequence(const Expr& e, Frame& frame) {
  std::vector<Var> items;
  items.reserve(e.items.size());
  for (const ExprPtr& item : e.items) {
    CALKIT_TRY(auto one, eval(*item, frame));
    items.push_back(std::move(one));
  }
  line = e.line;
  return e.op == Op::kList ? list(std::move(items)) : tuple(std::move(items));
}

Result<Var> Run::eval_dict(const Expr& e, Frame& frame) {
  auto out = std::make_shared<Dict>();
  for (std::size_t i = 0; i + 1 < e.items.size(); i += 2) {
    CALKIT_TRY(auto key, eval(*e.items[i], frame));
    CALKIT_TRY(auto value, eval(*e.items[i + 1], frame));
    line = e.line;
    if (!key_text(key)) return fault(fmt::format("'{}' as the key of a dict", type_name(key)));
    CALKIT_CHECK_OK(charge(2 * sizeof(Var) + 80));
    out->set(std::move(key), std::move(value));
  }
  Var made = Var::of(Kind::kDict, std::move(out));
  CALKIT_CHECK_OK(check_depth(made));
  return made;
}

Result<Var> Run::eval_condition(const Expr& e, Frame& frame) {
  CALKIT_TRY(const auto test, eval(*e.items[0], frame));
  if (truth(test)) return eval(*e.items[1], frame);
  if (e.items[2]) return eval(*e.items[2], frame);
  return Var::undefined("the inline if was false and has no else");
}

Result<Var> Run::eval_logic(const Expr& e, Frame& frame) {
  CALKIT_TRY(auto left, eval(*e.items[0], frame));
  if (e.op == Op::kNot) return Var::boolean(!truth(left));
  if (truth(left) == (e.op == Op::kOr)) return left;
  return eval(*e.items[1], frame);
}

Result<Var> Run::eval_compare(const Expr& e, Frame& frame) {
  CALKIT_TRY(auto left, eval(*e.items[0], frame));
  for (std::size_t i = 0; i < e.operators.size(); ++i) {
    CALKIT_TRY(auto right, eval(*e.items[i + 1], frame));
    line = e.line;
    CALKIT_TRY(const bool holds, compare(*this, e.operators[i], left, right));
    if (!holds) return Var::boolean(false);
    left = std::move(right);
  }
  return Var::boolean(true);
}

Result<Var> Run::eval_binary(const Expr& e, Frame& frame) {
  CALKIT_TRY(const auto left, eval(*e.items[0], frame));
  CALKIT_TRY(const auto right, eval(*e.items[1], frame));
  line = e.line;
  return arithmetic(*this, e.name, left, right);
}

Result<Var> Run::eval_concat(const Expr& e, Frame& frame) {
  std::string out;
  for (const ExprPtr& item : e.items) {
    CALKIT_TRY(const auto value, eval(*item, frame));
    line = e.line;
    CALKIT_TRY(const auto part, str(*this, value));
    CALKIT_CHECK_OK(charge(part.size()));
    out += part;
  }
  return text(std::move(out));
}

Result<Var> Run::eval_sign(const Expr& e, Frame& frame) {
  CALKIT_TRY(const auto value, eval(*e.items[0], frame));
  line = e.line;
  if (value.is(Kind::kUndefined)) return need_value(value);
  if (!value.is_number()) return fault(fmt::format("a sign in front of a '{}'", type_name(value)));
  if (e.op == Op::kPositive) return value.is(Kind::kFloat) ? value : Var::integer(value.integer());
  return arithmetic(*this, value.is(Kind::kFloat) ? "*" : "-",
                    value.is(Kind::kFloat) ? Var::real(-1.0) : Var::integer(0), value);
}

Result<Var> Run::eval_item(const Expr& e, Frame& frame) {
  CALKIT_TRY(const auto value, eval(*e.items[0], frame));
  if (e.op == Op::kAttribute) {
    line = e.line;
    return attribute_of(*this, value, e.name);
  }
  if (e.items[1]->op == Op::kSlice) return eval_slice(*e.items[1], value, frame);
  CALKIT_TRY(const auto key, eval(*e.items[1], frame));
  line = e.line;
  return item_of(*this, value, key);
}

Result<Var> Run::eval_slice(const Expr& e, const Var& value, Frame& frame) {
  Var parts[3] = {Var::none(), Var::none(), Var::none()};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!e.items[i]) continue;
    CALKIT_TRY(parts[i], eval(*e.items[i], frame));
  }
  line = e.line;
  return slice(*this, value, parts[0], parts[1], parts[2]);
}

Result<Args> Run::eval_args(const Call& call, Frame& frame) {
  Args out;
  for (const ExprPtr& one : call.positional) {
    CALKIT_TRY(auto value, eval(*one, frame));
    out.positional.push_back(std::move(value));
  }
  for (const auto& [name, one] : call.named) {
    CALKIT_TRY(auto value, eval(*one, frame));
    out.named.emplace_back(name, std::move(value));
  }
  if (call.star) {
    CALKIT_TRY(const auto value, eval(*call.star, frame));
    CALKIT_TRY(auto more, collect(*this, value));
    for (Var& one : more) out.positional.push_back(std::move(one));
  }
  if (!call.star_star) return out;
  CALKIT_TRY(const auto value, eval(*call.star_star, frame));
  if (!value.is(Kind::kDict)) return fault(fmt::format("a '{}' behind '**'; a dict is needed", type_name(value)));
  for (const auto& [key, member] : value.dict().items) {
    CALKIT_CHECK_OK(step());
    if (!key.is(Kind::kString)) return fault("a key behind '**' that is no string");
    out.named.emplace_back(key.text(), member);
  }
  return out;
}

Result<Var> Run::eval_filter(const Expr& e, const Var* input, Frame& frame) {
  Var value;
  if (e.items[0] == nullptr) {
    value = *input;
  } else if (input != nullptr && e.items[0]->op == Op::kFilter) {
    CALKIT_TRY(value, eval_filter(*e.items[0], input, frame));
  } else {
    CALKIT_TRY(value, eval(*e.items[0], frame));
  }
  CALKIT_TRY(auto args, eval_args(e.call, frame));
  line = e.line;
  const Builtin filter = find_filter(e.name);
  if (filter == nullptr) return fault(missing_filter(e.name));
  return filter(*this, value, args);
}

Result<Var> Run::eval_test(const Expr& e, Frame& frame) {
  CALKIT_TRY(const auto value, eval(*e.items[0], frame));
  CALKIT_TRY(auto args, eval_args(e.call, frame));
  line = e.line;
  const Builtin test = find_test(e.name);
  if (test == nullptr) return fault(missing_test(e.name));
  return test(*this, value, args);
}

Result<Var> Run::eval_call(const Expr& e, Frame& frame, const Var* caller) {
  CALKIT_TRY(const auto callee, eval(*e.items[0], frame));
  CALKIT_TRY(auto args, eval_args(e.call, frame));
  if (caller != nullptr) args.named.emplace_back("caller", *caller);
  line = e.line;
  return call(callee, std::move(args));
}

}  // namespace calkit::jinja
