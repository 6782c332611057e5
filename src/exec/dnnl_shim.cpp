#include "dnnl_shim.h"

#include <fmt/format.h>
#include <omp.h>

#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

namespace calkit::exec {
namespace {

using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

// Shapes of a serving process repeat; a bound keeps odd callers from collecting primitives.
constexpr std::size_t kMaxPrimitives = 32;

Error library_error(const char* what, const std::exception& e) {
  return Error(ErrorKind::kInternal, fmt::format("oneDNN: {}: {}", what, e.what()));
}

bool cpu_has(dnnl::cpu_isa wanted) {
  // The enumerators are bit masks in both major versions: a wider instruction set contains the bits of a narrower one.
  const auto have = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto want = static_cast<unsigned>(wanted);
  return (have & want) == want;
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const dnnl::memory::desc& x,
                                      const dnnl::memory::desc& w, const dnnl::memory::desc& y) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, x, w, y);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(x, w, y), engine);
#endif
}

Dims dims(std::size_t a, std::size_t b) {
  return {static_cast<dnnl_dim_t>(a), static_cast<dnnl_dim_t>(b)};
}

}  // namespace

bool dnnl_packs(DType dtype) {
  static const bool f32 = cpu_has(dnnl::cpu_isa::avx512_core);
  static const bool bf16 = cpu_has(dnnl::cpu_isa::avx512_core_bf16);
  return dtype == DType::kF32 ? f32 : dtype == DType::kBF16 && bf16;
}

Status dnnl_multiply(int threads, const float* x, bool x_transposed, const float* w, bool w_transposed, std::size_t m,
                     std::size_t n, std::size_t k, float* y) {
  omp_set_num_threads(threads);
  const auto M = static_cast<dnnl_dim_t>(m), N = static_cast<dnnl_dim_t>(n), K = static_cast<dnnl_dim_t>(k);
  const dnnl_status_t status = dnnl_sgemm(x_transposed ? 'T' : 'N', w_transposed ? 'T' : 'N', M, N, K, 1.0f, x,
                                          x_transposed ? M : K, w, w_transposed ? K : N, 0.0f, y, N);
  if (status == dnnl_success) return {};
  return Error(ErrorKind::kInternal,
               fmt::format("oneDNN: product {}x{}x{} ended with status {}", m, n, k, static_cast<int>(status)));
}

struct PackedWeights::State {
  Type type = Type::f32;
  std::size_t n = 0, k = 0;
  int threads = 1;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::memory weights;
  std::map<std::size_t, dnnl::matmul> primitives;  // by rows
  std::mutex mutex;                                // two sessions may share the weights

  dnnl::memory::desc desc(std::size_t rows, std::size_t columns, Type of) const {
    return dnnl::memory::desc(dims(rows, columns), of, Tag::ab);
  }
};

PackedWeights::PackedWeights(std::unique_ptr<State> state) : state_(std::move(state)) {}
PackedWeights::~PackedWeights() = default;
std::size_t PackedWeights::bytes() const {
  return state_->weights.get_desc().get_size();
}

Result<std::unique_ptr<PackedWeights>> PackedWeights::pack(DType dtype, const void* w, std::size_t n, std::size_t k,
                                                           int threads) try {
  omp_set_num_threads(threads);
  auto state = std::make_unique<State>();
  state->type = dtype == DType::kBF16 ? Type::bf16 : Type::f32;
  state->n = n;
  state->k = k;
  state->threads = threads;
  const dnnl::memory::desc any(dims(k, n), state->type, Tag::any);
  const auto layout = describe(state->engine, state->desc(1, k, state->type), any, state->desc(1, n, Type::f32));
  // Rows [n, k] are the matrix [k, n] with exchanged strides.
  const dnnl::memory::desc plain(dims(k, n), state->type, Tag::ba);
  dnnl::memory source(plain, state->engine, const_cast<void*>(w));
  state->weights = dnnl::memory(layout.weights_desc(), state->engine);
  dnnl::reorder(source, state->weights).execute(state->stream, source, state->weights);
  state->stream.wait();
  return std::unique_ptr<PackedWeights>(new PackedWeights(std::move(state)));
} catch (const std::exception& e) {
  return library_error("packing weights", e);
}

Status PackedWeights::multiply(const void* x, std::size_t m, float* y) try {
  const std::lock_guard lock(state_->mutex);
  omp_set_num_threads(state_->threads);
  const auto x_desc = state_->desc(m, state_->k, state_->type);
  const auto y_desc = state_->desc(m, state_->n, Type::f32);
  auto found = state_->primitives.find(m);
  if (found == state_->primitives.end()) {
    if (state_->primitives.size() >= kMaxPrimitives) state_->primitives.clear();
    const auto description = describe(state_->engine, x_desc, state_->weights.get_desc(), y_desc);
    found = state_->primitives.emplace(m, dnnl::matmul(description)).first;
  }
  dnnl::memory input(x_desc, state_->engine, const_cast<void*>(x));
  dnnl::memory output(y_desc, state_->engine, y);
  found->second.execute(state_->stream,
                        {{DNNL_ARG_SRC, input}, {DNNL_ARG_WEIGHTS, state_->weights}, {DNNL_ARG_DST, output}});
  state_->stream.wait();
  return {};
} catch (const std::exception& e) {
  return library_error("multiplying", e);
}

}  // namespace calkit::exec
