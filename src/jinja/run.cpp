#include "run.h"

#include <fmt/format.h>

#include "ops.h"

namespace calkit::jinja {

Status Run::step(std::uint64_t count) {
  if (count > options_.limits.steps - steps_)
    return fault(fmt::format("stopped: more than {} steps (limit of the renderer)", options_.limits.steps));
  steps_ += count;
  return {};
}

Status Run::charge(std::uint64_t bytes) {
  if (bytes > options_.limits.value_bytes - bytes_)
    return fault(
        fmt::format("stopped: values of more than {} bytes (limit of the renderer)", options_.limits.value_bytes));
  bytes_ += bytes;
  return {};
}

Status Run::write(std::string_view text) {
  if (text.size() > options_.limits.output_bytes - written_)
    return fault(
        fmt::format("stopped: output of more than {} bytes (limit of the renderer)", options_.limits.output_bytes));
  written_ += text.size();
  output += text;
  return {};
}

Status Run::check_nesting() const {
  if (depth_ <= options_.limits.depth) return {};
  return fault(fmt::format("stopped: nested more than {} levels deep (limit of the renderer)", options_.limits.depth));
}

Status Run::check_depth(const Var& value) const {
  if (value.depth() <= kMaxValueDepth) return {};
  return fault(
      fmt::format("stopped: lists and dicts more than {} levels deep (limit of the renderer)", kMaxValueDepth));
}

Result<Var> Run::text(std::string text, bool markup) {
  CALKIT_CHECK_OK(charge(text.size() + 80));
  return Var::text(std::move(text), markup);
}

Result<Var> Run::list(std::vector<Var> items) {
  CALKIT_CHECK_OK(charge(items.size() * sizeof(Var) + 80));
  Var out = Var::list(std::move(items));
  CALKIT_CHECK_OK(check_depth(out));
  return out;
}

Result<Var> Run::tuple(std::vector<Var> items) {
  CALKIT_CHECK_OK(charge(items.size() * sizeof(Var) + 80));
  Var out = Var::tuple(std::move(items));
  CALKIT_CHECK_OK(check_depth(out));
  return out;
}

Var Run::name_space(std::shared_ptr<Namespace> made) {
  // The run holds the owner; values hold it without owning, so that a namespace in itself is no leak.
  Namespace* const bare = made.get();
  name_spaces_.push_back(std::move(made));
  return Var::of(Kind::kNamespace, std::shared_ptr<Object>(std::shared_ptr<Object>(), bare));
}

Var make_function(std::string name, Builtin call, Var self) {
  auto out = std::make_shared<Function>();
  out->name = std::move(name);
  out->call = call;
  out->self = std::move(self);
  return Var::of(Kind::kFunction, std::move(out));
}

Result<std::vector<Var>> bind(const std::string& what, Args& args, std::initializer_list<const char*> names,
                              std::size_t required) {
  std::vector<Var> out(names.size());
  if (args.positional.size() > names.size())
    return fault(
        fmt::format("{} takes at most {} arguments, {} are given", what, names.size(), args.positional.size()));
  for (std::size_t i = 0; i < args.positional.size(); ++i) out[i] = std::move(args.positional[i]);
  for (auto& [name, value] : args.named) {
    std::size_t at = 0;
    for (const char* known : names) {
      if (name == known) break;
      ++at;
    }
    if (at == names.size()) return fault(fmt::format("{} has no argument '{}'", what, name));
    if (!out[at].is(Kind::kMissing)) return fault(fmt::format("{}: the argument '{}' is given twice", what, name));
    out[at] = std::move(value);
  }
  for (std::size_t i = 0; i < required; ++i)
    if (out[i].is(Kind::kMissing))
      return fault(fmt::format("{}: the argument '{}' is missing", what, names.begin()[i]));
  return out;
}

Result<Var> Run::call(const Var& callee, Args args) {
  if (callee.is(Kind::kFunction)) {
    const Function& function = callee.function();
    return function.call(*this, function.self, args);
  }
  if (callee.is(Kind::kMacro)) return call_macro(callee.macro(), std::move(args));
  if (callee.is(Kind::kLoop)) {
    CALKIT_TRY(auto given, bind("loop", args, {"iterable"}, 1));
    return call_loop(callee.loop(), given[0]);
  }
  if (callee.is(Kind::kUndefined)) return need_value(callee);
  return fault(fmt::format("'{}' object is not callable", type_name(callee)));
}

}  // namespace calkit::jinja
