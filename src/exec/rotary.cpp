// RotaryEmbedding (opset 23): [B, heads, S, D], or [B, S, heads * D] with num_heads.
#include "rotary_core.h"

#include <fmt/format.h>

#include "wide.h"

namespace calkit::exec {
namespace {

inline float rounded(const float&, float product) {
  return product;
}
inline float rounded(const BF16&, float product) {
  return round_bf16(product);
}

// BF16: each product is rounded, then their sum, as the peers do.
template <class T>
void rotate(const Rotation& g, const T* cos, const T* sin, const T* x, T* y) {
  const std::size_t half = g.rotated / 2;
  const std::size_t apart = g.interleaved ? 1 : half, step = g.interleaved ? 2 : 1;
  for (std::size_t b = 0; b < g.batch; ++b)
    for (std::size_t h = 0; h < g.heads; ++h)
      for (std::size_t s = 0; s < g.length; ++s) {
        const std::size_t row = g.rows[b * g.length + s] * half;
        const T *from = x + b * g.from.batch + h * g.from.head + s * g.from.token, *c = cos + row, *n = sin + row;
        T* to = y + b * g.to.batch + h * g.to.head + s * g.to.token;
        for (std::size_t i = 0; i < half; ++i) {
          const float first = wide(from[i * step]), second = wide(from[i * step + apart]);
          const float cosine = wide(c[i]), sine = wide(n[i]);
          put(to[i * step], rounded(*from, first * cosine) - rounded(*from, second * sine));
          put(to[i * step + apart], rounded(*from, second * cosine) + rounded(*from, first * sine));
        }
        for (std::size_t i = g.rotated; i < g.width; ++i) to[i] = from[i];
      }
}

}  // namespace

Status read_tables(const Call& call, std::size_t first, const Tensor* positions, Rotation& g) {
  CALKIT_TRY(const Tensor* cos, call.input(first));
  CALKIT_TRY(const Tensor* sin, call.input(first + 1));
  const DType dtype = call.inputs[0]->dtype();
  for (std::size_t i = first; i <= first + 1; ++i)
    if (call.inputs[i]->dtype() != dtype)
      return call.fault(i, tensor_text(*call.inputs[i]), fmt::format("{}, as the first operand", dtype_name(dtype)));
  if (cos->shape() != sin->shape())
    return call.fault(first + 1, tensor_text(*sin), "the shape of the cos table, " + tensor_text(*cos));
  const std::size_t rank = positions != nullptr ? 2 : 3;
  const bool whole = cos->rank() == rank && cos->dim(-1) == static_cast<std::int64_t>(g.rotated / 2) &&
                     (positions != nullptr || (cos->dim(0) == static_cast<std::int64_t>(g.batch) &&
                                               cos->dim(1) == static_cast<std::int64_t>(g.length)));
  if (!whole) {
    const std::string last = fmt::format("{}]", g.rotated / 2);
    return call.fault(
        first, tensor_text(*cos),
        positions != nullptr ? "[positions, " + last : fmt::format("[{}, {}, {}", g.batch, g.length, last));
  }
  g.rows.resize(g.batch * g.length);
  for (std::size_t i = 0; i < g.rows.size(); ++i) g.rows[i] = i;
  if (positions == nullptr) return {};
  CALKIT_TRY(const auto wanted, call.ints(first + 2));
  if (wanted.size() != g.rows.size())
    return call.fault(first + 2, tensor_text(*positions), fmt::format("[{}, {}]", g.batch, g.length));
  for (std::size_t i = 0; i < g.rows.size(); ++i) {
    if (wanted[i] < 0 || wanted[i] >= cos->dim(0))
      return call.fault(first + 2, fmt::format("position {}", wanted[i]), fmt::format("0 to {}", cos->dim(0) - 1));
    g.rows[i] = static_cast<std::size_t>(wanted[i]);
  }
  return {};
}

void rotate_into(const Rotation& rotation, const Tensor& cos, const Tensor& sin, const Tensor& x, Tensor& y) {
  if (x.dtype() == DType::kF32)
    rotate(rotation, cos.data<float>().data(), sin.data<float>().data(), x.data<float>().data(),
           y.mutable_data<float>().data());
  else
    rotate(rotation, cos.data<BF16>().data(), sin.data<BF16>().data(), x.data<BF16>().data(),
           y.mutable_data<BF16>().data());
}

namespace {

Result<Rotation> read_rotation(const Call& call, const Tensor& x) {
  Rotation g;
  g.batch = static_cast<std::size_t>(x.rank() > 0 ? x.dim(0) : 0);
  if (x.rank() == 4) {
    g.heads = static_cast<std::size_t>(x.dim(1));
    g.length = static_cast<std::size_t>(x.dim(2));
    g.width = static_cast<std::size_t>(x.dim(3));
    g.from = {g.heads * g.length * g.width, g.length * g.width, g.width};
  } else if (x.rank() == 3) {
    const std::int64_t heads = call.node.int_or("num_heads", 0);
    if (heads <= 0 || x.dim(2) % heads != 0)
      return call.fault(fmt::format("num_heads {}", heads), fmt::format("a divisor of {}", x.dim(2)));
    g.heads = static_cast<std::size_t>(heads);
    g.length = static_cast<std::size_t>(x.dim(1));
    g.width = static_cast<std::size_t>(x.dim(2) / heads);
    g.from = {g.length * g.width * g.heads, g.width, g.width * g.heads};
  } else {
    return call.fault(0, tensor_text(x), "rank 3 or 4");
  }
  const std::int64_t rotated = call.node.int_or("rotary_embedding_dim", 0);
  if (rotated < 0 || rotated > static_cast<std::int64_t>(g.width) || rotated % 2 != 0 ||
      (rotated == 0 && g.width % 2 != 0))
    return call.fault(fmt::format("rotary_embedding_dim {}", rotated), fmt::format("an even number up to {}", g.width));
  g.rotated = rotated == 0 ? g.width : static_cast<std::size_t>(rotated);
  g.interleaved = call.node.int_or("interleaved", 0) != 0;
  g.to = g.from;
  return g;
}

Status run_rotary(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (x->dtype() != DType::kF32 && x->dtype() != DType::kBF16) return call.fault(0, tensor_text(*x), "f32 or bf16");
  CALKIT_TRY(Rotation rotation, read_rotation(call, *x));
  CALKIT_CHECK_OK(read_tables(call, 1, call.optional(3), rotation));
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  rotate_into(rotation, *call.inputs[1], *call.inputs[2], *x, y);
  return {};
}

}  // namespace

void register_rotary(Registry& registry) {
  registry[":RotaryEmbedding"] = {.min_inputs = 3,
                                  .max_inputs = 4,
                                  .attributes = {"interleaved=i", "num_heads=i", "rotary_embedding_dim=i"},
                                  .run = &run_rotary,
                                  .types = kFloat16Types,
                                  .native = kLinearTypes,
                                  .same = 0b111,
                                  .since = 23};
}

}  // namespace calkit::exec
