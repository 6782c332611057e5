#include <fmt/format.h>

#include "tokenizer_decode.h"
#include "tokenizer_parts.h"

namespace calkit::hf {
namespace {

constexpr std::size_t kMaxSteps = 32;
constexpr std::int64_t kMaxStrip = 1024;

}  // namespace

Result<Decoder> Decoder::parse(const Cursor& root) {
  Decoder out;
  if (const auto at = root.find("decoder")) {
    CALKIT_CHECK_OK(out.add(*at, 0));
  } else {
    Step spaces;
    spaces.kind = Kind::kSpaces;
    out.steps_.push_back(std::move(spaces));
  }
  return out;
}

Status Decoder::add(const Cursor& at, int depth) {
  CALKIT_TRY(const auto type, at.string("type"));
  if (steps_.size() >= kMaxSteps) return at.error("one decoder more", fmt::format("at most {}", kMaxSteps));
  if (type != "Sequence") return add_leaf(at, type);
  CALKIT_TRY(const auto items, read_sequence(at, "decoders", depth));
  for (const Cursor& item : items) CALKIT_CHECK_OK(add(item, depth + 1));
  return {};
}

Status Decoder::add_leaf(const Cursor& at, const std::string& type) {
  Step step;
  if (type == "ByteLevel") {
    step.kind = Kind::kByteLevel;
  } else if (type == "ByteFallback") {
    step.kind = Kind::kByteFallback;
  } else if (type == "Fuse") {
    step.kind = Kind::kFuse;
  } else if (type == "Metaspace") {
    CALKIT_TRY(const auto metaspace, read_metaspace(at));
    step.kind = Kind::kMetaspace;
    step.character = metaspace.replacement;
    step.drop_first = metaspace.scheme != PrependScheme::kNever;
  } else if (type == "Replace") {
    step.kind = Kind::kReplace;
    CALKIT_TRY(auto replacement, Replacement::parse(at));
    growth_ *= replacement.growth();
    if (growth_ > kMaxGrowth)
      return at.error(fmt::format("replacements that may make a text {} times as long", growth_),
                      fmt::format("{} times at most", kMaxGrowth));
    step.replacement = std::make_unique<Replacement>(std::move(replacement));
  } else if (type == "Strip") {
    CALKIT_CHECK_OK(at.only({"type", "content", "start", "stop"}));
    step.kind = Kind::kStrip;
    CALKIT_TRY(step.character, read_character(at, "content"));
    CALKIT_TRY(const auto start, at.integer("start", 0, kMaxStrip));
    CALKIT_TRY(const auto stop, at.integer("stop", 0, kMaxStrip));
    step.start = static_cast<std::size_t>(start);
    step.stop = static_cast<std::size_t>(stop);
  } else {
    return at.at("type").value().error(
        fmt::format("\"{}\"", type),
        "ByteLevel, Metaspace, ByteFallback, Fuse, Replace, Strip, a Sequence of them, or null",
        "calkit does not do this decoder");
  }
  steps_.push_back(std::move(step));
  return {};
}

}  // namespace calkit::hf
