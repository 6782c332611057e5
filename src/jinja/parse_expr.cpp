#include "parse_expr.h"

#include <algorithm>
#include <array>

namespace calkit::jinja {
namespace {

std::vector<ExprPtr> operands(ExprPtr a, ExprPtr b) {
  std::vector<ExprPtr> out;
  out.push_back(std::move(a));
  out.push_back(std::move(b));
  return out;
}
std::vector<ExprPtr> operands(ExprPtr a) {
  std::vector<ExprPtr> out;
  out.push_back(std::move(a));
  return out;
}

std::uint32_t depth_of(const ExprPtr& item) {
  return item ? item->depth : 0;
}

}  // namespace

// Left-leaning chains grow the tree without nesting the parser, so each node is measured.
Result<ExprPtr> ExprParser::node(Op op, int line, std::vector<ExprPtr> items, std::string name) {
  auto out = std::make_unique<Expr>();
  out->op = op;
  out->line = line;
  out->name = std::move(name);
  for (const ExprPtr& item : items) out->depth = std::max(out->depth, depth_of(item) + 1);
  out->items = std::move(items);
  if (out->depth > kMaxTreeDepth)
    return in_.fail(fmt::format("an expression nested more than {} levels deep (limit of the parser)", kMaxTreeDepth));
  return out;
}

// A call's arguments hang below its node, too.
Result<ExprPtr> ExprParser::with_call(Result<ExprPtr> made, Call given) {
  CALKIT_TRY(auto out, std::move(made));
  for (const ExprPtr& one : given.positional) out->depth = std::max(out->depth, one->depth + 1);
  for (const auto& [name, one] : given.named) out->depth = std::max(out->depth, one->depth + 1);
  out->depth = std::max({out->depth, depth_of(given.star) + 1, depth_of(given.star_star) + 1});
  if (out->depth > kMaxTreeDepth)
    return in_.fail(fmt::format("an expression nested more than {} levels deep (limit of the parser)", kMaxTreeDepth));
  out->call = std::move(given);
  return out;
}

Result<ExprPtr> ExprParser::expression(bool with_condition) {
  TokenStream::Deeper deeper(in_.depth);
  CALKIT_CHECK_OK(in_.check_depth());
  return with_condition ? condition() : either();
}

Result<ExprPtr> ExprParser::condition() {
  TokenStream::Deeper deeper(in_.depth);
  CALKIT_CHECK_OK(in_.check_depth());
  int line = in_.now().line;
  CALKIT_TRY(auto then, either());
  while (in_.skip_word("if")) {
    CALKIT_TRY(auto test, either());
    ExprPtr otherwise;
    if (in_.skip_word("else")) {
      CALKIT_TRY(otherwise, condition());
    }
    auto items = operands(std::move(test), std::move(then));
    items.push_back(std::move(otherwise));
    CALKIT_TRY(then, node(Op::kCondition, line, std::move(items)));
    line = in_.now().line;
  }
  return then;
}

Result<ExprPtr> ExprParser::either() {
  int line = in_.now().line;
  CALKIT_TRY(auto left, both());
  while (in_.skip_word("or")) {
    CALKIT_TRY(auto right, both());
    CALKIT_TRY(left, node(Op::kOr, line, operands(std::move(left), std::move(right))));
    line = in_.now().line;
  }
  return left;
}

Result<ExprPtr> ExprParser::both() {
  int line = in_.now().line;
  CALKIT_TRY(auto left, negation());
  while (in_.skip_word("and")) {
    CALKIT_TRY(auto right, negation());
    CALKIT_TRY(left, node(Op::kAnd, line, operands(std::move(left), std::move(right))));
    line = in_.now().line;
  }
  return left;
}

Result<ExprPtr> ExprParser::negation() {
  if (!in_.is_word("not")) return comparison();
  TokenStream::Deeper deeper(in_.depth);
  CALKIT_CHECK_OK(in_.check_depth());
  const int line = in_.take().line;
  CALKIT_TRY(auto operand, negation());
  return node(Op::kNot, line, operands(std::move(operand)));
}

Result<ExprPtr> ExprParser::comparison() {
  static constexpr std::array<std::string_view, 6> kOperators = {"==", "!=", "<", "<=", ">", ">="};
  const int line = in_.now().line;
  CALKIT_TRY(auto first, sum());
  std::vector<std::string> names;
  auto items = operands(std::move(first));
  while (true) {
    if (in_.is(Tok::kOperator) && std::find(kOperators.begin(), kOperators.end(), in_.now().text) != kOperators.end()) {
      names.push_back(in_.take().text);
    } else if (in_.skip_word("in")) {
      names.emplace_back("in");
    } else if (in_.is_word("not") && in_.next_is_word("in")) {
      in_.take();
      in_.take();
      names.emplace_back("not in");
    } else {
      break;
    }
    CALKIT_TRY(auto operand, sum());
    items.push_back(std::move(operand));
  }
  if (names.empty()) return std::move(items.front());
  CALKIT_TRY(auto out, node(Op::kCompare, line, std::move(items)));
  out->operators = std::move(names);
  return out;
}

Result<ExprPtr> ExprParser::sum() {
  int line = in_.now().line;
  CALKIT_TRY(auto left, concatenation());
  while (in_.is_op("+") || in_.is_op("-")) {
    std::string op = in_.take().text;
    CALKIT_TRY(auto right, concatenation());
    CALKIT_TRY(left, node(Op::kBinary, line, operands(std::move(left), std::move(right)), std::move(op)));
    line = in_.now().line;
  }
  return left;
}

Result<ExprPtr> ExprParser::concatenation() {
  const int line = in_.now().line;
  CALKIT_TRY(auto first, product());
  if (!in_.is_op("~")) return first;
  auto items = operands(std::move(first));
  while (in_.skip_op("~")) {
    CALKIT_TRY(auto more, product());
    items.push_back(std::move(more));
  }
  return node(Op::kConcat, line, std::move(items));
}

Result<ExprPtr> ExprParser::product() {
  int line = in_.now().line;
  CALKIT_TRY(auto left, power());
  while (in_.is_op("*") || in_.is_op("/") || in_.is_op("//") || in_.is_op("%")) {
    std::string op = in_.take().text;
    CALKIT_TRY(auto right, power());
    CALKIT_TRY(left, node(Op::kBinary, line, operands(std::move(left), std::move(right)), std::move(op)));
    line = in_.now().line;
  }
  return left;
}

Result<ExprPtr> ExprParser::power() {
  int line = in_.now().line;
  CALKIT_TRY(auto left, unary(true));
  while (in_.skip_op("**")) {
    CALKIT_TRY(auto right, unary(true));
    CALKIT_TRY(left, node(Op::kBinary, line, operands(std::move(left), std::move(right)), "**"));
    line = in_.now().line;
  }
  return left;
}

Result<ExprPtr> ExprParser::unary(bool with_filter) {
  TokenStream::Deeper deeper(in_.depth);
  CALKIT_CHECK_OK(in_.check_depth());
  const int line = in_.now().line;
  ExprPtr out;
  if (in_.is_op("-") || in_.is_op("+")) {
    const Op op = in_.take().text == "-" ? Op::kNegative : Op::kPositive;
    CALKIT_TRY(auto operand, unary(false));
    CALKIT_TRY(out, node(op, line, operands(std::move(operand))));
  } else {
    CALKIT_TRY(out, primary());
  }
  CALKIT_TRY(out, postfix(std::move(out)));
  if (!with_filter) return out;
  return filters_and_tests(std::move(out));
}

Result<ExprPtr> ExprParser::postfix(ExprPtr operand) {
  while (true) {
    if (in_.is_op(".") || in_.is_op("[")) {
      CALKIT_TRY(operand, subscript(std::move(operand)));
    } else if (in_.is_op("(")) {
      CALKIT_TRY(operand, call(std::move(operand)));
    } else {
      return operand;
    }
  }
}

Result<ExprPtr> ExprParser::filters_and_tests(ExprPtr operand) {
  while (true) {
    if (in_.is_op("|")) {
      CALKIT_TRY(operand, filter(std::move(operand), false));
    } else if (in_.is_word("is")) {
      CALKIT_TRY(operand, test(std::move(operand)));
    } else if (in_.is_op("(")) {
      CALKIT_TRY(operand, call(std::move(operand)));
    } else {
      return operand;
    }
  }
}

Result<ExprPtr> ExprParser::subscript(ExprPtr operand) {
  const int line = in_.now().line;
  if (in_.skip_op(".")) {
    if (in_.is(Tok::kName)) return node(Op::kAttribute, line, operands(std::move(operand)), in_.take().text);
    if (!in_.is(Tok::kInteger))
      return in_.fail(fmt::format("expected a name or a number behind '.', got {}", in_.shown()));
    CALKIT_TRY(auto index, number());
    return node(Op::kItem, line, operands(std::move(operand), std::move(index)));
  }
  in_.take();
  std::vector<ExprPtr> arguments;
  while (!in_.is_op("]")) {
    if (!arguments.empty()) CALKIT_CHECK_OK(in_.expect_op(","));
    CALKIT_TRY(auto one, subscript_argument());
    arguments.push_back(std::move(one));
  }
  in_.take();
  ExprPtr argument;
  if (arguments.size() == 1) {
    argument = std::move(arguments.front());
  } else {
    for (const ExprPtr& one : arguments)
      if (one->op == Op::kSlice) return in_.fail_at(line, "a slice among several subscripts; not supported");
    CALKIT_TRY(argument, node(Op::kTuple, line, std::move(arguments)));
  }
  return node(Op::kItem, line, operands(std::move(operand), std::move(argument)));
}

Result<ExprPtr> ExprParser::subscript_argument() {
  const int line = in_.now().line;
  std::vector<ExprPtr> parts(3);
  if (!in_.is_op(":")) {
    CALKIT_TRY(parts[0], expression());
    if (!in_.is_op(":")) return std::move(parts[0]);
  }
  in_.take();
  const auto ends = [&] { return in_.is_op("]") || in_.is_op(","); };
  if (!ends() && !in_.is_op(":")) {
    CALKIT_TRY(parts[1], expression());
  }
  if (in_.skip_op(":") && !ends()) {
    CALKIT_TRY(parts[2], expression());
  }
  return node(Op::kSlice, line, std::move(parts));
}

Result<ExprPtr> ExprParser::call(ExprPtr operand) {
  const int line = in_.now().line;
  CALKIT_TRY(auto given, arguments());
  return with_call(node(Op::kCall, line, operands(std::move(operand))), std::move(given));
}

Result<Call> ExprParser::arguments() {
  const int line = in_.now().line;
  CALKIT_CHECK_OK(in_.expect_op("("));
  Call out;
  const auto wrong = [&] { return in_.fail_at(line, "arguments in an order that no call can have"); };
  bool first = true;
  while (!in_.is_op(")")) {
    if (!first) {
      CALKIT_CHECK_OK(in_.expect_op(","));
      if (in_.is_op(")")) break;
    }
    first = false;
    if (in_.skip_op("*")) {
      if (out.star || out.star_star) return wrong();
      CALKIT_TRY(out.star, expression());
    } else if (in_.skip_op("**")) {
      if (out.star_star) return wrong();
      CALKIT_TRY(out.star_star, expression());
    } else if (in_.is(Tok::kName) && in_.next_is_op("=")) {
      if (out.star_star) return wrong();
      std::string name = in_.take().text;
      in_.take();
      const auto twice = [&](const auto& named) { return named.first == name; };
      if (std::any_of(out.named.begin(), out.named.end(), twice))
        return in_.fail(fmt::format("the argument '{}' is given twice", name));
      CALKIT_TRY(auto value, expression());
      out.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (out.star || out.star_star || !out.named.empty()) return wrong();
      CALKIT_TRY(auto value, expression());
      out.positional.push_back(std::move(value));
    }
  }
  in_.take();
  return out;
}

Result<ExprPtr> ExprParser::filter(ExprPtr operand, bool first_without_pipe) {
  while (in_.is_op("|") || first_without_pipe) {
    if (!first_without_pipe) in_.take();
    first_without_pipe = false;
    const int line = in_.now().line;
    CALKIT_TRY(auto name, in_.expect_name());
    while (in_.skip_op(".")) {
      CALKIT_TRY(const auto more, in_.expect_name());
      name += "." + more;
    }
    Call given;
    if (in_.is_op("(")) {
      CALKIT_TRY(given, arguments());
    }
    CALKIT_TRY(operand,
               with_call(node(Op::kFilter, line, operands(std::move(operand)), std::move(name)), std::move(given)));
  }
  return operand;
}

Result<ExprPtr> ExprParser::test(ExprPtr operand) {
  const int line = in_.take().line;
  const bool negated = in_.skip_word("not");
  CALKIT_TRY(auto name, in_.expect_name());
  while (in_.skip_op(".")) {
    CALKIT_TRY(const auto more, in_.expect_name());
    name += "." + more;
  }
  Call given;
  const bool argument_follows =
      (in_.is(Tok::kName) && !in_.is_word("else") && !in_.is_word("or") && !in_.is_word("and")) ||
      in_.is(Tok::kString) || in_.is(Tok::kInteger) || in_.is(Tok::kFloat) || in_.is_op("[") || in_.is_op("{");
  if (in_.is_op("(")) {
    CALKIT_TRY(given, arguments());
  } else if (argument_follows) {
    if (in_.is_word("is")) return in_.fail("several tests in a chain");
    CALKIT_TRY(auto argument, primary());
    CALKIT_TRY(argument, postfix(std::move(argument)));
    given.positional.push_back(std::move(argument));
  }
  CALKIT_TRY(auto out,
             with_call(node(Op::kTest, line, operands(std::move(operand)), std::move(name)), std::move(given)));
  if (!negated) return out;
  return node(Op::kNot, line, operands(std::move(out)));
}

}  // namespace calkit::jinja
