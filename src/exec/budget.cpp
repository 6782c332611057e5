#include "budget.h"

#include <fmt/format.h>

#include "calkit/base/checked.h"
#include "calkit/base/process.h"

namespace calkit::exec {
namespace {

constexpr std::uint64_t kOverhead = 256;  // what a tensor of no elements costs

struct Held {
  Tensor tensor;
  std::shared_ptr<std::atomic<std::uint64_t>> count;
  std::uint64_t bytes;
  Held(Tensor held, std::shared_ptr<std::atomic<std::uint64_t>> counter, std::uint64_t size)
      : tensor(std::move(held)), count(std::move(counter)), bytes(size) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { *count -= bytes; }
};

}  // namespace

Budget::Budget(const SessionOptions& options)
    : max_runs_(options.max_node_runs),
      max_bytes_(options.max_bytes != 0 ? options.max_bytes : host_facts().memory_bytes) {
  if (max_bytes_ == 0) max_bytes_ = UINT64_MAX;  // a host that does not tell
}

Status Budget::spend(const onnx::Node& node) {
  if (interrupted()) return interrupted_error();
  if (++runs_ <= max_runs_) return {};
  return input_error("graph", node_label(node), fmt::format("more than {} nodes to run", max_runs_),
                     "as many as the caller allows", "does a loop end?");
}

Result<Tensor> Budget::allocate(const onnx::Node& node, DType dtype, const Shape& shape) {
  const auto bytes = checked_product(shape, dtype_bytes(dtype));
  if (!bytes || *bytes > max_bytes_ || held_->load() + *bytes > max_bytes_)
    return input_error("graph", node_label(node),
                       fmt::format("{} {} beside {} bytes in use", dtype_name(dtype), shape_text(shape), held_->load()),
                       fmt::format("values of {} bytes in all", max_bytes_));
  CALKIT_TRY(Tensor made, Tensor::zeros(dtype, shape), node_label(node));
  *held_ += *bytes + kOverhead;
  const std::byte* data = made.raw();
  return Tensor::borrow(dtype, shape, data, std::make_shared<Held>(std::move(made), held_, *bytes + kOverhead));
}

}  // namespace calkit::exec
