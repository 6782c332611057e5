#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "calkit/base/unicode.h"

namespace calkit {
namespace {

struct CombiningRange {
  char32_t first = 0, last = 0;
  std::uint8_t combining = 0;  // canonical combining class, > 0
};
struct Decomposition {
  char32_t from = 0;
  std::uint16_t at = 0, length = 0;  // the whole decomposition, in the pool
};
struct Composition {
  char32_t first = 0, second = 0, into = 0;
};
// All sorted by their first members; Hangul syllables are left to arithmetic.
struct NfcTables {
  std::span<const CombiningRange> combining;
  std::span<const char32_t> pool;
  std::span<const Decomposition> decompositions;
  std::span<const Composition> compositions;
};

#include "unicode_nfc_table.inc"
#include "unicode_nfkd_table.inc"

// Hangul syllables compose and decompose by arithmetic (Unicode, section 3.12).
constexpr char32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11a7;
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;
constexpr char32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;

NfcTables nfc_tables() {
  return {kCombining, kPool, kDecompositions, kCompositions};
}

struct Mark {
  char32_t value = 0;
  std::uint8_t combining = 0;
};

std::uint8_t combining_class(char32_t c) {
  if (c < 0x300) return 0;
  const auto ranges = nfc_tables().combining;
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](char32_t v, const CombiningRange& r) { return v < r.first; });
  if (after == ranges.begin() || c > std::prev(after)->last) return 0;
  return std::prev(after)->combining;
}

std::span<const char32_t> find_decomposition(std::span<const Decomposition> all, std::span<const char32_t> pool,
                                             char32_t c) {
  const auto at =
      std::lower_bound(all.begin(), all.end(), c, [](const Decomposition& d, char32_t v) { return d.from < v; });
  if (at == all.end() || at->from != c) return {};
  return pool.subspan(at->at, at->length);
}
std::span<const char32_t> decomposition(char32_t c) {
  return find_decomposition(nfc_tables().decompositions, nfc_tables().pool, c);
}
// Where it is not the canonical one; NFKD as a whole.
std::span<const char32_t> compatible_decomposition(char32_t c) {
  return find_decomposition(kCompatDecompositions, kCompatPool, c);
}

std::optional<char32_t> compose(char32_t first, char32_t second) {
  if (first >= kLeads && first < kLeads + kLeadCount && second >= kVowels && second < kVowels + kVowelCount)
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  if (first >= kSyllables && first < kSyllables + kSyllableCount && (first - kSyllables) % kTailCount == 0 &&
      second > kTails && second < kTails + kTailCount)
    return first + (second - kTails);
  const auto all = nfc_tables().compositions;
  const auto at = std::lower_bound(all.begin(), all.end(), std::pair{first, second},
                                   [](const Composition& c, auto key) { return std::pair{c.first, c.second} < key; });
  if (at == all.end() || at->first != first || at->second != second) return std::nullopt;
  return at->into;
}

void push(std::vector<Mark>& out, char32_t c) {
  out.push_back({c, combining_class(c)});
}

void decompose(std::vector<Mark>& out, char32_t c, bool compatible) {
  if (c >= kSyllables && c < kSyllables + kSyllableCount) {
    const char32_t index = c - kSyllables;
    push(out, kLeads + index / (kVowelCount * kTailCount));
    push(out, kVowels + index % (kVowelCount * kTailCount) / kTailCount);
    if (index % kTailCount != 0) push(out, kTails + index % kTailCount);
    return;
  }
  auto parts = compatible ? compatible_decomposition(c) : std::span<const char32_t>{};
  if (parts.empty()) parts = decomposition(c);
  if (parts.empty()) return push(out, c);
  for (const char32_t part : parts) push(out, part);
}

// Runs of marks sort by combining class and keep their order within one class.
void order(std::vector<Mark>& marks) {
  const auto is_starter = [](const Mark& mark) { return mark.combining == 0; };
  for (auto at = marks.begin(); at != marks.end();) {
    at = std::find_if_not(at, marks.end(), is_starter);
    const auto end = std::find_if(at, marks.end(), is_starter);
    std::stable_sort(at, end, [](const Mark& a, const Mark& b) { return a.combining < b.combining; });
    at = end;
  }
}

std::string join(std::span<const char32_t> points) {
  std::string text;
  text.reserve(points.size());
  for (const char32_t c : points) append_utf8(text, c);
  return text;
}

std::string compose_all(const std::vector<Mark>& marks) {
  std::vector<char32_t> out;
  out.reserve(marks.size());
  std::optional<std::size_t> starter;
  int last_class = -1;  // of what stands between the starter and here; -1: nothing does
  for (const Mark& mark : marks) {
    if (starter && last_class < static_cast<int>(mark.combining)) {
      if (const auto both = compose(out[*starter], mark.value)) {
        out[*starter] = *both;
        continue;
      }
    }
    if (mark.combining == 0) {
      starter = out.size();
      last_class = -1;
    } else {
      last_class = mark.combining;
    }
    out.push_back(mark.value);
  }
  return join(out);
}

// What can change or be changed: everything else is already composed and blocks nothing.
bool is_inert(char32_t c) {
  if (c < 0x300) return true;
  if (combining_class(c) != 0) return false;
  if ((c >= kVowels && c < kVowels + kVowelCount) || (c > kTails && c < kTails + kTailCount)) return false;
  const auto parts = decomposition(c);
  if (!parts.empty()) return false;
  const auto all = nfc_tables().compositions;
  static const auto seconds = [&] {
    std::vector<char32_t> found;
    for (const Composition& c2 : all) found.push_back(c2.second);
    std::sort(found.begin(), found.end());
    return found;
  }();
  return !std::binary_search(seconds.begin(), seconds.end(), c);
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const auto tail = [&](std::size_t i) { return static_cast<char32_t>(byte(i) & 0x3f); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {((lead & 0x1f) << 6) | tail(1), 2};
  if (lead < 0xf0) return {((lead & 0x0f) << 12) | (tail(1) << 6) | tail(2), 3};
  return {((lead & 0x07) << 18) | (tail(1) << 12) | (tail(2) << 6) | tail(3), 4};
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6));
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3f));
    put(0x80 | ((c >> 6) & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

std::string nfc(std::string_view text) {
  bool inert = true;
  for (std::size_t at = 0; at < text.size() && inert;) {
    const auto c = code_point_at(text, at);
    inert = is_inert(c.value);
    at += c.bytes;
  }
  return inert ? std::string(text) : normal_form(text, NormalForm::kNfc);
}

std::string normal_form(std::string_view text, NormalForm form) {
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  std::vector<Mark> marks;
  marks.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto c = code_point_at(text, at);
    decompose(marks, c.value, compatible);
    at += c.bytes;
  }
  order(marks);
  if (form == NormalForm::kNfc || form == NormalForm::kNfkc) return compose_all(marks);
  std::vector<char32_t> points;
  points.reserve(marks.size());
  for (const Mark& mark : marks) points.push_back(mark.value);
  return join(points);
}

}  // namespace calkit
