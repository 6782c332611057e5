#include "work.h"

#include <fmt/format.h>

#include "calkit/base/hash.h"
#include "calkit/frozen/writer.h"
#include "calkit/tensor/npz.h"

namespace calkit::baseline {
namespace {

namespace fs = std::filesystem;
using Members = std::map<std::string, Tensor>;

// The member of that name if it has the type and the shape.
const Tensor* member(const Members& members, const char* name, DType dtype, const Shape& shape) {
  const auto found = members.find(name);
  if (found == members.end() || found->second.dtype() != dtype || found->second.shape() != shape) return nullptr;
  return &found->second;
}

std::vector<std::int64_t> widened(const std::vector<std::int32_t>& ids) {
  return {ids.begin(), ids.end()};
}

fs::path root_of(const fs::path& out) {
  fs::path path = out.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.parent_path() / fmt::format(".{}.calkit-work", path.filename().string());
}

}  // namespace

std::string prompt_digest(const frozen::ReferenceItem& item) {
  Value value = frozen::to_value(item.prompt);
  value.set("ids", Value::list(item.ids));
  return sha256_hex(to_json(value, {.sorted = true, .indent = -1}));
}

WorkFolder::WorkFolder(const fs::path& out, const std::string& key) : root_(root_of(out)), folder_(root_ / key) {}

fs::path WorkFolder::file_of(const frozen::ReferenceItem& item) const {
  return folder_ / (prompt_digest(item) + ".npz");
}

bool WorkFolder::load(frozen::ReferenceItem& item, int greedy_steps, std::int64_t vocab, bool routed) const {
  const auto members = read_npz(file_of(item));
  if (!members.ok()) return false;
  const std::int64_t steps = greedy_steps;
  const std::int64_t top = std::min<std::int64_t>(static_cast<std::int64_t>(frozen::kTopLogits), vocab);
  const Tensor* logits = member(*members, "logits", DType::kF32, {vocab});
  const Tensor* margins = member(*members, "margins", DType::kF64, {steps});
  const Tensor* top_ids = member(*members, "top_ids", DType::kI64, {steps, top});
  const Tensor* top_logits = member(*members, "top_logits", DType::kF32, {steps, top});
  const Tensor* routers = routed ? member(*members, "router_margins", DType::kF64, {steps}) : nullptr;
  if (logits == nullptr || margins == nullptr || top_ids == nullptr || top_logits == nullptr) return false;
  if (routed && routers == nullptr) return false;
  const auto row = logits->data<float>();
  item.logits.assign(row.begin(), row.end());
  item.greedy.clear();
  for (std::int64_t i = 0; i < steps; ++i) {
    frozen::GreedyStep step;
    step.margin = margins->data<double>()[static_cast<std::size_t>(i)];
    for (std::int64_t k = 0; k < top; ++k) {
      const auto at = static_cast<std::size_t>(i * top + k);
      step.top_ids.push_back(static_cast<std::int32_t>(top_ids->data<std::int64_t>()[at]));
      step.top_logits.push_back(top_logits->data<float>()[at]);
    }
    step.token = step.top_ids[0];
    if (routed) step.router_margin = routers->data<double>()[static_cast<std::size_t>(i)];
    item.greedy.push_back(std::move(step));
  }
  return true;
}

Status WorkFolder::save(const frozen::ReferenceItem& item) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed)
    return Error{ErrorKind::kIo, fmt::format("{}: cannot be made: {}", folder_.string(), failed.message()), {}};
  std::vector<double> margins, routers;
  std::vector<std::int64_t> top_ids;
  std::vector<float> top_logits;
  for (const frozen::GreedyStep& step : item.greedy) {
    margins.push_back(step.margin);
    if (step.router_margin) routers.push_back(*step.router_margin);
    const auto wide = widened(step.top_ids);
    top_ids.insert(top_ids.end(), wide.begin(), wide.end());
    top_logits.insert(top_logits.end(), step.top_logits.begin(), step.top_logits.end());
  }
  const auto steps = static_cast<std::int64_t>(item.greedy.size());
  const auto top = static_cast<std::int64_t>(item.greedy.empty() ? 0 : item.greedy.front().top_ids.size());
  std::vector<std::pair<std::string, Tensor>> members = {
      {"logits", Tensor::of({static_cast<std::int64_t>(item.logits.size())}, item.logits)},
      {"margins", Tensor::of({steps}, margins)},
      {"top_ids", Tensor::of({steps, top}, top_ids)},
      {"top_logits", Tensor::of({steps, top}, top_logits)}};
  if (!routers.empty())
    members.emplace_back("router_margins", Tensor::of({static_cast<std::int64_t>(routers.size())}, routers));
  return write_npz(file_of(item), members);
}

void WorkFolder::remove() const {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

}  // namespace calkit::baseline
