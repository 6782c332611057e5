// TEMPLATE NUL CONTEXT_JSON: a template that parses renders or says why not, within its limits, and twice the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calkit/base/document.h"
#include "calkit/base/text.h"
#include "calkit/jinja/template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const auto parsed = calkit::jinja::Template::parse(input.substr(0, end), "fuzz.jinja");
  if (!parsed.ok()) return 0;
  calkit::Value context = calkit::Value::object();
  if (const auto given = calkit::parse_json(input.substr(std::min(end + 1, input.size())), "fuzz.json");
      given.ok() && given->is_object())
    context = *given;
  calkit::jinja::RenderOptions options;
  options.clock = 1741478400;
  options.limits = {20'000, 1 << 19, 1 << 17, 200};
  const auto first = parsed->render(context, options);
  const auto second = parsed->render(context, options);
  if (first.ok() != second.ok()) std::abort();
  if (!first.ok()) {
    if (first.error().message != second.error().message || !first.error().message.starts_with("fuzz.jinja:"))
      std::abort();
    return 0;
  }
  if (first->text != second->text || first->text.size() > options.limits.output_bytes) std::abort();
  if (calkit::invalid_utf8_at(first->text) != std::string_view::npos) std::abort();
  return 0;
}
