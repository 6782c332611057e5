#include <algorithm>
#include <charconv>

#include "parse_expr.h"

namespace calkit::jinja {

bool ExprParser::at_tuple_end(std::string_view until) const {
  return in_.is(Tok::kVariableEnd) || in_.is(Tok::kBlockEnd) || in_.is_op(")") ||
         (!until.empty() && in_.is_word(until));
}

Result<ExprPtr> ExprParser::tuple(bool with_condition, std::string_view until, bool parentheses) {
  return items_of(until, with_condition, false, parentheses, false);
}

Result<ExprPtr> ExprParser::items_of(std::string_view until, bool with_condition, bool simple, bool parentheses,
                                     bool name_spaces) {
  int line = in_.now().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) CALKIT_CHECK_OK(in_.expect_op(","));
    if (at_tuple_end(until)) break;
    CALKIT_TRY(auto one, simple ? primary(name_spaces) : expression(with_condition));
    items.push_back(std::move(one));
    if (!in_.is_op(",")) break;
    is_tuple = true;
    line = in_.now().line;
  }
  if (!is_tuple && !items.empty()) return std::move(items.front());
  if (!is_tuple && !parentheses) return in_.fail(fmt::format("expected an expression, got {}", in_.shown()));
  return node(Op::kTuple, line, std::move(items));
}

Result<ExprPtr> ExprParser::target(std::string_view until, bool name_spaces) {
  CALKIT_TRY(auto out, items_of(until, true, true, false, name_spaces));
  CALKIT_CHECK_OK(check_target(*out));
  return out;
}

Status ExprParser::check_target(const Expr& target) const {
  if (target.op == Op::kName || target.op == Op::kNamespaceTarget) return {};
  if (target.op != Op::kTuple) return in_.fail_at(target.line, "this cannot be assigned to");
  for (const ExprPtr& item : target.items) CALKIT_CHECK_OK(check_target(*item));
  return {};
}

Result<ExprPtr> ExprParser::primary(bool name_spaces) {
  const int line = in_.now().line;
  if (in_.is(Tok::kName)) return word(name_spaces);
  if (in_.is(Tok::kInteger) || in_.is(Tok::kFloat)) return number();
  if (in_.is(Tok::kString)) {
    std::string text;
    while (in_.is(Tok::kString)) text += in_.take().text;
    CALKIT_TRY(auto out, node(Op::kConst, line, {}));
    out->constant = Var::text(std::move(text));
    static_cast<void>(out->constant.as_text().length());  // counted now: rendering only reads the tree
    return out;
  }
  if (in_.is_op("[")) return list();
  if (in_.is_op("{")) return dict();
  if (!in_.is_op("(")) return in_.fail(fmt::format("unexpected {}", in_.shown()));
  in_.take();
  CALKIT_TRY(auto out, tuple(true, {}, true));
  CALKIT_CHECK_OK(in_.expect_op(")"));
  return out;
}

Result<ExprPtr> ExprParser::word(bool name_spaces) {
  const Token token = in_.take();
  const std::string& name = token.text;
  if (name == "true" || name == "True" || name == "false" || name == "False" || name == "none" || name == "None") {
    CALKIT_TRY(auto out, node(Op::kConst, token.line, {}));
    out->constant = (name[0] | 0x20) == 'n' ? Var::none() : Var::boolean((name[0] | 0x20) == 't');
    return out;
  }
  if (!name_spaces || !in_.is_op(".")) return node(Op::kName, token.line, {}, name);
  in_.take();
  CALKIT_TRY(auto attribute, in_.expect_name());
  CALKIT_TRY(auto out, node(Op::kNamespaceTarget, token.line, {}, name));
  out->constant = Var::text(std::move(attribute));
  static_cast<void>(out->constant.as_text().length());
  return out;
}

Result<ExprPtr> ExprParser::number() {
  const Token token = in_.take();
  CALKIT_TRY(auto out, node(Op::kConst, token.line, {}));
  const char* first = token.text.data();
  const char* last = first + token.text.size();
  if (token.kind == Tok::kFloat) {
    double value = 0;
    const auto read = std::from_chars(first, last, value);
    if (read.ec != std::errc() || read.ptr != last)
      return in_.fail_at(token.line,
                         fmt::format("the number {} is beyond what a double holds", token.text.substr(0, 40)));
    out->constant = Var::real(value);
    return out;
  }
  int base = 10;
  if (token.text.size() > 2 && token.text[0] == '0') {
    const char kind = static_cast<char>(token.text[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    if (base != 10) first += 2;
  }
  std::int64_t value = 0;
  const auto read = std::from_chars(first, last, value, base);
  if (read.ec != std::errc() || read.ptr != last)
    return in_.fail_at(token.line,
                       fmt::format("the integer {} needs more than 64 bits; not supported", token.text.substr(0, 40)));
  out->constant = Var::integer(value);
  return out;
}

Result<ExprPtr> ExprParser::list() {
  const int line = in_.take().line;
  std::vector<ExprPtr> items;
  while (!in_.is_op("]")) {
    if (!items.empty()) CALKIT_CHECK_OK(in_.expect_op(","));
    if (in_.is_op("]")) break;
    CALKIT_TRY(auto one, expression());
    items.push_back(std::move(one));
  }
  in_.take();
  return node(Op::kList, line, std::move(items));
}

Result<ExprPtr> ExprParser::dict() {
  const int line = in_.take().line;
  std::vector<ExprPtr> items;
  while (!in_.is_op("}")) {
    if (!items.empty()) CALKIT_CHECK_OK(in_.expect_op(","));
    if (in_.is_op("}")) break;
    CALKIT_TRY(auto key, expression());
    CALKIT_CHECK_OK(in_.expect_op(":"));
    CALKIT_TRY(auto value, expression());
    items.push_back(std::move(key));
    items.push_back(std::move(value));
  }
  in_.take();
  return node(Op::kDict, line, std::move(items));
}

}  // namespace calkit::jinja
