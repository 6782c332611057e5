/// Family 03, second part: names that two people read alike, and names that say what the fields should.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "calkit/base/text.h"
#include "calkit/base/unicode.h"
#include "families.h"
#include "names.h"

namespace calkit::lint {

namespace {

constexpr std::size_t kMaxNameBytes = 255;
constexpr std::uint64_t kRoundNumber = 2048;  // contexts are multiples of 1024 from here on

/// A submodel's name and what it looks like. Names beyond the longest that CB0308 takes are compared by their
/// beginning.
struct Look {
  std::string name, lower;
  std::u32string skeleton;
  std::size_t index = 0;
};

std::vector<Look> looks(const Check& check) {
  std::vector<Look> out;
  const auto& submodels = check.d().submodels;
  for (std::size_t i = 0; i < submodels.size(); ++i) {
    if (!check.usable(fmt::format("/submodels/{}", i))) continue;
    const std::string name = submodels[i].name.substr(0, kMaxNameBytes);
    out.push_back({name, lower(name), skeleton(name), i});
  }
  return out;
}

/// Each name is told once, beside the first of those before it that it can be taken for.
void check_confusable(Check& check) {
  const auto all = looks(check);
  for (std::size_t k = 1; k < all.size(); ++k) {
    const Look& b = all[k];
    const auto pointer = fmt::format("/submodels/{}/name", b.index);
    for (std::size_t i = 0; i < k; ++i) {
      const Look& a = all[i];
      if (a.name == b.name) continue;  // CB0307
      const auto found = [&] { return fmt::format("'{}' and '{}'", printable(a.name), printable(b.name)); };
      if (a.lower == b.lower || a.skeleton == b.skeleton) {
        check.report(pointer, {"two submodels have names that look alike", found(),
                               "names that differ by more than case, look-alike letters or separators",
                               "rename one; a caller who types it will take the wrong one"});
        break;
      }
      if (a.name.find(b.name) == std::string::npos && b.name.find(a.name) == std::string::npos) continue;
      check.warn(pointer, {"one submodel's name is a part of another's", found(), "names of which none holds another",
                           "rename one: callers that search by a part of the name find both"});
      break;
    }
  }
}

bool has_format_specifier(std::string_view name) {
  if (name.find("${") != std::string_view::npos || name.find("{}") != std::string_view::npos) return true;
  for (std::size_t i = 0; i + 1 < name.size(); ++i)
    if (name[i] == '%' && std::string_view("sdnxpuc").find(name[i + 1]) != std::string_view::npos) return true;
  return false;
}

/// `part_of_path`: the name becomes a part of file names and URLs.
void check_name(Check& check, const std::string& name, const std::string& pointer, bool part_of_path) {
  const auto say = [&](std::string found, std::string limit) {
    check.report(pointer, {fmt::format("the name '{}' cannot be used everywhere", printable(name)), std::move(found),
                           std::move(limit), "rename it at the producer; names are compared byte for byte"});
  };
  if (name.empty()) return say("an empty name", "at least one character");
  if (name.size() > kMaxNameBytes)
    return say(fmt::format("{} bytes", name.size()), fmt::format("at most {}", kMaxNameBytes));
  for (const char32_t c : code_points(name))
    if (c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xa0) || c == 0x2028 || c == 0x2029)
      return say(fmt::format("the control character U+{:04X}", std::uint32_t{c}), "printable characters");
  if (part_of_path && name.find_first_of("/\\") != std::string::npos)
    return say("a path separator", "no / and no \\ in names of packages and submodels");
  if (name.front() == ' ' || name.back() == ' ') return say("a blank at one end", "no blank at either end");
  if (const auto composed = nfc(name); composed != name)
    return say(fmt::format("{} bytes, {} when composed", name.size(), composed.size()), "composed Unicode (NFC)");
  if (has_format_specifier(name))
    check.warn(pointer, {fmt::format("the name '{}' holds a format specifier", printable(name)), "%s, {} or the like",
                         "none: a log that takes the name for a format prints or reads other memory",
                         "rename it at the producer"});
}

void check_charset(Check& check) {
  const auto& d = check.d();
  if (check.usable("/package/name")) check_name(check, d.name, "/package/name", true);
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    if (check.usable(pointer + "/name")) check_name(check, submodel.name, pointer + "/name", true);
    for (std::size_t i = 0; i < submodel.csr.size(); ++i)
      if (const auto at = fmt::format("{}/csr/{}/name", pointer, i); check.usable(at))
        check_name(check, submodel.csr[i].name, at, false);
  });
  check.each_tensor([&](const Check::TensorAt& at) { check_name(check, at.tensor.name, at.pointer + "/name", false); });
}

