/// calkit_render TEMPLATE [CLOCK] < contexts.jsonl: renders the template with the context of each line and prints
/// {"text": ..., "clock_read": ...} or {"error": ...}. With "-" as the template each line is {"template", "context"}.
/// For tools/peers/check_jinja.py and check_templates.py.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "calkit/base/document.h"
#include "calkit/base/files.h"
#include "calkit/jinja/template.h"

namespace {

using calkit::Value;

Value answer(const std::string& text, const Value& context, const calkit::jinja::RenderOptions& options) {
  const auto parsed = calkit::jinja::Template::parse(text, "template");
  if (!parsed.ok()) return Value::object({{"error", parsed.error().message}});
  const auto made = parsed->render(context, options);
  if (!made.ok()) return Value::object({{"error", made.error().message}});
  return Value::object({{"text", made->text}, {"clock_read", made->clock_read}});
}

calkit::Status run(const std::string& path, const calkit::jinja::RenderOptions& options) {
  std::string text;
  if (path != "-") {
    CALKIT_TRY(text, calkit::read_file(path));
  }
  const std::string input((std::istreambuf_iterator<char>(std::cin)), {});
  CALKIT_TRY(const auto lines, calkit::parse_json_lines(input, "stdin"));
  for (const Value& line : lines) {
    Value out;
    if (path == "-") {
      const calkit::Cursor at(line, "stdin");
      CALKIT_TRY(const auto own, at.string("template"));
      CALKIT_TRY(const auto context, at.at("context"));
      out = answer(own, context.value(), options);
    } else {
      out = answer(text, line, options);
    }
    std::cout << calkit::to_json(out, {.sorted = true, .indent = -1}) << '\n';
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs("usage: calkit_render TEMPLATE|- [CLOCK] < contexts.jsonl\n", stderr);
    return 2;
  }
  calkit::jinja::RenderOptions options;
  if (argc == 3) options.clock = std::stoll(argv[2]);
  const auto status = run(argv[1], options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "calkit_render: %s\n", status.error().message.c_str());
  return 3;
}
