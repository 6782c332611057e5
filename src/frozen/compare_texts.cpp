// A service's texts against a baseline's greedy runs.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/text.h"
#include "calkit/frozen/texts.h"
#include "calkit/hf/tokenizer.h"

namespace calkit::frozen {
namespace {

/// The bytes that both begin with, in whole characters: two characters may have their first bytes in common.
std::size_t common_bytes(std::string_view a, std::string_view b) {
  const std::size_t most = std::min(a.size(), b.size());
  auto at = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin()).first - a.begin());
  const auto inside = [&](std::string_view text) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  while (at > 0 && (inside(a) || inside(b))) --at;
  return at;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool only_replacements(std::string_view text) {
  while (text.starts_with(kReplacement)) text.remove_prefix(kReplacement.size());
  return text.empty();
}

class TextJudge {
 public:
  TextJudge(const hf::Tokenizer& tokenizer, const std::vector<std::int64_t>& stop_ids, double margin)
      : tokenizer_(tokenizer), stop_ids_(stop_ids), margin_(margin) {}

  TextComparison judge(const ReferenceItem& item, const TextAnswer& answer) const {
    TextComparison out;
    out.id = item.prompt.id;
    const auto tokens = until_stop(item);
    Run run = run_of(tokens);
    run.stopped = tokens.size() < item.greedy.size();
    out.bytes_equal = common_bytes(run.text, answer.text);
    const std::string_view rest = std::string_view(answer.text).substr(out.bytes_equal);
    const bool followed = out.bytes_equal == run.text.size();
    out.equal =
        followed && (rest.empty() || (run.cut && only_replacements(rest)) || may_go_on(item, run, answer, rest));
    out.nothing = out.equal && run.text.empty() && !run.stopped && !rest.empty();
    if (out.nothing) out.equal = false;
    out.ends_early = rest.empty() && !followed;
    out.steps = out.nothing ? 0 : tokens.size() + (run.stopped ? 1 : 0);
    if (!out.equal && !out.nothing) locate(item, tokens, answer.text, out);
    out.wanted = printable(std::string_view(run.text).substr(out.bytes_equal));
    out.got = printable(rest);
    if (answer.prompt_tokens && *answer.prompt_tokens != static_cast<std::int64_t>(item.ids.size())) {
      out.prompt_tokens_wanted = static_cast<std::int64_t>(item.ids.size());
      out.prompt_tokens_got = answer.prompt_tokens;
    }
    return out;
  }

 private:
  std::vector<std::int32_t> until_stop(const ReferenceItem& item) const {
    std::vector<std::int32_t> out;
    for (const GreedyStep& step : item.greedy) {
      if (std::find(stop_ids_.begin(), stop_ids_.end(), step.token) != stop_ids_.end()) break;
      out.push_back(step.token);
    }
    return out;
  }

  struct Run {
    std::string text;
    bool cut = false;      // the last character is not whole: the text ends before it
    bool stopped = false;  // by an end-of-text token
  };

  Run run_of(const std::vector<std::int32_t>& tokens) const {
    Run out;
    hf::StreamingDecoder decoder(tokenizer_, true);
    for (const std::int32_t token : tokens) out.text += decoder.feed(token);
    std::string last = decoder.flush();
    while (last.ends_with(kReplacement)) {
      last.resize(last.size() - kReplacement.size());
      out.cut = true;
    }
    out.text += last;
    return out;
  }

  // Whether more may follow our text: our steps ended, and the service's run is longer or of unknown length.
  static bool may_go_on(const ReferenceItem& item, const Run& run, const TextAnswer& answer, std::string_view rest) {
    if (run.stopped) return false;
    if (answer.completion_tokens && *answer.completion_tokens <= static_cast<std::int64_t>(item.greedy.size()))
      return false;
    return !run.cut || static_cast<unsigned char>(rest.front()) >= 0x80;  // a cut character is none of ASCII
  }

  std::string text_of(std::span<const std::int32_t> tokens) const { return tokenizer_.decode(tokens, true).text; }

  // The first step whose text the service does not follow. Half a character is U+FFFD for now, so a step counts only
  // when the text of all later prefixes leaves the answer as well; the margin is that of the step found.
  void locate(const ReferenceItem& item, const std::vector<std::int32_t>& tokens, std::string_view got,
              TextComparison& out) const {
    std::size_t step = tokens.size();
    for (std::size_t n = tokens.size(); n > 0; --n) {
      const std::string text = text_of(std::span(tokens).first(n));
      if (common_bytes(text, got) == text.size()) break;
      step = n - 1;
    }
    if (step >= item.greedy.size()) return;
    out.step = step;
    out.steps = step + 1;
    out.margin = item.greedy[step].margin;
    out.excused = !out.ends_early && *out.margin <= margin_;
  }

  const hf::Tokenizer& tokenizer_;
  const std::vector<std::int64_t>& stop_ids_;
  double margin_;
};

std::string finding(const TextComparison& c) {
  std::string out = fmt::format("prompt {}: {} after {} bytes", c.id,
                                c.ends_early ? "the answer ends" : "the texts part", c.bytes_equal);
  if (c.step) out += fmt::format(", at step {} with a margin of {:.4g}", *c.step, *c.margin);
  return out + fmt::format("; wanted '{}', found '{}'", c.wanted, c.got);
}

}  // namespace

Result<TextCompareReport> compare_texts(const std::filesystem::path& baseline_dir, const TextReference& texts,
                                        const CompareLimits& limits) {
  CALKIT_TRY(const Reference baseline, read_reference(baseline_dir), "reading the baseline");
  CALKIT_TRY(const ModelSource source, read_model_source(baseline_dir), "reading the baseline");
  CALKIT_TRY(const auto tokenizer, hf::Tokenizer::load(baseline_dir / "model-source/tokenizer/tokenizer.json"));
  const TextJudge judge(tokenizer, source.stop_ids, limits.margin);
  TextCompareReport out;
  for (const TextAnswer& answer : texts.answers) {
    const ReferenceItem* item = baseline.find(answer.id);
    if (item == nullptr || item->greedy.empty()) continue;
    out.prompts.push_back(judge.judge(*item, answer));
    const TextComparison& c = out.prompts.back();
    out.steps += c.steps;
    ++(c.equal ? out.equal : c.nothing ? out.nothing : c.excused ? out.excused : out.different);
    if (!c.equal && !c.nothing && !c.excused) out.findings.push_back(finding(c));
    if (c.prompt_tokens_got)
      out.findings.push_back(fmt::format("prompt {}: the service counts {} prompt tokens, the baseline has {}", c.id,
                                         *c.prompt_tokens_got, *c.prompt_tokens_wanted));
  }
  if (static_cast<double>(out.excused) > limits.excused_share * static_cast<double>(out.steps))
    out.findings.push_back(fmt::format(
        "{} of {} greedy steps differ where the baseline's margin is at most {:g}; allowed: a share of {:g}",
        out.excused, out.steps, limits.margin, limits.excused_share));
  if (out.prompts.size() == out.nothing)
    return Error(
        ErrorKind::kInput, "the service's texts and the baseline share no prompt with a text to compare",
        "ask the service with the prompts of this baseline; freeze with more --steps if its runs show no text");
  return out;
}

}  // namespace calkit::frozen