/// The number of a word such as "ctx40960" or "40960ctx", or nullopt.
std::optional<std::int64_t> number_beside(std::string_view word, std::string_view label) {
  std::string_view digits;
  if (word.starts_with(label))
    digits = word.substr(label.size());
  else if (word.ends_with(label))
    digits = word.substr(0, word.size() - label.size());
  const auto number = parse_decimal_u64(digits);
  if (!number || *number > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

/// What the words of one name claim.
class NameClaims {
 public:
  NameClaims(Check& check, const std::string& name, std::string pointer)
      : check_(check), name_(name), pointer_(std::move(pointer)), words_(words(lower(name))) {}

  /// The number beside or behind one of the labels: "2chips", "2_chips", "chips2".
  std::optional<std::int64_t> number(std::initializer_list<std::string_view> labels, bool before = false) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (const auto label : labels) {
        if (const auto n = number_beside(words_[i], label)) return n;
        if (before && words_[i] == label && i > 0)
          if (const auto n = parse_decimal_u64(words_[i - 1]); n && *n <= INT64_MAX)
            return static_cast<std::int64_t>(*n);
      }
    }
    return std::nullopt;
  }
  const std::vector<std::string>& all() const { return words_; }
  void contradicts(const std::string& claim, const std::string& field) const {
    check_.report(pointer_, {fmt::format("the name '{}' contradicts a field", printable(name_)), claim, field,
                             "correct the one that is wrong; only fields are believed"});
  }
  void only_here(const std::string& claim, const std::string& field) const {
    check_.warn(pointer_, {fmt::format("only the name '{}' states this", printable(name_)), claim, field,
                           "state it in the field; nothing is read from names"});
  }

 private:
  Check& check_;
  const std::string& name_;
  std::string pointer_;
  std::vector<std::string> words_;
};

void check_partition_claim(const NameClaims& claims, const calbin::Partition& partition) {
  for (const char* kind : {"tp", "ep", "pp"}) {
    const auto degree = claims.number({kind});
    if (!degree || partition.kind == "mixed") continue;
    if (partition.kind != kind || partition.degree != *degree)
      claims.contradicts(fmt::format("{}{}", kind, *degree),
                         fmt::format("partition kind {} of degree {}", partition.kind, partition.degree));
  }
}

/// "w8a8", "w4af16": nullopt for any other word.
std::optional<std::pair<std::int64_t, std::int64_t>> scheme_word(const std::string& word) {
  const auto a = word.find('a');
  if (word.size() < 4 || word[0] != 'w' || a == std::string::npos) return std::nullopt;
  auto tail = std::string_view(word).substr(a + 1);
  for (const std::string_view kind : {"bf", "f"})
    if (tail.starts_with(kind)) {
      tail.remove_prefix(kind.size());
      break;
    }
  const auto weight = parse_decimal_u64(std::string_view(word).substr(1, a - 1)), act = parse_decimal_u64(tail);
  if (!weight || !act || *weight > 64 || *act > 64) return std::nullopt;
  return std::pair{static_cast<std::int64_t>(*weight), static_cast<std::int64_t>(*act)};
}

void check_quant_claim(const NameClaims& claims, const calbin::Description& d) {
  for (const auto& word : claims.all()) {
    const auto bits = scheme_word(word);
    if (!bits) continue;
    if (!d.quant || d.quant->schemes.empty()) {
      claims.only_here(word, "quant.schemes, which is absent");
      continue;
    }
    const auto& schemes = d.quant->schemes;
    const bool stated = std::any_of(schemes.begin(), schemes.end(), [&](const calbin::QuantScheme& scheme) {
      return scheme.weight_bits == bits->first && scheme.act_bits == bits->second;
    });
    if (!stated) claims.contradicts(word, "quant.schemes, none of which has these widths");
  }
}

