/// calkit_tokenize TOKENIZER_JSON < requests.jsonl: encodes {text, add_special_tokens} line by line and prints
/// {"ids": [...], "text": "...", "text_skip_special": "..."}, the last two decoded from the ids. For
/// tools/peers/check_tokenizer.py.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "calkit/base/document.h"
#include "calkit/hf/tokenizer.h"

namespace {

calkit::Status run(const char* path) {
  CALKIT_TRY(const auto tokenizer, calkit::hf::Tokenizer::load(path));
  const std::string input((std::istreambuf_iterator<char>(std::cin)), {});
  CALKIT_TRY(const auto lines, calkit::parse_json_lines(input, "stdin"));
  for (const auto& line : lines) {
    const calkit::Cursor at(line, "stdin");
    CALKIT_TRY(const auto text, at.string("text"));
    CALKIT_TRY(const bool special, at.boolean("add_special_tokens"));
    CALKIT_TRY(const auto ids, tokenizer.encode(text, special));
    const auto answer = calkit::Value::object({{"ids", calkit::Value::list(ids)},
                                               {"text", tokenizer.decode(ids, false).text},
                                               {"text_skip_special", tokenizer.decode(ids, true).text}});
    std::cout << calkit::to_json(answer, {.sorted = true, .indent = -1}) << '\n';
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: calkit_tokenize TOKENIZER_JSON < requests.jsonl\n", stderr);
    return 2;
  }
  const auto status = run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "calkit_tokenize: %s\n", status.error().message.c_str());
  return 3;
}
