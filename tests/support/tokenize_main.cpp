/// calkit_tokenize TOKENIZER_JSON < requests.jsonl: encodes {text, add_special_tokens}, or takes {ids}, line by line
/// and prints {"ids", "text", "text_skip_special", "parts", "parts_skip_special"}: the ids decoded at once, and as a
/// stream with what its end adds last. A text without tokens gives {"error"}. For tools/peers/check_tokenizer.py.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "calkit/base/document.h"
#include "calkit/hf/tokenizer.h"

namespace {

using calkit::Value;

// The parts a stream of the ids gives, what the end adds last.
Value parts(const calkit::hf::Tokenizer& tokenizer, const std::vector<calkit::hf::TokenId>& ids, bool skip) {
  calkit::hf::StreamingDecoder stream(tokenizer, skip);
  std::vector<std::string> out;
  for (const auto id : ids) out.push_back(stream.feed(id));
  out.push_back(stream.flush());
  return Value::list(out);
}

calkit::Status run(const char* path) {
  CALKIT_TRY(const auto tokenizer, calkit::hf::Tokenizer::load(path));
  const std::string input((std::istreambuf_iterator<char>(std::cin)), {});
  CALKIT_TRY(const auto lines, calkit::parse_json_lines(input, "stdin"));
  for (const auto& line : lines) {
    const calkit::Cursor at(line, "stdin");
    std::vector<calkit::hf::TokenId> ids;
    if (const auto given = at.find("ids")) {
      CALKIT_TRY(const auto list, given->as_ints());
      for (const auto id : list) ids.push_back(static_cast<calkit::hf::TokenId>(id));
    } else {
      CALKIT_TRY(const auto text, at.string("text"));
      CALKIT_TRY(const bool special, at.boolean("add_special_tokens"));
      const auto encoded = tokenizer.encode(text, special);
      if (!encoded.ok()) {
        std::cout << calkit::to_json(Value::object({{"error", encoded.error().message}}), {.indent = -1}) << '\n';
        continue;
      }
      ids = *encoded;
    }
    const auto answer = Value::object({{"ids", Value::list(ids)},
                                       {"text", tokenizer.decode(ids, false).text},
                                       {"text_skip_special", tokenizer.decode(ids, true).text},
                                       {"parts", parts(tokenizer, ids, false)},
                                       {"parts_skip_special", parts(tokenizer, ids, true)}});
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
