#include <fmt/format.h>

#include <map>

#include "lexer.h"
#include "names.h"
#include "parser.h"

namespace calkit::jinja {
namespace {

// The second walk: names to slots, and the frames further in.
class Binder {
 public:
  Binder(Tree& tree, const std::string& file) : tree_(tree), file_(file) {}

  Status run() {
    Symbols symbols;
    Collector(symbols).body(tree_.body);
    Frame root{nullptr, &symbols, &tree_.root, false, {}};
    open(root);
    return body(tree_.body, root);
  }

 private:
  struct Frame {
    Frame* outer;
    Symbols* symbols;
    Scope* scope;
    bool soft;  // inside an `if`: an unknown filter is an error only when it is reached
    std::map<std::string, std::uint32_t, std::less<>> slots;
  };
  struct Place {
    std::uint32_t hops = 0, slot = 0;
  };

  void open(Frame& frame) {
    for (const auto& [name, how] : frame.symbols->loads) {
      frame.slots[name] = static_cast<std::uint32_t>(frame.scope->names.size());
      frame.scope->names.push_back(name);
      Load load{how, 0, 0};
      if (how == Load::kOuter) {
        const Place place = find(name, frame.outer);
        load.hops = place.hops + 1;
        load.slot = place.slot;
      }
      frame.scope->loads.push_back(load);
    }
  }

  static Place find(const std::string& name, const Frame* frame) {
    Place out;
    for (; frame != nullptr; frame = frame->outer, ++out.hops) {
      const auto found = frame->slots.find(name);
      if (found == frame->slots.end()) continue;
      out.slot = found->second;
      return out;
    }
    return out;
  }

  Status names(Expr& e, Frame& frame) {
    if (e.op == Op::kName || e.op == Op::kNamespaceTarget) {
      const Place place = find(e.name, &frame);
      e.hops = place.hops;
      e.slot = place.slot;
      if (e.name == "strftime_now") tree_.mentions_clock = true;
    }
    const bool soft = frame.soft;
    if (e.op == Op::kCondition) frame.soft = true;
    if (!frame.soft && e.op == Op::kFilter && !has_filter(e.name))
      return template_error(file_, e.line, missing_filter(e.name));
    if (!frame.soft && e.op == Op::kTest && !has_test(e.name))
      return template_error(file_, e.line, missing_test(e.name));
    for (ExprPtr& item : e.items) CALKIT_CHECK_OK(maybe(item, frame));
    for (ExprPtr& one : e.call.positional) CALKIT_CHECK_OK(names(*one, frame));
    for (auto& [name, one] : e.call.named) CALKIT_CHECK_OK(names(*one, frame));
    CALKIT_CHECK_OK(maybe(e.call.star, frame));
    CALKIT_CHECK_OK(maybe(e.call.star_star, frame));
    frame.soft = soft;
    return {};
  }
  Status maybe(ExprPtr& e, Frame& frame) { return e ? names(*e, frame) : Status(); }

  Status body(Body& statements, Frame& frame) {
    for (auto& one : statements) CALKIT_CHECK_OK(stmt(*one, frame));
    return {};
  }

  Status stmt(Stmt& s, Frame& frame) {
    switch (s.what) {
      case Stmt::kOutput:
        return names(*s.value, frame);
      case Stmt::kSet:
        CALKIT_CHECK_OK(names(*s.target, frame));
        return names(*s.value, frame);
      case Stmt::kIf:
        return if_stmt(s, frame);
      case Stmt::kFor:
        return for_stmt(s, frame);
      case Stmt::kSetBlock:
        CALKIT_CHECK_OK(names(*s.target, frame));
        [[fallthrough]];
      case Stmt::kFilterBlock:
        return inner(
            s, frame,
            [&](Collector& c) {
              c.body(s.bodies[0]);
              c.expr(s.value.get());
            },
            s.value.get());
      case Stmt::kWith:
        return with_stmt(s, frame);
      case Stmt::kMacro:
        s.loop_slot = find(s.routine.name, &frame).slot;
        return routine(s, frame);
      case Stmt::kCallBlock:
        CALKIT_CHECK_OK(names(*s.value, frame));
        return routine(s, frame);
      case Stmt::kGeneration:
        return routine(s, frame);
      default:
        return {};
    }
  }

  Status if_stmt(Stmt& s, Frame& frame) {
    const bool soft = std::exchange(frame.soft, true);
    for (ExprPtr& test : s.tests) CALKIT_CHECK_OK(names(*test, frame));
    for (Body& one : s.bodies) CALKIT_CHECK_OK(body(one, frame));
    CALKIT_CHECK_OK(body(s.otherwise, frame));
    frame.soft = soft;
    return {};
  }

  template <class Collect>
  Status inner(Stmt& s, Frame& frame, const Collect& collect, Expr* inside) {
    Symbols symbols;
    symbols.outer = frame.symbols;
    Collector collector(symbols);
    collect(collector);
    Frame own{&frame, &symbols, &s.scope, false, {}};
    open(own);
    for (ExprPtr& target : s.targets) CALKIT_CHECK_OK(names(*target, own));
    if (inside != nullptr) CALKIT_CHECK_OK(names(*inside, own));
    CALKIT_CHECK_OK(body(s.bodies[0], own));
    frame.scope->captured |= s.scope.captured;
    return {};
  }

