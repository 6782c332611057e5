#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/files.h"
#include "calkit/frozen/baseline.h"
#include "calkit/tensor/npz.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;

struct Places {
  fs::path dir;
  bool peer = false;
  std::string dtype;
  fs::path greedy;
};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(path, ignored));
}

Result<Places> find_places(const fs::path& dir, const std::string& dtype) {
  Places out;
  std::error_code ignored;
  out.peer = !fs::is_directory(fs::symlink_status(dir / kReferenceDir, ignored));
  out.dir = out.peer ? dir : dir / kReferenceDir;
  if (!is_file(out.dir / kPrompts))
    return input_error(dir.string(), {}, "no reference",
                       "a frozen baseline, or a folder with prompts.jsonl and a peer's goldens",
                       "make one with `calkit freeze-baseline model`");
  std::vector<std::string> there;
  for (const char* name : {"fp32", "bf16"})
    if (is_file(out.dir / logits_name(name))) there.emplace_back(name);
  if (!dtype.empty() && dtype != "fp32" && dtype != "bf16")
    return Error{ErrorKind::kUsage, fmt::format("a reference of dtype '{}'; allowed: fp32, bf16", dtype), {}};
  const bool has = std::find(there.begin(), there.end(), dtype) != there.end();
  if (!dtype.empty() && !has)
    return input_error(out.dir.string(), {}, fmt::format("no {}", logits_name(dtype)),
                       fmt::format("logits in {}", dtype));
  if (dtype.empty() && there.size() != 1)
    return input_error(out.dir.string(), {}, fmt::format("{} of logits_fp32.npz and logits_bf16.npz", there.size()),
                       "exactly one, when no dtype is asked for");
  out.dtype = dtype.empty() ? there.front() : dtype;
  out.greedy = out.dir / (out.peer ? peer_greedy_name(out.dtype) : std::string(kGreedy));
  return out;
}

Result<std::vector<std::int32_t>> narrow_ids(std::span<const std::int64_t> wide, const Cursor* at,
                                             const std::string& where) {
  std::vector<std::int32_t> out;
  for (const std::int64_t id : wide) {
    if (id < 0 || id > INT32_MAX) {
      const std::string found = fmt::format("token id {}", id);
      return at != nullptr ? at->error(found, "0 to 2147483647") : input_error(where, {}, found, "0 to 2147483647");
    }
    out.push_back(static_cast<std::int32_t>(id));
  }
  return out;
}

using IdsOf = std::map<std::string, std::vector<std::int32_t>>;

Result<IdsOf> read_peer_ids(const fs::path& file) {
  CALKIT_TRY(const auto lines, read_json_lines(file), "reading the peer's token ids");
  IdsOf out;
  for (const Value& line : lines) {
    const Cursor at(line, file.string());
    CALKIT_TRY(const auto id, at.string("id"));
    CALKIT_TRY(const auto list, at.at("run_ids"));
    CALKIT_TRY(const auto wide, list.as_ints());
    CALKIT_TRY(auto ids, narrow_ids(wide, &list, {}));
    if (!out.emplace(id, std::move(ids)).second)
      return at.error(fmt::format("\"{}\" a second time", id), "each id once");
  }
  return out;
}

Result<IdsOf> read_npz_ids(const fs::path& file) {
  CALKIT_TRY(const auto members, read_npz(file), "reading the token ids");
  IdsOf out;
  for (const auto& [id, tensor] : members) {
    if (tensor.dtype() != DType::kI64 || tensor.rank() != 1)
      return input_error(file.string(), id,
                         fmt::format("{} {}", dtype_name(tensor.dtype()), shape_text(tensor.shape())),
                         "i64 of one dimension");
    CALKIT_TRY(out[id], narrow_ids(tensor.data<std::int64_t>(), nullptr, file.string() + ": " + id));
  }
  return out;
}

Result<GreedyStep> read_step(const Cursor& at) {
  CALKIT_CHECK_OK(at.only({"token", "margin", "top_ids", "top_logits", "router_margin"}));
  GreedyStep out;
  CALKIT_TRY(const auto token, at.integer("token", 0, INT32_MAX));
  out.token = static_cast<std::int32_t>(token);
  CALKIT_TRY(out.margin, at.number("margin"));
  if (!(out.margin >= 0)) return at.at("margin")->error(fmt::format("{}", out.margin), "0 or more: top-1 minus top-2");
  if (const auto router = at.find("router_margin")) {
    CALKIT_TRY(out.router_margin, router->as_number());
    if (!(*out.router_margin >= 0)) return router->error(router->value().describe(), "0 or more");
  }
  CALKIT_TRY(const auto ids, at.at("top_ids"));
  CALKIT_TRY(const auto wide, ids.as_ints());
  CALKIT_TRY(out.top_ids, narrow_ids(wide, &ids, {}));
  CALKIT_TRY(const auto logits, at.at("top_logits"));
  CALKIT_TRY(const auto items, logits.items());
  for (const Cursor& item : items) {
    CALKIT_TRY(const double value, item.as_number());
    out.top_logits.push_back(static_cast<float>(value));
  }
  if (out.top_ids.size() != out.top_logits.size() || out.top_ids.size() < 2)
    return at.error(fmt::format("{} top_ids and {} top_logits", out.top_ids.size(), out.top_logits.size()),
                    "as many of the one as of the other, at least 2");
  return out;
}

