// TOKENIZER_JSON NUL TEXT: a tokenizer that is accepted encodes any text or says why not, in bounded time; ids that it
// gives are its own.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calkit/hf/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kShortText = 128;  // a hostile pattern may take its time on every byte
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(std::min(end + 1, input.size())).substr(0, kShortText);
  const auto tokenizer = calkit::hf::Tokenizer::parse(input.substr(0, end), "fuzz.json");
  if (!tokenizer.ok()) return 0;
  const auto ids = tokenizer->encode(text, true);
  if (!ids.ok()) return 0;
  for (const auto id : *ids)
    if (id < 0 || id > tokenizer->max_id()) std::abort();
  if (tokenizer->decode(*ids, false).unknown_ids != 0) std::abort();
  static_cast<void>(tokenizer->decode(*ids, true));
  return 0;
}