void check_context_claim(const NameClaims& claims, const calbin::Description& d) {
  std::vector<std::int64_t> known = {d.limits.context, d.model.trained_context};
  for (const auto& submodel : d.submodels) known.push_back(submodel.context);
  if (const auto context = claims.number({"ctx", "context"});
      context && std::find(known.begin(), known.end(), *context) == known.end())
    claims.contradicts(fmt::format("context {}", *context), fmt::format("limits.context {}", d.limits.context));
  // A round number without a label may be a context, or any other extent.
  known.insert(known.end(), {d.model.vocab, d.model.hidden, d.model.ffn});
  for (const auto& word : claims.all()) {
    const auto number = parse_decimal_u64(word);
    if (!number || *number < kRoundNumber || *number % (kRoundNumber / 2) != 0 || *number > INT64_MAX) continue;
    if (std::find(known.begin(), known.end(), static_cast<std::int64_t>(*number)) == known.end())
      claims.only_here(fmt::format("the number {}", word),
                       fmt::format("limits.context {}, and no other extent of the model", d.limits.context));
  }
}

void check_filename_facts(Check& check) {
  const auto& d = check.d();
  for (const char* fact : {"/device/chips", "/limits/context", "/partition", "/quant", "/model/trained_context"})
    if (!check.usable(fact)) return;
  const auto common = [&](const NameClaims& claims) {
    if (const auto chips = claims.number({"chips", "chiplets"}, true); chips && *chips != d.device.chips)
      claims.contradicts(fmt::format("{} chips", *chips), fmt::format("device.chips {}", d.device.chips));
    check_partition_claim(claims, d.partition);
    check_quant_claim(claims, d);
    check_context_claim(claims, d);
  };
  if (check.usable("/package/name")) common({check, d.name, "/package/name"});
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    if (!check.usable(pointer)) return;
    const NameClaims claims(check, submodel.name, pointer + "/name");
    common(claims);
    if (const auto batch = claims.number({"b", "bs", "batch"}); batch && *batch != submodel.batch)
      claims.contradicts(fmt::format("batch {}", *batch), fmt::format("batch {}", submodel.batch));
  });
  for (std::size_t i = 0; i < d.files.size(); ++i) {
    const auto pointer = fmt::format("/files/{}", i);
    if (!check.usable(pointer)) continue;
    const auto& file = d.files[i];
    const std::string base = file.path.substr(file.path.rfind('/') + 1);  // npos + 1 is 0
    const NameClaims claims(check, base, pointer + "/path");
    common(claims);
    if (const auto chip = claims.number({"chip", "chiplet"});
        chip && file.chips != 0 && (*chip > 63 || ((file.chips >> *chip) & 1) == 0))
      claims.contradicts(fmt::format("chip {}", *chip), fmt::format("chips {}", hex_u64(file.chips)));
  }
}

}  // namespace

std::vector<Rule> name_rules() {
  return {
      {{"CB0305", "model-name-confusable", Severity::kError, RuleClass::kInvalid,
        "no two submodels have names that are taken for each other", "8c", Maturity::kPreview},
       {"/submodels/*/name"},
       &check_confusable},
      {{"CB0308", "name-charset", Severity::kError, RuleClass::kMalformed,
        "names are short, printable, composed and without blanks at the ends", "9a", Maturity::kPreview},
       {"/package/name", "/submodels/*/name", "/submodels/*/inputs,outputs,csr/*/name"},
       &check_charset},
      {{"CB0309", "fact-only-in-filename", Severity::kError, RuleClass::kPolicy,
        "what names say of chips, widths, context and batch stands in the fields too", "1a 6a", Maturity::kPreview},
       {"/package/name", "/files/*/path,chips", "/submodels/*/name,batch,context", "/device/chips", "/limits/context",
        "/model/trained_context", "/partition", "/quant"},
       &check_filename_facts},
  };
}

}  // namespace calkit::lint
