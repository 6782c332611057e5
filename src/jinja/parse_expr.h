#pragma once
#include "token_stream.h"

namespace calkit::jinja {

class ExprParser {
 public:
  explicit ExprParser(TokenStream& in) : in_(in) {}

  Result<ExprPtr> expression(bool with_condition = true);
  /// One expression, or several as a tuple. @param until a word that ends it beside the usual ends.
  Result<ExprPtr> tuple(bool with_condition, std::string_view until, bool parentheses = false);
  /// What can be assigned to: names, tuples of them and, if allowed, attributes of a namespace.
  Result<ExprPtr> target(std::string_view until, bool name_spaces);
  Result<ExprPtr> filter(ExprPtr operand, bool first_without_pipe);

 private:
  Result<ExprPtr> condition();
  Result<ExprPtr> either();
  Result<ExprPtr> both();
  Result<ExprPtr> negation();
  Result<ExprPtr> comparison();
  Result<ExprPtr> sum();
  Result<ExprPtr> concatenation();
  Result<ExprPtr> product();
  Result<ExprPtr> power();
  Result<ExprPtr> unary(bool with_filter);
  Result<ExprPtr> primary(bool name_spaces = false);
  Result<ExprPtr> word(bool name_spaces);
  Result<ExprPtr> number();
  Result<ExprPtr> list();
  Result<ExprPtr> dict();
  Result<ExprPtr> postfix(ExprPtr operand);
  Result<ExprPtr> filters_and_tests(ExprPtr operand);
  Result<ExprPtr> subscript(ExprPtr operand);
  Result<ExprPtr> subscript_argument();
  Result<ExprPtr> call(ExprPtr operand);
  Result<ExprPtr> test(ExprPtr operand);
  Result<Call> arguments();
  Result<ExprPtr> node(Op op, int line, std::vector<ExprPtr> items, std::string name = {});
  Result<ExprPtr> with_call(Result<ExprPtr> made, Call given);
  Result<ExprPtr> items_of(std::string_view until, bool with_condition, bool simple, bool parentheses,
                           bool name_spaces);
  bool at_tuple_end(std::string_view until) const;
  Status check_target(const Expr& target) const;

  TokenStream& in_;
};

}  // namespace calkit::jinja
