// Einsum: sums of products over named axes, one sum at a time.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/base/process.h"
#include "call.h"

namespace calkit::exec {
namespace {

constexpr double kMaxProducts = 1e11;               // a few minutes
constexpr std::size_t kAsk = std::size_t{1} << 20;  // products between two looks for a signal
constexpr char kEllipsis = '.';  // axes of "..." are labelled by their place from the end: '\x01', '\x02', ...

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

bool is_label(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// One term without spaces; "..." becomes one '.'.
std::optional<std::string> read_term(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.compare(i, 3, "...") == 0 && out.find(kEllipsis) == std::string::npos) {
      out += kEllipsis;
      i += 2;
    } else if (is_label(text[i])) {
      out += text[i];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<Equation> read_equation(const std::string& text) {
  Equation out;
  const auto arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  for (std::size_t from = 0; from <= left.size();) {
    const std::size_t to = std::min(left.find(',', from), left.size());
    const auto term = read_term(left.substr(from, to - from));
    if (!term) return std::nullopt;
    out.operands.push_back(*term);
    from = to + 1;
  }
  if (arrow != std::string::npos) {
    const auto term = read_term(text.substr(arrow + 2));
    if (!term) return std::nullopt;
    out.result = *term;
    return out;
  }
  // Without an arrow: the axes of "...", then the labels that occur once, sorted.
  std::map<char, int> seen;
  for (const auto& term : out.operands)
    for (const char label : term) ++seen[label];
  if (seen.contains(kEllipsis)) out.result += kEllipsis;
  for (const auto& [label, count] : seen)
    if (label != kEllipsis && count == 1) out.result += label;
  return out;
}

struct Plan {
  std::vector<std::string> operands;              ///< a label for each axis
  std::string order;                              ///< all labels: the result's, then the summed ones
  std::size_t kept = 0;                           ///< how many of them the result has
  Shape sizes;                                    ///< of `order`
  std::vector<std::vector<std::size_t>> strides;  ///< by operand, of `order`; 0 where an operand repeats
};

// Labels for the axes of "...", counted from the last one.
std::string spread(const std::string& term, std::size_t axes) {
  std::string out;
  for (const char label : term) {
    if (label != kEllipsis) out += label;
    for (std::size_t i = axes; label == kEllipsis && i-- > 0;) out += static_cast<char>(1 + i);
  }
  return out;
}

Result<Plan> make_plan(const Call& call, const Equation& equation) {
  Plan plan;
  std::size_t broad = 0;
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < equation.operands.size(); ++i) {
    CALKIT_TRY(const Tensor* x, call.input(i));
    const std::string& term = equation.operands[i];
    const bool open = term.find(kEllipsis) != std::string::npos;
    const std::size_t named = term.size() - (open ? 1 : 0);
    if (x->rank() < named || (!open && x->rank() != named) || x->rank() > 31)
      return call.fault(i, tensor_text(*x), fmt::format("rank {}", named));
    broad = std::max(broad, x->rank() - named);
    plan.operands.push_back(spread(term, x->rank() - named));
    for (std::size_t axis = 0; axis < x->rank(); ++axis) {
      std::int64_t& size = sizes.emplace(plan.operands[i][axis], 1).first->second;
      const std::int64_t found = x->shape()[axis];
      if (size != 1 && found != 1 && found != size)
        return call.fault(i, tensor_text(*x), fmt::format("{} at axis {}", size, axis));
      if (found != 1) size = found;
    }
  }
  plan.order = spread(equation.result, broad);
  plan.kept = plan.order.size();
  for (std::size_t i = 0; i < plan.order.size(); ++i)
    if (!sizes.contains(plan.order[i]) || plan.order.find(plan.order[i]) != i)
      return call.fault("equation '" + call.text_or("equation", "") + "'",
                        "result labels that operands have, each once");
  for (const auto& [label, size] : sizes)
    if (plan.order.find(label) == std::string::npos) plan.order += label;
  for (const char label : plan.order) plan.sizes.push_back(sizes[label]);
  for (std::size_t i = 0; i < plan.operands.size(); ++i) {
    const Shape& shape = call.inputs[i]->shape();
    const auto own = strides_of(shape);
    std::vector<std::size_t> strides(plan.order.size(), 0);
    for (std::size_t axis = 0; axis < own.size(); ++axis)  // a label that stands twice walks the diagonal
      if (shape[axis] != 1) strides[plan.order.find(plan.operands[i][axis])] += own[axis];
    plan.strides.push_back(std::move(strides));
  }
  return plan;
}

template <class T>
Status sum_products(const Call& call, const Plan& plan) {
  CALKIT_TRY(Tensor y,
             call.out(0, call.inputs[0]->dtype(),
                      Shape(plan.sizes.begin(), plan.sizes.begin() + static_cast<std::ptrdiff_t>(plan.kept))));
  std::vector<const T*> operands;
  for (const Tensor* input : call.inputs) operands.push_back(input->data<T>().data());
  std::vector<std::size_t> offsets(operands.size(), 0);
  std::vector<std::int64_t> at(plan.order.size(), 0);
  const std::size_t inner = extent(plan.sizes, plan.kept, plan.sizes.size());
  std::size_t done = 0;
  for (T& result : y.mutable_data<T>()) {
    T sum = 0;
    for (std::size_t i = 0; i < inner; ++i) {
      if (++done % kAsk == 0 && interrupted()) return interrupted_error();
      T product = operands[0][offsets[0]];
      for (std::size_t o = 1; o < operands.size(); ++o) product *= operands[o][offsets[o]];
      sum += product;
      for (std::size_t axis = plan.order.size(); axis-- > 0;) {
        for (std::size_t o = 0; o < operands.size(); ++o) offsets[o] += plan.strides[o][axis];
        if (++at[axis] < plan.sizes[axis]) break;
        for (std::size_t o = 0; o < operands.size(); ++o)
          offsets[o] -= plan.strides[o][axis] * static_cast<std::size_t>(plan.sizes[axis]);
        at[axis] = 0;
      }
    }
    result = sum;
  }
  return {};
}

Status run_einsum(const Call& call) {
  const std::string text = call.text_or("equation", "");
  const auto equation = read_equation(text);
  if (!equation || equation->operands.size() != call.inputs.size())
    return call.fault("equation '" + text + "'", fmt::format("letters and '...' for {} operands", call.inputs.size()));
  CALKIT_TRY(const Plan plan, make_plan(call, *equation));
  double products = 1;
  for (const std::int64_t size : plan.sizes) products *= static_cast<double>(size);
  if (products > kMaxProducts) return call.fault(fmt::format("{:.0f} products", products), "at most 10^11");
  switch (call.inputs[0]->dtype()) {
    case DType::kF32:
      return sum_products<float>(call, plan);
    case DType::kF64:
      return sum_products<double>(call, plan);
    default:  // wraps, and the bits of the result do not depend on the sign
      return sum_products<std::uint64_t>(call, plan);
  }
}

}  // namespace

void register_einsum(Registry& registry) {
  registry[":Einsum"] = {.min_inputs = 1,
                         .max_inputs = 64,
                         .attributes = {"equation=s"},
                         .run = &run_einsum,
                         .types = kNumbers,
                         .native = kTypeF32 | kTypeF64 | kTypeI64 | kTypeU64,
                         .same = kEach,
                         .since = 12};
}

}  // namespace calkit::exec
