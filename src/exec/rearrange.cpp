// DepthToSpace and SpaceToDepth: blocks of a picture [N, C, H, W] as channels, and back.
#include <fmt/format.h>

#include <cstring>

#include "call.h"

namespace calkit::exec {
namespace {

struct Blocks {
  std::size_t batch = 0, channels = 0, height = 0, width = 0, side = 0;  ///< of the deep form
  bool channels_first = false;  ///< CRD: the block's place is the inner part of a channel's number
  std::size_t deep(std::size_t n, std::size_t c, std::size_t i, std::size_t j, std::size_t h, std::size_t w) const {
    const std::size_t all = channels * side * side, block = i * side + j;
    const std::size_t channel = channels_first ? c * side * side + block : block * channels + c;
    return ((n * all + channel) * height + h) * width + w;
  }
  std::size_t wide(std::size_t n, std::size_t c, std::size_t i, std::size_t j, std::size_t h, std::size_t w) const {
    return ((n * channels + c) * height * side + h * side + i) * width * side + w * side + j;
  }
};

Status rearrange(const Call& call, const Tensor& x, const Blocks& b, const Shape& shape, bool to_space) {
  CALKIT_TRY(Tensor y, call.out(0, x.dtype(), shape));
  const std::size_t bytes = dtype_bytes(x.dtype());
  for (std::size_t n = 0; n < b.batch; ++n)
    for (std::size_t c = 0; c < b.channels; ++c)
      for (std::size_t i = 0; i < b.side; ++i)
        for (std::size_t j = 0; j < b.side; ++j)
          for (std::size_t h = 0; h < b.height; ++h)
            for (std::size_t w = 0; w < b.width; ++w) {
              const std::size_t deep = b.deep(n, c, i, j, h, w), wide = b.wide(n, c, i, j, h, w);
              std::memcpy(y.mutable_raw() + (to_space ? wide : deep) * bytes,
                          x.raw() + (to_space ? deep : wide) * bytes, bytes);
            }
  return {};
}

template <bool kToSpace>
Status run_blocks(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  const std::int64_t side = call.node.int_or("blocksize", 0);
  if (x->rank() != 4) return call.fault(0, tensor_text(*x), "rank 4");
  if (side < 1 || side > (1 << 20)) return call.fault(fmt::format("blocksize {}", side), "1 or more");
  const std::int64_t c = x->dim(1), h = x->dim(2), w = x->dim(3);
  if (kToSpace ? c % (side * side) != 0 : h % side != 0 || w % side != 0)
    return call.fault(0, tensor_text(*x), fmt::format("extents that blocks of {} divide", side));
  const std::string mode = call.text_or("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return call.fault("mode '" + mode + "'", "DCR or CRD");
  const Shape shape = kToSpace ? Shape{x->dim(0), c / (side * side), h * side, w * side}
                               : Shape{x->dim(0), c * side * side, h / side, w / side};
  const Shape &deep = kToSpace ? x->shape() : shape, &wide = kToSpace ? shape : x->shape();
  const auto n = [](std::int64_t v) { return static_cast<std::size_t>(v); };
  const Blocks blocks{n(deep[0]), n(wide[1]), n(deep[2]), n(deep[3]), n(side), mode == "CRD"};
  return rearrange(call, *x, blocks, shape, kToSpace);
}

}  // namespace

void register_rearrange(Registry& registry) {
  registry[":DepthToSpace"] = {
      .min_inputs = 1, .max_inputs = 1, .attributes = {"blocksize=i", "mode=s>=11"}, .run = &run_blocks<true>};
  registry[":SpaceToDepth"] = {
      .min_inputs = 1, .max_inputs = 1, .attributes = {"blocksize=i", "mode=s>=28"}, .run = &run_blocks<false>};
}

}  // namespace calkit::exec
