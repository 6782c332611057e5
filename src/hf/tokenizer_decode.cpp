#include "tokenizer_decode.h"

#include <algorithm>
#include <optional>

#include "calkit/base/text.h"
#include "calkit/base/unicode.h"
#include "tokenizer_bytes.h"

namespace calkit::hf {
namespace {

constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

// The end of the chain: all tokens behind each other.
class Collect : public DecodeStage {
 public:
  void part(std::string_view text, bool) override { out->append(text); }
  void finish() override {}
  std::string* out = nullptr;
};

class Fuse : public DecodeStage {
 public:
  void part(std::string_view text, bool) override { next_->part(text, false); }
  void finish() override {
    next_->part({}, true);
    next_->finish();
  }
};

class Spaces : public DecodeStage {
 public:
  void part(std::string_view text, bool ends) override {
    if (!inside_ && later_) next_->part(" ", false);
    next_->part(text, ends);
    later_ = true;
    inside_ = !ends;
  }

 private:
  bool later_ = false, inside_ = false;
};

// Symbols to bytes, all tokens together; an unfinished character waits for the next token.
class ByteLevel : public DecodeStage {
 public:
  void part(std::string_view text, bool ends) override {
    token_ += text;
    if (!ends) return;
    bytes_ += from_symbols(token_).value_or(token_);
    token_.clear();
    const std::size_t whole = bytes_.size() - unfinished_tail(bytes_);
    if (whole == 0) return;
    next_->part(replace_invalid_utf8(std::string_view(bytes_).substr(0, whole)), false);
    bytes_.erase(0, whole);
  }
  void finish() override {
    next_->part(replace_invalid_utf8(bytes_), true);
    next_->finish();
  }

 private:
  std::string token_, bytes_;
};

std::optional<char> byte_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  const int high = token[3] == '+' ? 0 : digit(token[3]);  // the peer's reader of numbers takes a sign
  const int low = digit(token[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

// A run of byte tokens is text or, as a whole, so many replacement characters; its end decides.
class ByteFallback : public DecodeStage {
 public:
  void part(std::string_view text, bool ends) override {
    token_ += text;
    if (!ends) return;
    if (const auto byte = byte_token(token_)) {
      run_ += *byte;
    } else {
      flush();
      next_->part(token_, true);
    }
    token_.clear();
  }
  void finish() override {
    flush();
    next_->finish();
  }

 private:
  void flush() {
    if (run_.empty()) return;
    if (invalid_utf8_at(run_) == std::string_view::npos) {
      next_->part(run_, true);
    } else {
      for (std::size_t i = 0; i < run_.size(); ++i) next_->part(kReplacementCharacter, true);
    }
    run_.clear();
  }
  std::string token_, run_;
};

class Metaspace : public DecodeStage {
 public:
  Metaspace(char32_t replacement, bool drop_first) : drop_(drop_first) { append_utf8(replacement_, replacement); }
  void part(std::string_view text, bool ends) override {
    std::string out;
    std::size_t done = 0;
    for (std::size_t at; (at = text.find(replacement_, done)) != std::string_view::npos;) {
      out.append(text, done, at - done).append(drop_ ? "" : " ");
      done = at + replacement_.size();
    }
    out.append(text, done, std::string_view::npos);
    next_->part(out, ends);
    if (ends) drop_ = false;
  }

 private:
  std::string replacement_;
  bool drop_;
};

class Replace : public DecodeStage {
 public:
  explicit Replace(const Replacement& rule) : rule_(rule), run_(rule) {}
  void part(std::string_view text, bool ends) override {
    held_ += text;
    if (ends) {
      const auto done = run_.apply(held_);
      next_->part(done.ok() ? std::string_view(*done) : std::string_view(held_), true);
      held_.clear();
    } else if (rule_.is_literal()) {
      give_on();
    }
  }

 private:
  // All but the last few bytes, with which a match may begin.
  void give_on() {
    std::string out;
    std::size_t done = 0;
    for (std::size_t at; (at = held_.find(rule_.literal(), done)) != std::string::npos;) {
      out.append(held_, done, at - done).append(rule_.content());
      done = at + rule_.literal().size();
    }
    const std::size_t keep = rule_.literal().size() - 1;
    std::size_t safe = held_.size() > done + keep ? held_.size() - keep : done;
    while (safe > done && safe < held_.size() && (static_cast<unsigned char>(held_[safe]) & 0xc0) == 0x80) --safe;
    out.append(held_, done, safe - done);
    held_.erase(0, safe);
    if (!out.empty()) next_->part(out, false);
  }
  const Replacement& rule_;
  Replacement::Run run_;
  std::string held_;
};

// Takes up to `start` characters off the front of a token and up to `stop` off its end.
class Strip : public DecodeStage {
 public:
  Strip(char32_t character, std::size_t start, std::size_t stop) : start_(start), stop_(stop), left_(start) {
    append_utf8(character_, character);
  }
  void part(std::string_view text, bool ends) override {
    while (left_ > 0 && text.starts_with(character_)) {
      text.remove_prefix(character_.size());
      --left_;
    }
    if (!text.empty()) left_ = 0;
    held_ += text;
    if (ends) {
      for (std::size_t i = 0; i < stop_ && held_.ends_with(character_); ++i)
        held_.resize(held_.size() - character_.size());
      next_->part(held_, true);
      held_.clear();
      left_ = start_;
      return;
    }
    std::size_t tail = 0;
    for (std::size_t i = 0; i < stop_; ++i) {
      if (!std::string_view(held_).substr(0, held_.size() - tail).ends_with(character_)) break;
      tail += character_.size();
    }
    if (held_.size() > tail) next_->part(std::string_view(held_).substr(0, held_.size() - tail), false);
    held_.erase(0, held_.size() - tail);
  }

 private:
  std::string character_, held_;
  std::size_t start_, stop_, left_;
};

}  // namespace

std::unique_ptr<DecodeStage> Decoder::make(const Step& step) {
  switch (step.kind) {
    case Kind::kByteLevel:
      return std::make_unique<ByteLevel>();
    case Kind::kByteFallback:
      return std::make_unique<ByteFallback>();
    case Kind::kFuse:
      return std::make_unique<Fuse>();
    case Kind::kMetaspace:
      return std::make_unique<Metaspace>(step.character, step.drop_first);
    case Kind::kReplace:
      return std::make_unique<Replace>(*step.replacement);
    case Kind::kStrip:
      return std::make_unique<Strip>(step.character, step.start, step.stop);
    case Kind::kSpaces:
      break;
  }
  return std::make_unique<Spaces>();
}

Decoder::Run::Run(const Decoder& steps) : steps_(&steps) {
  build();
}
Decoder::Run::~Run() = default;
Decoder::Run::Run(Run&&) noexcept = default;
Decoder::Run& Decoder::Run::operator=(Run&&) noexcept = default;

void Decoder::Run::build() {
  stages_.clear();
  for (const Step& step : steps_->steps_) stages_.push_back(make(step));
  stages_.push_back(std::make_unique<Collect>());
  for (std::size_t i = 0; i + 1 < stages_.size(); ++i) stages_[i]->lead_to(*stages_[i + 1]);
}

void Decoder::Run::token(std::string_view text, std::string& out) {
  static_cast<Collect&>(*stages_.back()).out = &out;
  stages_.front()->part(text, true);
}

void Decoder::Run::finish(std::string& out) {
  static_cast<Collect&>(*stages_.back()).out = &out;
  stages_.front()->finish();
  build();
}

}  // namespace calkit::hf
