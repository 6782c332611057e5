#include "names.h"

namespace calkit::jinja {

void Collector::expr(const Expr* e) {
  if (e == nullptr) return;
  if (e->op == Op::kName || e->op == Op::kNamespaceTarget) symbols_->load(e->name);
  for (const ExprPtr& item : e->items) expr(item.get());
  call(e->call);
}

void Collector::call(const Call& c) {
  for (const ExprPtr& one : c.positional) expr(one.get());
  for (const auto& [name, one] : c.named) expr(one.get());
  expr(c.star.get());
  expr(c.star_star.get());
}

void Collector::target(const Expr& e, bool parameter) {
  if (e.op == Op::kNamespaceTarget) return symbols_->load(e.name);
  if (e.op == Op::kName) return parameter ? symbols_->parameter(e.name) : symbols_->store(e.name);
  for (const ExprPtr& item : e.items) target(*item, parameter);
}

void Collector::body(const Body& body) {
  for (const auto& one : body) stmt(*one);
}

void Collector::stmt(const Stmt& s) {
  switch (s.what) {
    case Stmt::kOutput:
    case Stmt::kFor:
    case Stmt::kCallBlock:
    case Stmt::kFilterBlock:
      return expr(s.value.get());
    case Stmt::kIf:
      return branches(s);
    case Stmt::kSet:
      expr(s.value.get());
      return target(*s.target, false);
    case Stmt::kSetBlock:
      return target(*s.target, false);
    case Stmt::kMacro:
      return symbols_->store(s.routine.name);
    case Stmt::kWith:
      for (const ExprPtr& value : s.tests) expr(value.get());
      return;
    default:
      return;
  }
}

void Collector::branches(const Stmt& s) {
  expr(s.tests[0].get());
  Symbols* const before = symbols_;
  std::vector<Symbols> all(3);  // the first branch, all of the elifs, the else
  for (Symbols& one : all) one.base = before;
  symbols_ = &all[0];
  body(s.bodies[0]);
  symbols_ = &all[1];
  for (std::size_t i = 1; i < s.bodies.size(); ++i) {
    expr(s.tests[i].get());
    std::vector<Symbols> single(1);
    single[0].base = symbols_;
    symbols_ = &single[0];
    body(s.bodies[i]);
    symbols_ = &all[1];
    symbols_->join(single);
  }
  symbols_ = &all[2];
  body(s.otherwise);
  symbols_ = before;
  symbols_->join(all);
}

void Special::body(const Body& body) {
  for (const auto& one : body) stmt(*one);
}

void Special::expr(const Expr* e) {
  if (e == nullptr) return;
  if (e->op == Op::kName && wanted_.contains(e->name)) found_.insert(e->name);
  for (const ExprPtr& item : e->items) expr(item.get());
  for (const ExprPtr& one : e->call.positional) expr(one.get());
  for (const auto& [name, one] : e->call.named) expr(one.get());
  expr(e->call.star.get());
  expr(e->call.star_star.get());
}

void Special::target(const Expr* e) {
  if (e == nullptr) return;
  if (e->op == Op::kName) wanted_.erase(e->name);
  for (const ExprPtr& item : e->items) target(item.get());
}

void Special::parameters(const Routine& routine) {
  for (const Parameter& one : routine.parameters) wanted_.erase(one.name);
  for (const Parameter& one : routine.parameters) expr(one.fallback.get());
}

void Special::stmt(const Stmt& s) {
  // In the order in which Jinja keeps the parts of each statement.
  switch (s.what) {
    case Stmt::kFor:
      target(s.target.get());
      expr(s.value.get());
      body(s.bodies[0]);
      body(s.otherwise);
      return expr(s.test.get());
    case Stmt::kIf:
      expr(s.tests[0].get());
      for (std::size_t i = 0; i < s.bodies.size(); ++i) {
        if (i > 0) expr(s.tests[i].get());
        body(s.bodies[i]);
      }
      return body(s.otherwise);
    case Stmt::kCallBlock:
      expr(s.value.get());
      parameters(s.routine);
      break;
    case Stmt::kMacro:
      parameters(s.routine);
      break;
    case Stmt::kFilterBlock:
      for (const Body& one : s.bodies) body(one);
      return expr(s.value.get());
    case Stmt::kWith:
      for (const ExprPtr& one : s.targets) target(one.get());
      for (const ExprPtr& one : s.tests) expr(one.get());
      break;
    default:
      target(s.target.get());
      expr(s.value.get());
  }
  for (const Body& one : s.bodies) body(one);
}

}  // namespace calkit::jinja
