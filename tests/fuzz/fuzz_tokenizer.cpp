// TOKENIZER_JSON NUL TEXT: a tokenizer that is accepted encodes any text or says why not, in bounded time; ids that it
// gives are its own; a stream of ids gives whole characters that joined are the text of all ids.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/text.h"
#include "calkit/hf/tokenizer.h"

namespace {

using calkit::hf::TokenId;

void check_stream(const calkit::hf::Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool skip) {
  calkit::hf::StreamingDecoder stream(tokenizer, skip);
  const auto whole = tokenizer.decode(ids, skip);
  for (int round = 0; round < 2; ++round) {  // a flushed stream begins anew
    std::string joined;
    const auto take = [&](const std::string& part) {
      if (calkit::invalid_utf8_at(part) != std::string::npos) std::abort();
      joined += part;
    };
    for (const TokenId id : ids) take(stream.feed(id));
    take(stream.flush());
    if (joined != whole.text) std::abort();
  }
  if (stream.unknown_ids() != 2 * whole.unknown_ids) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kShortText = 128;  // a hostile pattern may take its time on every byte
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(std::min(end + 1, input.size())).substr(0, kShortText);
  const auto tokenizer = calkit::hf::Tokenizer::parse(input.substr(0, end), "fuzz.json");
  if (!tokenizer.ok()) return 0;
  const auto ids = tokenizer->encode(text, true);
  if (ids.ok()) {
    for (const auto id : *ids)
      if (id < 0 || id > tokenizer->max_id()) std::abort();
    if (tokenizer->decode(*ids, false).unknown_ids != 0) std::abort();
  }
  std::vector<TokenId> all = ids.ok() ? *ids : std::vector<TokenId>{};
  for (const char c : text) all.push_back(static_cast<unsigned char>(c));  // ids that no text has
  check_stream(*tokenizer, all, false);
  check_stream(*tokenizer, all, true);
  return 0;
}
