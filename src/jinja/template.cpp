#include "calkit/jinja/template.h"

#include <fmt/format.h>

#include "parser.h"
#include "run.h"

namespace calkit::jinja {

struct Template::State {
  std::string file;
  Tree tree;
};

Template::Template(std::unique_ptr<State> state) : state_(std::move(state)) {}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

Result<Template> Template::parse(std::string_view text, std::string_view file) {
  auto state = std::make_unique<State>();
  state->file = std::string(file);
  CALKIT_TRY(const auto tokens, lex(text, state->file));
  CALKIT_TRY(state->tree, jinja::parse(tokens, state->file));
  return Template(std::move(state));
}

Result<Rendered> Template::render(const Value& context, const RenderOptions& options) const {
  if (!context.is_object())
    return Error{ErrorKind::kUsage, fmt::format("a template's context is {}; an object is needed", context.describe())};
  auto variables = from_value(context);
  if (!variables.ok()) {
    Error error = std::move(variables).error();
    error.message = state_->file + ": " + error.message;
    return error;
  }
  Run run(options, std::static_pointer_cast<Dict>(variables->object()));
  auto done = run.render(state_->tree.body, state_->tree.root);
  if (!done.ok()) {
    Error error = std::move(done).error();
    error.message = fmt::format("{}:{}: {}", state_->file, run.line, error.message);
    return error;
  }
  return Rendered{std::move(run.output), run.clock_read};
}

bool Template::mentions_clock() const {
  return state_->tree.mentions_clock;
}

}  // namespace calkit::jinja
