#pragma once
/// Decoders: what tokens become as text. Every step takes tokens one by one and gives on what cannot change any more,
/// so a stream of tokens gives the text of all of them together, in parts.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "calkit/base/document.h"
#include "tokenizer_normalize.h"

namespace calkit::hf {

/// One step at work. Its tokens may come in parts; parts are whole characters.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  /// A part of a token; `ends`: its last one.
  virtual void part(std::string_view text, bool ends) = 0;
  /// No more tokens.
  virtual void finish() { next_->finish(); }
  void lead_to(DecodeStage& next) { next_ = &next; }

 protected:
  DecodeStage* next_ = nullptr;
};

class Decoder {
 public:
  /// No decoder in the file: tokens are joined with spaces as they stand in the vocabulary.
  static Result<Decoder> parse(const Cursor& root);

  /// The work on one sequence of tokens.
  class Run {
   public:
    explicit Run(const Decoder& steps);
    ~Run();
    Run(Run&&) noexcept;
    Run& operator=(Run&&) noexcept;
    /// Appends the text that is complete.
    void token(std::string_view text, std::string& out);
    /// Appends what was held back, and begins anew.
    void finish(std::string& out);

   private:
    void build();
    const Decoder* steps_;
    std::vector<std::unique_ptr<DecodeStage>> stages_;
  };

 private:
  enum class Kind { kByteLevel, kByteFallback, kFuse, kMetaspace, kReplace, kStrip, kSpaces };
  struct Step {
    Kind kind = Kind::kFuse;
    char32_t character = 0;
    bool drop_first = false;  ///< Metaspace: the first token loses its spaces
    std::size_t start = 0, stop = 0;
    std::unique_ptr<Replacement> replacement;
  };
  static std::unique_ptr<DecodeStage> make(const Step& step);
  Status add(const Cursor& at, int depth);
  Status add_leaf(const Cursor& at, const std::string& type);

  std::vector<Step> steps_;
  std::size_t growth_ = 1;
};

}  // namespace calkit::hf
