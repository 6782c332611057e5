/// Family 06, second part: what lies in the parameter files, between the blocks and inside them. Files are mapped; of
/// blocks only samples are read, so the work does not grow with their size.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "calkit/base/checked.h"
#include "families.h"

namespace calkit::lint {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kWindow = 512, kWindows = 8;  // of one block: at most 4 KiB in 8 places
constexpr std::uint64_t kLeastJudged = 1024;          // shorter blocks may well be constant

/// The bytes of a listed file as far as the description has them right; empty otherwise (family 01 tells).
Bytes bytes_of(Check& check, const std::string& file_id, std::shared_ptr<const MappedFile>& keep) {
  const auto at = check.facts().file_index.find(file_id);
  if (at == check.facts().file_index.end() || check.facts().files[at->second].state != FileState::kPresent) return {};
  auto mapped = check.facts().map(check.d().files[at->second].path);
  if (!mapped.ok()) return {};
  keep = std::move(mapped).value();
  return keep->bytes();
}

struct Gap {
  std::uint64_t from, to;
};

/// What a power of two of at most a page explains: the next block begins at its multiple.
bool is_padding(const Gap& gap, std::uint64_t next) {
  if (next == 0) return false;
  const std::uint64_t alignment = std::min(next & (~next + 1), kPage);
  return gap.to - gap.from < alignment;
}

bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

struct FileBlocks {
  std::size_t index;                                        ///< of the file
  std::vector<std::pair<std::uint64_t, std::uint64_t>> at;  ///< offset, end
};

void judge_gap(Check& check, const calbin::PackageFile& file, const std::string& pointer, const Gap& gap,
               std::uint64_t next, Bytes bytes) {
  const std::string found =
      fmt::format("bytes {} to {} ({} B) of '{}'", gap.from, gap.to, gap.to - gap.from, file.path);
  const char* fix = "list what lies there as a parameter, or pack without it; nobody checks bytes that no entry names";
  if (gap.to - gap.from >= kPage)
    return check.report(pointer, {"a parameter file has bytes that no parameter names", found,
                                  fmt::format("padding below {} B between blocks", kPage), fix});
  const bool readable = range_inside(gap.from, gap.to - gap.from, bytes.size());
  if (!is_padding(gap, next))
    check.warn(pointer, {"a parameter file has a hole that no alignment explains", found,
                         "padding up to the power of two the next block begins at", fix});
  else if (readable && !all_zero(bytes.subspan(gap.from, gap.to - gap.from)))
    check.warn(pointer, {"the padding of a parameter file is not zero", found, "zeros between blocks", fix});
}

void judge_file(Check& check, const FileBlocks& blocks) {
  const auto& file = check.d().files[blocks.index];
  const auto pointer = fmt::format("/files/{}", blocks.index);
  std::shared_ptr<const MappedFile> keep;
  const Bytes bytes = bytes_of(check, file.id, keep);
  std::uint64_t end = 0;
  for (const auto& [from, to] : blocks.at) {
    if (from > end) judge_gap(check, file, pointer, {end, from}, from, bytes);
    end = std::max(end, to);
  }
  if (end < file.size)
    check.report(pointer, {"a parameter file goes on behind its last parameter",
                           fmt::format("{} B behind byte {} of '{}'", file.size - end, end, file.path),
                           "the end of the last block", "list what lies there as a parameter, or cut the file"});
}

void check_coverage(Check& check) {
  if (!check.usable("/params")) return;
  std::map<std::string, FileBlocks, std::less<>> files;
  for (std::size_t i = 0; i < check.d().files.size(); ++i)
    if (const auto& file = check.d().files[i]; file.role == "param" && check.usable(fmt::format("/files/{}", i)))
      files[file.id].index = i;
  for (const auto& param : check.d().params) {
    const auto at = files.find(param.file);
    if (at == files.end()) continue;
    if (range_inside(param.offset, param.length, check.d().files[at->second.index].size))
      at->second.at.emplace_back(param.offset, param.offset + param.length);
    else
      files.erase(at);  // CB0601 tells; what is left over in this file follows from it
  }
  for (auto& [id, blocks] : files) {
    std::sort(blocks.at.begin(), blocks.at.end());
    judge_file(check, blocks);
  }
}

/// Evenly spread windows of a block.
std::vector<std::byte> sample(Bytes block) {
  std::vector<std::byte> out;
  const std::uint64_t step = block.size() / kWindows;
  for (std::uint64_t i = 0; i < kWindows; ++i) {
    const Bytes window = block.subspan(i * step, std::min(kWindow, step));
    out.insert(out.end(), window.begin(), window.end());
  }
  return out;
}

bool only(const std::vector<std::byte>& bytes, std::byte value) {
  return std::all_of(bytes.begin(), bytes.end(), [value](std::byte b) { return b == value; });
}
bool reads_as_text(const std::vector<std::byte>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) {
    const auto c = static_cast<unsigned char>(b);
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
}

/// Scales and zero points may be constant (CB1303 judges scales); a bias or a norm's vector may be all zero.
std::set<std::string, std::less<>> not_judged(const calbin::Description& d) {
  std::set<std::string, std::less<>> out;
  if (d.quant)
    for (const auto& [name, holders] : d.quant->scales) out.insert({holders.scale, holders.zero_point});
  return out;
}

void judge_block(Check& check, const calbin::Param& param, const std::string& pointer,
                 const std::vector<std::byte>& bytes) {
  const char* what = only(bytes, std::byte{0})      ? "0x00 in every byte"
                     : only(bytes, std::byte{0xff}) ? "0xff in every byte"
                     : reads_as_text(bytes)         ? "printable text"
                                                    : nullptr;
  if (what == nullptr) return;
  check.report(pointer, {fmt::format("parameter '{}' holds no weights", param.name),
                         fmt::format("{}, {} bytes sampled in {} places", what, bytes.size(), kWindows),
                         "values that differ", "look at how the block was written; a stub or another file came here"});
}

bool is_slice(const calbin::Param& param) {
  return param.shard && !param.shard->replicated && param.shard->count > 1;
}

void check_content(Check& check) {
  const auto excluded = not_judged(check.d());
  std::map<std::string, std::pair<const calbin::Param*, std::vector<std::byte>>> slices;  // by name: the first slice
  std::map<std::string, std::shared_ptr<const MappedFile>> maps;
  check.each_param([&](const calbin::Param& param, const std::string& pointer) {
    if (param.shape.size() < 2 || param.length < kLeastJudged || excluded.contains(param.name)) return;
    auto& keep = maps[param.file];
    const Bytes file = keep ? keep->bytes() : bytes_of(check, param.file, keep);
    if (!range_inside(param.offset, param.length, file.size())) return;
    auto bytes = sample(file.subspan(param.offset, param.length));
    judge_block(check, param, pointer, bytes);
    if (!is_slice(param)) return;
    const auto [at, first] = slices.try_emplace(param.name, &param, bytes);
    const auto& other = *at->second.first;
    if (!first && other.shard->index != param.shard->index && other.length == param.length &&
        at->second.second == bytes)
      check.report(
          pointer,
          {fmt::format("two slices of parameter '{}' have the same bytes", param.name),
           fmt::format("slices {} and {}, {} bytes sampled", other.shard->index, param.shard->index, bytes.size()),
           "different slices, or shard.replicated", "one chip got the other's block; split the tensor again"});
  });
}

}  // namespace

std::vector<Rule> param_content_rules() {
  return {
      {{"CB0603", "param-coverage", Severity::kError, RuleClass::kInvalid,
        "every byte of a parameter file belongs to a parameter or to padding", "8e", Maturity::kPreview},
       {"/params/*/file,offset,length", "/files/*/id,path,role,size"},
       &check_coverage},
      {{"CB0606", "param-suspicious-content", Severity::kWarning, RuleClass::kPolicy,
        "blocks look like weights: not constant, not text, not another slice's", "7a", Maturity::kPreview},
       {"/params/*/name,file,offset,length,shape,shard", "/quant"},
       &check_content},
  };
}

}  // namespace calkit::lint
