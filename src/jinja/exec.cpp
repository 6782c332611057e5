#include <fmt/format.h>

#include "ops.h"

namespace calkit::jinja {

class Run::Opened {
 public:
  Opened(Run& run, Frame* outer, const Scope& scope) {
    if (scope.captured) {
      run.kept_frames_.push_back(std::make_unique<Frame>());
      frame_ = run.kept_frames_.back().get();
    }
    frame_->outer = outer;
    frame_->scope = &scope;
  }
  Frame& operator*() { return *frame_; }

 private:
  Frame own_;
  Frame* frame_ = &own_;
};

// The slots as they are at the beginning of the frame's text.
Status Run::fill(Frame& frame) {
  const Scope& scope = *frame.scope;
  if (scope.captured) CALKIT_CHECK_OK(charge(scope.loads.size() * sizeof(Var) + sizeof(Frame)));
  frame.slots.assign(scope.loads.size(), Var());
  for (std::size_t i = 0; i < scope.loads.size(); ++i) {
    const Load& load = scope.loads[i];
    if (load.how == Load::kContext) {
      const Var* given = variables_->find(scope.names[i]);
      frame.slots[i] = given != nullptr ? *given : find_global(*this, scope.names[i]);
    } else if (load.how == Load::kOuter) {
      const Frame* at = &frame;
      for (std::uint32_t hop = 0; hop < load.hops; ++hop) at = at->outer;
      frame.slots[i] = at->slots[load.slot];
    }
  }
  return step(scope.loads.size());
}

Status Run::render(const Body& body, const Scope& root) {
  Opened opened(*this, nullptr, root);
  CALKIT_CHECK_OK(fill(*opened));
  CALKIT_TRY(const Flow flow, exec(body, *opened));
  static_cast<void>(flow);
  return {};
}

Result<Run::Flow> Run::exec(const Body& body, Frame& frame) {
  Deeper deeper(*this);
  CALKIT_CHECK_OK(check_nesting());
  for (const auto& one : body) {
    CALKIT_CHECK_OK(step());
    CALKIT_TRY(const Flow flow, exec_one(*one, frame));
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

Result<Run::Flow> Run::exec_one(const Stmt& s, Frame& frame) {
  switch (s.what) {
    case Stmt::kData:
      CALKIT_CHECK_OK(write(s.text));
      return Flow::kOn;
    case Stmt::kOutput:
      CALKIT_CHECK_OK(exec_output(s, frame));
      return Flow::kOn;
    case Stmt::kIf:
      return exec_if(s, frame);
    case Stmt::kFor:
      return exec_for(s, frame);
    case Stmt::kSetBlock: {
      Flow flow = Flow::kOn;
      CALKIT_CHECK_OK(exec_set_block(s, frame, flow));
      return flow;
    }
    case Stmt::kSet: {
      CALKIT_TRY(auto value, eval(*s.value, frame));
      line = s.line;
      CALKIT_CHECK_OK(assign(*s.target, std::move(value), frame));
      return Flow::kOn;
    }
    case Stmt::kMacro:
      frame.slots[s.loop_slot] = make_macro(s, frame);
      return Flow::kOn;
    case Stmt::kCallBlock:
    case Stmt::kGeneration:
      CALKIT_CHECK_OK(exec_call_block(s, frame));
      return Flow::kOn;
    case Stmt::kFilterBlock:
      return exec_filter_block(s, frame);
    case Stmt::kWith:
      return exec_with(s, frame);
    case Stmt::kBreak:
      return Flow::kBreak;
    case Stmt::kContinue:
      return Flow::kContinue;
  }
  return Flow::kOn;
}

Status Run::exec_output(const Stmt& s, Frame& frame) {
  CALKIT_TRY(const auto value, eval(*s.value, frame));
  if (value.is(Kind::kString)) return write(value.text());
  line = s.line;
  CALKIT_TRY(const auto text, str(*this, value));
  return write(text);
}

Result<Run::Flow> Run::exec_if(const Stmt& s, Frame& frame) {
  for (std::size_t i = 0; i < s.tests.size(); ++i) {
    CALKIT_TRY(const auto test, eval(*s.tests[i], frame));
    if (truth(test)) return exec(s.bodies[i], frame);
  }
  return exec(s.otherwise, frame);
}

Status Run::assign(const Expr& target, Var value, Frame& frame) {
  if (target.op == Op::kName) {
    frame.slots[target.slot] = std::move(value);
    return {};
  }
  if (target.op == Op::kNamespaceTarget) {
    CALKIT_TRY(const auto owner, eval_name(target, frame));
    if (!owner.is(Kind::kNamespace))
      return fault(fmt::format("'{}' is no namespace; only its attributes can be set", target.name));
    const std::string& name = target.constant.text();
    if (name.starts_with('_'))
      return fault(fmt::format("the attribute '{}' of a namespace; names with '_' in front are not allowed", name));
    CALKIT_CHECK_OK(charge(2 * sizeof(Var)));
    owner.name_space().values.set(target.constant, std::move(value));
    return {};
  }
  CALKIT_TRY(const auto items, collect(*this, value));
  if (items.size() != target.items.size())
    return fault(fmt::format("{} values for {} names", items.size(), target.items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) CALKIT_CHECK_OK(assign(*target.items[i], items[i], frame));
  return {};
}

// Only the items of a loop that pass its test; each is tested when its turn comes.
struct Run::Filtered : Iterator {
  Run& run;
  const Stmt& statement;
  std::shared_ptr<Iterator> source;
  Frame* outer;
  Frame frame;
  Filtered(Run& r, const Stmt& s, std::shared_ptr<Iterator> from, Frame* around)
      : run(r), statement(s), source(std::move(from)), outer(around) {}

  Result<std::optional<Var>> next() override {
    if (frame.scope == nullptr) {
      frame.outer = outer;
      frame.scope = &statement.test_scope;
      CALKIT_CHECK_OK(run.fill(frame));
    }
    while (true) {
      CALKIT_TRY(auto item, source->next());
      if (!item) return item;
      CALKIT_CHECK_OK(run.step());
      CALKIT_CHECK_OK(bind_target(*statement.target, *item));
      CALKIT_TRY(const auto passes, run.eval(*statement.test, frame));
      if (truth(passes)) return item;
    }
  }

  // The target's names have slots of their own here.
  Status bind_target(const Expr& target, const Var& value) {
    if (target.op == Op::kName) {
      for (std::size_t i = 0; i < frame.scope->names.size(); ++i)
        if (frame.scope->names[i] == target.name) frame.slots[i] = value;
      return {};
    }
    CALKIT_TRY(const auto items, collect(run, value));
    if (items.size() != target.items.size())
      return fault(fmt::format("{} values for {} names", items.size(), target.items.size()));
    for (std::size_t i = 0; i < items.size(); ++i) CALKIT_CHECK_OK(bind_target(*target.items[i], items[i]));
    return {};
  }
};

Result<Run::Flow> Run::exec_for(const Stmt& s, Frame& frame) {
  CALKIT_TRY(const auto items, eval(*s.value, frame));
  line = s.line;
  return loop_over(s, frame, items, 0);
}

Result<Run::Flow> Run::loop_over(const Stmt& s, Frame& outer, const Var& items, std::int64_t depth0) {
  auto loop = std::make_shared<Loop>();
  CALKIT_TRY(loop->source, iterate(*this, items));
  loop->statement = &s;
  loop->outer = &outer;
  loop->depth0 = depth0;
  if (s.test)
    loop->source = std::make_shared<Filtered>(*this, s, std::move(loop->source), &outer);
  else if (!items.is(Kind::kIterator))
    loop->length = size_of(items);
  const Var self = Var::of(Kind::kLoop, loop);
  struct Over {
    Loop& loop;
    ~Over() { loop.end(); }
  } over{*loop};
  Opened opened(*this, &outer, s.scope);
  bool any = false;
  while (true) {
    CALKIT_TRY(auto item, loop->next());
    if (!item) break;
    any = true;
    CALKIT_CHECK_OK(step());
    CALKIT_CHECK_OK(fill(*opened));
    if (s.has_loop) (*opened).slots[s.loop_slot] = self;
    CALKIT_CHECK_OK(assign(*s.target, std::move(*item), *opened));
    CALKIT_TRY(const Flow flow, exec(s.bodies[0], *opened));
    if (flow == Flow::kBreak) break;
    line = s.line;
  }
  // What macros of the body still refer to is gone behind the loop.
  for (Var& slot : (*opened).slots) slot = Var();
  if (any || s.otherwise.empty()) return Flow::kOn;
  Opened otherwise(*this, &outer, s.else_scope);
  CALKIT_CHECK_OK(fill(*otherwise));
  return exec(s.otherwise, *otherwise);
}

Result<Var> Run::call_loop(const Loop& loop, const Var& items) {
  if (!loop.statement->recursive) return fault("a call of 'loop' in a for without 'recursive'");
  if (!loop.active) return fault("a call of the 'loop' of a for that has ended; not supported");
  std::string before = std::exchange(output, {});
  auto flow = loop_over(*loop.statement, *loop.outer, items, loop.depth0 + 1);
  std::string made = std::exchange(output, std::move(before));
  if (!flow.ok()) return std::move(flow).error();
  return text(std::move(made));
}

Status Run::exec_set_block(const Stmt& s, Frame& frame, Flow& flow) {
  Opened opened(*this, &frame, s.scope);
  CALKIT_CHECK_OK(fill(*opened));
  std::string before = std::exchange(output, {});
  auto ran = exec(s.bodies[0], *opened);
  std::string made = std::exchange(output, std::move(before));
  if (!ran.ok()) return std::move(ran).error();
  flow = *ran;
  if (flow != Flow::kOn) return {};
  CALKIT_TRY(auto value, text(std::move(made)));
  if (s.value) {
    CALKIT_TRY(value, eval_filter(*s.value, &value, *opened));
  }
  line = s.line;
  return assign(*s.target, std::move(value), frame);
}

Result<Run::Flow> Run::exec_filter_block(const Stmt& s, Frame& frame) {
  Opened opened(*this, &frame, s.scope);
  CALKIT_CHECK_OK(fill(*opened));
  std::string before = std::exchange(output, {});
  auto flow = exec(s.bodies[0], *opened);
  std::string made = std::exchange(output, std::move(before));
  if (!flow.ok() || *flow != Flow::kOn) return flow;
  CALKIT_TRY(const auto value, text(std::move(made)));
  CALKIT_TRY(const auto filtered, eval_filter(*s.value, &value, *opened));
  CALKIT_TRY(const auto shown, str(*this, filtered));
  CALKIT_CHECK_OK(write(shown));
  return Flow::kOn;
}

Result<Run::Flow> Run::exec_with(const Stmt& s, Frame& frame) {
  Opened opened(*this, &frame, s.scope);
  CALKIT_CHECK_OK(fill(*opened));
  for (std::size_t i = 0; i < s.targets.size(); ++i) {
    CALKIT_TRY(auto value, eval(*s.tests[i], frame));
    CALKIT_CHECK_OK(assign(*s.targets[i], std::move(value), *opened));
  }
  return exec(s.bodies[0], *opened);
}

Var Run::make_macro(const Stmt& s, Frame& frame) {
  auto out = std::make_shared<Macro>();
  out->routine = &s.routine;
  out->body = &s.bodies[0];
  out->frame = &frame;
  return Var::of(Kind::kMacro, std::move(out));
}

Status Run::exec_call_block(const Stmt& s, Frame& frame) {
  const Var body = make_macro(s, frame);
  auto made = s.what == Stmt::kGeneration ? call_macro(body.macro(), {}) : eval_call(*s.value, frame, &body);
  if (!made.ok()) return std::move(made).error();
  CALKIT_TRY(const auto shown, str(*this, *made));
  return write(shown);
}

Result<Var> Run::call_macro(const Macro& macro, Args args) {
  Deeper deeper(*this);
  CALKIT_CHECK_OK(check_nesting());
  const Routine& r = *macro.routine;
  Opened opened(*this, macro.frame, r.scope);
  CALKIT_CHECK_OK(fill(*opened));
  std::vector<Var>& slots = (*opened).slots;
  const auto take = [&](const std::string& name) {
    Var out;
    for (std::size_t i = 0; i < args.named.size(); ++i) {
      if (args.named[i].first != name) continue;
      out = std::move(args.named[i].second);
      args.named.erase(args.named.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    return out;
  };
  bool caller_is_parameter = false;
  const std::size_t given = std::min(args.positional.size(), r.parameters.size());
  for (std::size_t i = 0; i < r.parameters.size(); ++i) {
    const Parameter& one = r.parameters[i];
    caller_is_parameter |= one.name == "caller";
    slots[one.slot] = i < given ? args.positional[i] : take(one.name);
  }
  if (r.takes_caller && !caller_is_parameter) {
    Var caller = take("caller");
    slots[r.caller_slot] =
        caller.is(Kind::kMissing) || caller.is(Kind::kNone) ? Var::undefined("No caller defined") : caller;
  }
  if (r.takes_kwargs) {
    auto rest = std::make_shared<Dict>();
    for (auto& [name, value] : args.named) rest->set(Var::text(name), std::move(value));
    slots[r.kwargs_slot] = Var::of(Kind::kDict, std::move(rest));
  } else if (!args.named.empty()) {
    return fault(fmt::format("the macro '{}' takes no argument '{}'", r.name, args.named.front().first));
  }
  if (r.takes_varargs) {
    CALKIT_TRY(slots[r.varargs_slot],
               tuple({args.positional.begin() + static_cast<std::ptrdiff_t>(given), args.positional.end()}));
  } else if (args.positional.size() > r.parameters.size()) {
    return fault(fmt::format("the macro '{}' takes at most {} arguments, {} are given", r.name, r.parameters.size(),
                             args.positional.size()));
  }
  for (const Parameter& one : r.parameters) {
    if (!slots[one.slot].is(Kind::kMissing)) continue;
    if (one.fallback) {
      CALKIT_TRY(slots[one.slot], eval(*one.fallback, *opened));
    } else {
      slots[one.slot] = Var::undefined(fmt::format("parameter '{}' was not provided", one.name));
    }
  }
  std::string before = std::exchange(output, {});
  auto flow = exec(*macro.body, *opened);
  std::string made = std::exchange(output, std::move(before));
  if (!flow.ok()) return std::move(flow).error();
  return text(std::move(made));
}

}  // namespace calkit::jinja
