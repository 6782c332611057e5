// RotaryEmbedding (opset 23): [B, heads, S, D], or [B, S, heads * D] with num_heads.
#include <fmt/format.h>

#include "call.h"
#include "wide.h"

namespace calkit::exec {
namespace {

struct Geometry {
  std::size_t batch = 0, heads = 0, length = 0, width = 0, rotated = 0;
  std::size_t head_stride = 0, token_stride = 0;  ///< in elements
  bool interleaved = false;
};

Result<Geometry> read_geometry(const Call& call, const Tensor& x) {
  Geometry g;
  g.batch = static_cast<std::size_t>(x.rank() > 0 ? x.dim(0) : 0);
  if (x.rank() == 4) {
    g.heads = static_cast<std::size_t>(x.dim(1));
    g.length = static_cast<std::size_t>(x.dim(2));
    g.width = static_cast<std::size_t>(x.dim(3));
    g.head_stride = g.length * g.width;
    g.token_stride = g.width;
  } else if (x.rank() == 3) {
    const std::int64_t heads = call.node.int_or("num_heads", 0);
    if (heads <= 0 || x.dim(2) % heads != 0)
      return call.fault(fmt::format("num_heads {}", heads), fmt::format("a divisor of {}", x.dim(2)));
    g.heads = static_cast<std::size_t>(heads);
    g.length = static_cast<std::size_t>(x.dim(1));
    g.width = static_cast<std::size_t>(x.dim(2) / heads);
    g.head_stride = g.width;
    g.token_stride = g.width * g.heads;
  } else {
    return call.fault(0, tensor_text(x), "rank 3 or 4");
  }
  const std::int64_t rotated = call.node.int_or("rotary_embedding_dim", 0);
  if (rotated < 0 || rotated > static_cast<std::int64_t>(g.width) || rotated % 2 != 0 ||
      (rotated == 0 && g.width % 2 != 0))
    return call.fault(fmt::format("rotary_embedding_dim {}", rotated), fmt::format("an even number up to {}", g.width));
  g.rotated = rotated == 0 ? g.width : static_cast<std::size_t>(rotated);
  g.interleaved = call.node.int_or("interleaved", 0) != 0;
  return g;
}

// For each (batch, token): the row of the cos and sin tables.
Result<std::vector<std::size_t>> table_rows(const Call& call, const Geometry& g) {
  CALKIT_TRY(const Tensor* cos, call.input(1));
  CALKIT_TRY(const Tensor* sin, call.input(2));
  const Tensor* positions = call.optional(3);
  if (cos->shape() != sin->shape())
    return call.fault(2, tensor_text(*sin), "the shape of the cos table, " + tensor_text(*cos));
  const std::size_t rank = positions != nullptr ? 2 : 3;
  const bool whole = cos->rank() == rank && cos->dim(-1) == static_cast<std::int64_t>(g.rotated / 2) &&
                     (positions != nullptr || (cos->dim(0) == static_cast<std::int64_t>(g.batch) &&
                                               cos->dim(1) == static_cast<std::int64_t>(g.length)));
  if (!whole) {
    const std::string last = fmt::format("{}]", g.rotated / 2);
    return call.fault(
        1, tensor_text(*cos),
        positions != nullptr ? "[positions, " + last : fmt::format("[{}, {}, {}", g.batch, g.length, last));
  }
  std::vector<std::size_t> rows(g.batch * g.length);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  if (positions == nullptr) return rows;
  CALKIT_TRY(const auto wanted, call.ints(3));
  if (wanted.size() != rows.size())
    return call.fault(3, tensor_text(*positions), fmt::format("[{}, {}]", g.batch, g.length));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (wanted[i] < 0 || wanted[i] >= cos->dim(0))
      return call.fault(3, fmt::format("position {}", wanted[i]), fmt::format("0 to {}", cos->dim(0) - 1));
    rows[i] = static_cast<std::size_t>(wanted[i]);
  }
  return rows;
}

inline float rounded(const float&, float product) {
  return product;
}
inline float rounded(const BF16&, float product) {
  return round_bf16(product);
}

// BF16: each product is rounded, then their sum, as the peers do.
template <class T>
void rotate(const Geometry& g, const std::vector<std::size_t>& rows, const T* cos, const T* sin, const T* x, T* y) {
  const std::size_t half = g.rotated / 2;
  const std::size_t apart = g.interleaved ? 1 : half, step = g.interleaved ? 2 : 1;
  for (std::size_t b = 0; b < g.batch; ++b)
    for (std::size_t h = 0; h < g.heads; ++h)
      for (std::size_t s = 0; s < g.length; ++s) {
        const std::size_t at = b * g.heads * g.length * g.width + h * g.head_stride + s * g.token_stride;
        const T *from = x + at, *c = cos + rows[b * g.length + s] * half, *n = sin + rows[b * g.length + s] * half;
        T* to = y + at;
        for (std::size_t i = 0; i < half; ++i) {
          const float first = wide(from[i * step]), second = wide(from[i * step + apart]);
          const float cosine = wide(c[i]), sine = wide(n[i]);
          put(to[i * step], rounded(*from, first * cosine) - rounded(*from, second * sine));
          put(to[i * step + apart], rounded(*from, second * cosine) + rounded(*from, first * sine));
        }
        for (std::size_t i = g.rotated; i < g.width; ++i) to[i] = from[i];
      }
}

Status run_rotary(const Call& call) {
  CALKIT_TRY(const Tensor* x, call.input(0));
  if (x->dtype() != DType::kF32 && x->dtype() != DType::kBF16) return call.fault(0, tensor_text(*x), "f32 or bf16");
  CALKIT_TRY(const Geometry geometry, read_geometry(call, *x));
  CALKIT_TRY(const auto rows, table_rows(call, geometry));
  for (std::size_t i = 1; i <= 2; ++i)
    if (call.inputs[i]->dtype() != x->dtype())
      return call.fault(i, tensor_text(*call.inputs[i]),
                        fmt::format("{}, as the first operand", dtype_name(x->dtype())));
  CALKIT_TRY(Tensor y, call.out(0, x->dtype(), x->shape()));
  const Tensor &cos = *call.inputs[1], &sin = *call.inputs[2];
  if (x->dtype() == DType::kF32)
    rotate(geometry, rows, cos.data<float>().data(), sin.data<float>().data(), x->data<float>().data(),
           y.mutable_data<float>().data());
  else
    rotate(geometry, rows, cos.data<BF16>().data(), sin.data<BF16>().data(), x->data<BF16>().data(),
           y.mutable_data<BF16>().data());
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