Result<std::map<std::string, std::vector<GreedyStep>>> read_greedy(const fs::path& file) {
  CALKIT_TRY(const auto lines, read_json_lines(file), "reading the greedy sequences");
  std::map<std::string, std::vector<GreedyStep>> out;
  for (const Value& line : lines) {
    const Cursor at(line, file.string());
    CALKIT_CHECK_OK(at.only({"id", "tokens", "text", "steps"}));
    CALKIT_TRY(const auto id, at.string("id"));
    CALKIT_TRY(const auto tokens_at, at.at("tokens"));
    CALKIT_TRY(const auto tokens, tokens_at.as_ints());
    CALKIT_TRY(const auto list, at.at("steps"));
    CALKIT_TRY(const auto items, list.items());
    std::vector<GreedyStep> steps;
    for (const Cursor& item : items) {
      CALKIT_TRY(auto step, read_step(item));
      steps.push_back(std::move(step));
    }
    const auto same = [](std::int64_t token, const GreedyStep& step) { return token == step.token; };
    if (!std::equal(tokens.begin(), tokens.end(), steps.begin(), steps.end(), same))
      return tokens_at.error("other tokens than the steps have", "the token of each step");
    if (!out.emplace(id, std::move(steps)).second)
      return at.error(fmt::format("\"{}\" a second time", id), "each id once");
  }
  return out;
}

Result<std::vector<Unanswered>> read_unanswered(const Cursor& at) {
  CALKIT_TRY(const auto items, at.items());
  std::vector<Unanswered> out;
  for (const Cursor& item : items) {
    CALKIT_CHECK_OK(item.only({"id", "kind", "tokens", "reason"}));
    Unanswered prompt;
    CALKIT_TRY(prompt.id, item.string("id"));
    CALKIT_TRY(prompt.kind, item.string("kind"));
    if (const auto tokens = item.find("tokens")) {
      CALKIT_TRY(prompt.tokens, tokens->as_int(0));
    }
    CALKIT_TRY(prompt.reason, item.string("reason"));
    out.push_back(std::move(prompt));
  }
  return out;
}

// What the prompts that are there cannot say: those that are not.
Status read_coverage(const fs::path& file, Reference& out) {
  CALKIT_TRY(const auto document, read_json(file), "reading the coverage");
  const Cursor at(document, file.string());
  CALKIT_TRY(const auto refused, at.at("refused"));
  CALKIT_TRY(out.refused, read_unanswered(refused));
  CALKIT_TRY(const auto left_out, at.at("left_out"));
  CALKIT_TRY(out.left_out, read_unanswered(left_out));
  if (const auto max = at.find("max_tokens")) {
    CALKIT_TRY(out.max_tokens, max->as_int(0));
  }
  return {};
}

// What is left in a map after every prompt took its own belongs to no prompt.
template <class Map>
Status none_left(const Map& map, const fs::path& file) {
  if (map.empty()) return {};
  return input_error(file.string(), map.begin()->first, "an entry without a prompt", "ids of prompts.jsonl");
}

}  // namespace

const ReferenceItem* Reference::find(std::string_view id) const {
  for (const ReferenceItem& item : items)
    if (item.prompt.id == id) return &item;
  return nullptr;
}

Result<Reference> read_reference(const fs::path& dir, const std::string& dtype) {
  CALKIT_TRY(const Places places, find_places(dir, dtype));
  CALKIT_TRY(auto prompts, read_prompts(places.dir / kPrompts));
  const fs::path ids_file = places.dir / (places.peer ? kPeerTokenIds : kTokenIds);
  CALKIT_TRY(auto ids, places.peer ? read_peer_ids(ids_file) : read_npz_ids(ids_file));
  const fs::path logits_file = places.dir / logits_name(places.dtype);
  CALKIT_TRY(auto logits, read_npz(logits_file), "reading the logits");
  CALKIT_TRY(auto greedy, read_greedy(places.greedy));
  Reference out;
  out.dtype = places.dtype;
  if (!places.peer) CALKIT_CHECK_OK(read_coverage(places.dir / kCoverage, out));
  for (Prompt& prompt : prompts) {
    ReferenceItem item;
    const std::string id = prompt.id;
    if (prompt.recipe)
      return input_error((places.dir / kPrompts).string(), id, "a recipe for a text", "the text that was frozen");
    item.prompt = std::move(prompt);
    if (!ids.contains(id))
      return input_error(ids_file.string(), id, "no token ids for this prompt", "an entry for each prompt");
    item.ids = std::move(ids[id]);
    ids.erase(id);
    if (const auto found = logits.find(id); found != logits.end()) {
      if (found->second.dtype() != DType::kF32 || found->second.rank() != 1)
        return input_error(logits_file.string(), id,
                           fmt::format("{} {}", dtype_name(found->second.dtype()), shape_text(found->second.shape())),
                           "f32 of one dimension, the vocabulary");
      CALKIT_TRY(item.logits, to_floats(found->second));
      logits.erase(found);
    }
    if (const auto found = greedy.find(id); found != greedy.end()) {
      item.greedy = std::move(found->second);
      greedy.erase(found);
    }
    out.items.push_back(std::move(item));
  }
  CALKIT_CHECK_OK(none_left(ids, ids_file));
  CALKIT_CHECK_OK(none_left(logits, logits_file));
  CALKIT_CHECK_OK(none_left(greedy, places.greedy));
  return out;
}

}  // namespace calkit::frozen
