#include <fmt/format.h>

#include <map>
#include <set>

#include "lexer.h"
#include "parser.h"

namespace calkit::jinja {
namespace {

using Names = std::set<std::string, std::less<>>;

// What one frame knows of names while its text is walked in order. A branch of an `if` lies over the symbols in front
// of it: what it adds becomes visible behind the `if`.
struct Symbols {
  Symbols* base = nullptr;                              // this is a branch over it
  Symbols* outer = nullptr;                             // the frame around this one
  std::map<std::string, Load::How, std::less<>> loads;  // the names that have a slot here
  Names stores;

  bool knows(const std::string& name) const {
    for (const Symbols* s = this; s != nullptr; s = s->base)
      if (s->loads.contains(name)) return true;
    return false;
  }
  bool stores_name(const std::string& name) const {
    for (const Symbols* s = this; s != nullptr; s = s->base)
      if (s->stores.contains(name)) return true;
    return false;
  }
  const Symbols* frame_around() const {
    const Symbols* s = this;
    while (s->base != nullptr) s = s->base;
    return s->outer;
  }
  bool known_outside(const std::string& name) const {
    for (const Symbols* s = frame_around(); s != nullptr; s = s->frame_around())
      if (s->knows(name)) return true;
    return false;
  }

  void load(const std::string& name) {
    if (!knows(name) && !known_outside(name)) loads[name] = Load::kContext;
  }
  void store(const std::string& name) {
    const bool seen = knows(name);
    stores.insert(name);
    if (!seen) loads[name] = known_outside(name) ? Load::kOuter : Load::kNothing;
  }
  void parameter(const std::string& name) {
    stores.insert(name);
    loads[name] = Load::kParameter;
  }
  // What only some branches set begins as it is outside.
  void join(std::vector<Symbols>& branches) {
    Names fresh;
    for (const Symbols& branch : branches)
      for (const std::string& name : branch.stores)
        if (!stores_name(name)) fresh.insert(name);
    for (Symbols& branch : branches) {
      for (const auto& [name, how] : branch.loads) loads[name] = how;
      stores.insert(branch.stores.begin(), branch.stores.end());
    }
    for (const std::string& name : fresh) loads[name] = known_outside(name) ? Load::kOuter : Load::kContext;
  }
};

// The first walk over a frame: which names it has. Frames further in are not entered.
class Collector {
 public:
  explicit Collector(Symbols& symbols) : symbols_(&symbols) {}

  void expr(const Expr* e) {
    if (e == nullptr) return;
    if (e->op == Op::kName || e->op == Op::kNamespaceTarget) symbols_->load(e->name);
    for (const ExprPtr& item : e->items) expr(item.get());
    call(e->call);
  }
  void call(const Call& c) {
    for (const ExprPtr& one : c.positional) expr(one.get());
    for (const auto& [name, one] : c.named) expr(one.get());
    expr(c.star.get());
    expr(c.star_star.get());
  }
  void target(const Expr& e, bool parameter) {
    if (e.op == Op::kNamespaceTarget) return symbols_->load(e.name);
    if (e.op == Op::kName) return parameter ? symbols_->parameter(e.name) : symbols_->store(e.name);
    for (const ExprPtr& item : e.items) target(*item, parameter);
  }
  void body(const Body& body) {
    for (const auto& one : body) stmt(*one);
  }

 private:
  void stmt(const Stmt& s) {
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

  void branches(const Stmt& s) {
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

  Symbols* symbols_;
};

// Which of the special names a body reads without setting them first, inner frames included.
class Special {
 public:
  explicit Special(Names wanted) : wanted_(std::move(wanted)) {}
  void body(const Body& body) {
    for (const auto& one : body) stmt(*one);
  }
  bool has(std::string_view name) const { return found_.contains(name); }

 private:
  void expr(const Expr* e) {
    if (e == nullptr) return;
    if (e->op == Op::kName && wanted_.contains(e->name)) found_.insert(e->name);
    for (const ExprPtr& item : e->items) expr(item.get());
    for (const ExprPtr& one : e->call.positional) expr(one.get());
    for (const auto& [name, one] : e->call.named) expr(one.get());
    expr(e->call.star.get());
    expr(e->call.star_star.get());
  }
  void target(const Expr* e) {
    if (e == nullptr) return;
    if (e->op == Op::kName) wanted_.erase(e->name);
    for (const ExprPtr& item : e->items) target(item.get());
  }
  void parameters(const Routine& routine) {
    for (const Parameter& one : routine.parameters) wanted_.erase(one.name);
    for (const Parameter& one : routine.parameters) expr(one.fallback.get());
  }
  void stmt(const Stmt& s) {
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

  Names wanted_, found_;
};

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