  Status with_stmt(Stmt& s, Frame& frame) {
    for (ExprPtr& value : s.tests) CALKIT_CHECK_OK(names(*value, frame));
    const auto collect = [&](Collector& c) {
      for (const ExprPtr& target : s.targets) c.target(*target, true);
      c.body(s.bodies[0]);
    };
    return inner(s, frame, collect, nullptr);
  }

  Status for_stmt(Stmt& s, Frame& frame) {
    CALKIT_CHECK_OK(names(*s.value, frame));
    CALKIT_CHECK_OK(no_loop_target(s));
    Special special({"loop"});
    special.body(s.bodies[0]);
    s.has_loop = s.recursive || special.has("loop");
    CALKIT_CHECK_OK(loop_body(s, frame));
    if (s.test) CALKIT_CHECK_OK(loop_test(s, frame));
    if (s.otherwise.empty()) return {};
    Symbols symbols;
    symbols.outer = frame.symbols;
    Collector(symbols).body(s.otherwise);
    Frame own{&frame, &symbols, &s.else_scope, false, {}};
    open(own);
    CALKIT_CHECK_OK(body(s.otherwise, own));
    frame.scope->captured |= s.else_scope.captured;
    return {};
  }

  Status loop_body(Stmt& s, Frame& frame) {
    Symbols symbols;
    symbols.outer = frame.symbols;
    if (s.has_loop) symbols.parameter("loop");
    Collector collector(symbols);
    collector.target(*s.target, true);
    collector.body(s.bodies[0]);
    Frame own{&frame, &symbols, &s.scope, false, {}};
    open(own);
    if (s.has_loop) s.loop_slot = own.slots.at("loop");
    CALKIT_CHECK_OK(names(*s.target, own));
    CALKIT_CHECK_OK(body(s.bodies[0], own));
    frame.scope->captured |= s.scope.captured;
    return {};
  }

  // The test sees the target's names in slots of its own; they are filled in the target's order.
  Status loop_test(Stmt& s, Frame& frame) {
    Symbols symbols;
    symbols.outer = frame.symbols;
    Collector collector(symbols);
    collector.target(*s.target, true);
    collector.expr(s.test.get());
    Frame own{&frame, &symbols, &s.test_scope, false, {}};
    open(own);
    return names(*s.test, own);
  }

  Status no_loop_target(const Stmt& s) const {
    const auto wrong = [](const Expr* e, const auto& self) -> bool {
      if (e == nullptr) return false;
      if (e->op == Op::kName && e->name == "loop") return true;
      for (const ExprPtr& item : e->items)
        if (self(item.get(), self)) return true;
      return false;
    };
    if (wrong(s.target.get(), wrong)) return template_error(file_, s.line, "the name 'loop' as the target of a loop");
    return no_loop_set(s.bodies[0], wrong);
  }
  template <class Wrong>
  Status no_loop_set(const Body& body, const Wrong& wrong) const {
    for (const auto& one : body) {
      if (one->what == Stmt::kFor) continue;  // looks at itself
      if ((one->what == Stmt::kSet || one->what == Stmt::kSetBlock) && wrong(one->target.get(), wrong))
        return template_error(file_, one->line, "'loop' set inside of a loop");
      for (const Body& inside : one->bodies) CALKIT_CHECK_OK(no_loop_set(inside, wrong));
      CALKIT_CHECK_OK(no_loop_set(one->otherwise, wrong));
    }
    return {};
  }

  Status routine(Stmt& s, Frame& frame) {
    Routine& r = s.routine;
    frame.scope->captured = true;
    Special special({"caller", "kwargs", "varargs"});
    special.body(s.bodies[0]);
    Symbols symbols;
    symbols.outer = frame.symbols;
    for (const Parameter& one : r.parameters) symbols.parameter(one.name);
    const auto has = [&](const char* name) { return symbols.stores.contains(name); };
    if (special.has("caller") && has("caller")) {
      for (const Parameter& one : r.parameters)
        if (one.name == "caller" && !one.fallback)
          return template_error(file_, s.line, "the parameter 'caller' without a default");
    }
    r.takes_caller = special.has("caller");
    r.takes_kwargs = special.has("kwargs") && !has("kwargs");
    r.takes_varargs = special.has("varargs") && !has("varargs");
    if (r.takes_caller && !has("caller")) symbols.parameter("caller");
    if (r.takes_kwargs) symbols.parameter("kwargs");
    if (r.takes_varargs) symbols.parameter("varargs");
    Collector collector(symbols);
    for (const Parameter& one : r.parameters) collector.expr(one.fallback.get());
    collector.body(s.bodies[0]);
    Frame own{&frame, &symbols, &r.scope, false, {}};
    open(own);
    for (Parameter& one : r.parameters) {
      one.slot = own.slots.at(one.name);
      CALKIT_CHECK_OK(maybe(one.fallback, own));
    }
    if (r.takes_caller) r.caller_slot = own.slots.at("caller");
    if (r.takes_kwargs) r.kwargs_slot = own.slots.at("kwargs");
    if (r.takes_varargs) r.varargs_slot = own.slots.at("varargs");
    return body(s.bodies[0], own);
  }

  Tree& tree_;
  const std::string& file_;
};

}  // namespace

Status bind_names(Tree& tree, const std::string& file) {
  return Binder(tree, file).run();
}

}  // namespace calkit::jinja
