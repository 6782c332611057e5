// Shapes of the operators that move elements: slices, joins and gathers.
#include <algorithm>
#include <numeric>

#include "fact.h"

namespace calkit::inventory {
namespace {

std::optional<Dims> transpose(const Call& call) {
  const Dims* dims = call.dims(0);
  if (!dims) return std::nullopt;
  const auto* perm = call.node.attribute("perm");
  if (!perm) return Dims(dims->rbegin(), dims->rend());
  if (perm->ints.size() != dims->size()) return std::nullopt;
  Dims out;
  for (const std::int64_t axis : perm->ints) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(dims->size())) return std::nullopt;
    out.push_back((*dims)[static_cast<std::size_t>(axis)]);
  }
  return out;
}

std::optional<Dims> concat(const Call& call) {
  std::optional<Dims> out;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Dims* dims = call.dims(i);
    if (!dims || (out && out->size() != dims->size())) return std::nullopt;
    const auto axis = axis_of(call.node.int_or("axis", 0), dims->size());
    if (!axis) return std::nullopt;
    if (!out) {
      out = *dims;
      continue;
    }
    for (std::size_t j = 0; j < dims->size(); ++j)
      if (j == *axis)
        (*out)[j] += (*dims)[j];
      else if (!(*out)[j].known())
        (*out)[j] = (*dims)[j];
  }
  return out;
}

Formula slice_extent(const Formula& extent, std::int64_t start, const Formula& stated_end, std::int64_t step) {
  const auto end = stated_end.whole();
  const auto size = extent.whole();
  if (size && end && step > 0) {
    const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + *size : at, 0, *size); };
    const std::int64_t length = std::max<std::int64_t>(place(*end) - place(start), 0);
    return (length + step - 1) / step;
  }
  if (step != 1 || !extent.known()) return Formula::unknown();
  constexpr std::int64_t kOpen = 1ll << 30;  // exporters write a huge end for "to the end"
  const bool whole_rest = (end && *end >= kOpen) || stated_end == extent;
  if (start >= 0 && whole_rest) return start == 0 ? extent : extent - Formula(start);
  if (start < 0 && whole_rest) return -start;
  if (start == 0 && end && *end < 0) return extent + stated_end;
  if (start == 0 && stated_end.known() && !end) return stated_end;  // "the first n", n no larger than the axis
  return Formula::unknown();
}

std::optional<Dims> slice(const Call& call) {
  const Dims* dims = call.dims(0);
  const auto starts = call.numbers("starts", 1);
  const auto* ends = call.content(2);
  const auto stated_ends = call.numbers("ends", 2);
  if (!dims || !starts || (!ends && !stated_ends)) return std::nullopt;
  Dims stops = ends ? *ends : Dims(stated_ends->begin(), stated_ends->end());
  auto axes = call.numbers("axes", 3);
  const auto steps = call.numbers("", 4);
  if ((call.input(3) && !axes) || (call.input(4) && !steps)) return std::nullopt;
  if (!axes) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  Dims out = *dims;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = axis_of((*axes)[i], dims->size());
    if (!axis || i >= starts->size() || i >= stops.size() || (steps && i >= steps->size())) return std::nullopt;
    out[*axis] = slice_extent(out[*axis], (*starts)[i], stops[i], steps ? (*steps)[i] : 1);
  }
  return out;
}

std::optional<Dims> gather(const Call& call) {
  const Dims *data = call.dims(0), *indices = call.dims(1);
  if (!data || !indices) return std::nullopt;
  const auto axis = axis_of(call.node.int_or("axis", 0), data->size());
  if (!axis) return std::nullopt;
  Dims out(data->begin(), data->begin() + static_cast<std::ptrdiff_t>(*axis));
  out.insert(out.end(), indices->begin(), indices->end());
  out.insert(out.end(), data->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, data->end());
  return out;
}

std::optional<Dims> gather_nd(const Call& call) {
  const Dims *data = call.dims(0), *indices = call.dims(1);
  const std::int64_t batch = call.node.int_or("batch_dims", 0);
  const auto taken = indices && !indices->empty() ? indices->back().whole() : std::nullopt;
  if (!data || !taken || batch < 0 || *taken < 0 || *taken > 64) return std::nullopt;
  const std::int64_t used = *taken + batch;
  if (batch > 64 || used > static_cast<std::int64_t>(data->size())) return std::nullopt;
  Dims out(indices->begin(), indices->end() - 1);
  out.insert(out.end(), data->begin() + used, data->end());
  return out;
}

std::optional<Dims> range(const Call& call) {
  const auto one = [&](std::size_t input) {
    const auto* content = call.content(input);
    return content && content->size() == 1 ? content->front() : Formula::unknown();
  };
  return Dims{(one(1) - one(0)).whole_over(one(2))};
}

std::optional<Dims> split(const Call& call, std::size_t output) {
  const Dims* dims = call.dims(0);
  const auto axis = dims ? axis_of(call.node.int_or("axis", 0), dims->size()) : std::nullopt;
  if (!axis || call.node.outputs.empty()) return std::nullopt;
  Dims out = *dims;
  const auto sizes = call.numbers("split", 1);
  if (call.node.attribute("split") || call.input(1))
    out[*axis] = sizes && output < sizes->size() ? Formula((*sizes)[output]) : Formula::unknown();
  else
    out[*axis] = out[*axis].whole_over(static_cast<std::int64_t>(call.node.outputs.size()));
  return out;
}

}  // namespace

std::optional<Dims> moved_shape(const Call& call, std::size_t output) {
  const std::string& op = call.node.op_type;
  if (op == "Transpose") return transpose(call);
  if (op == "Concat") return concat(call);
  if (op == "Slice") return slice(call);
  if (op == "Gather") return gather(call);
  if (op == "GatherND") return gather_nd(call);
  if (op == "Range") return range(call);
  if (op == "Split") return split(call, output);
  if (op == "Expand") {
    const Dims *dims = call.dims(0), *target = call.content(1);
    return dims && target ? broadcast({dims, target}) : std::nullopt;
  }
  if (op == "ConstantOfShape") {
    const auto* content = call.content(0);
    return content ? std::optional(*content) : std::nullopt;
  }
  if (op == "Where") return broadcast({call.dims(0), call.dims(1), call.dims(2)});
  const Dims* same = nullptr;
  for (const char* known : {"Cast", "CastLike", "Scatter", "ScatterElements", "ScatterND", "TensorScatter", "Trilu"})
    if (op == known) same = call.dims(0);
  if (op == "GatherElements") same = call.dims(1);
  return same ? std::optional(*same) : std::nullopt;
}

}  // namespace calkit::inventory
