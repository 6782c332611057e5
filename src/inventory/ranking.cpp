#include "ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace calkit::inventory {
namespace {

constexpr std::int64_t kDefaultExtent = 512;

bool runs_on_device(Support::State state) {
  return state == Support::State::kFolded || state == Support::State::kFunction || state == Support::State::kNpu;
}

/// Types, in the order of first use: "FLOAT", "FLOAT, INT64".
std::string types_of(const Family& family) {
  std::vector<std::string> types;
  for (const auto* list : {&family.inputs, &family.outputs})
    for (const std::string& text : *list) {
      std::string type = text.substr(0, text.find('['));
      if (type != "-" && std::find(types.begin(), types.end(), type) == types.end()) types.push_back(std::move(type));
    }
  std::string out;
  for (const std::string& type : types) out += (out.empty() ? "" : ", ") + type;
  return out;
}

std::string kernel_name(const Family& family) {
  if (!family.support.kernel.empty() && family.support.state == Support::State::kNeedsKernel)
    return family.support.kernel;
  return fmt::format("{} ({})", family.op, types_of(family));
}

struct Totals {
  double nodes = 0, flops = 0, bytes = 0;
};

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

void add(const Family& family, Kernel& kernel) {
  kernel.now = std::max(kernel.now, family.support.state);
  if (std::find(kernel.ops.begin(), kernel.ops.end(), family.op) == kernel.ops.end()) kernel.ops.push_back(family.op);
  if (kernel.reason.empty())
    kernel.reason = family.support.reason.empty() ? family.support.note : family.support.reason;
  kernel.nodes += family.count;
  const Formula bytes = family.cost.bytes();
  if (family.cost.flops.known())
    kernel.flops += family.cost.flops;
  else
    kernel.flops_unknown += family.count;
  if (bytes.known())
    kernel.bytes += bytes;
  else
    kernel.bytes_unknown += family.count;
}

}  // namespace

void choose_point(const Bindings& given, Inventory& out) {
  out.at = given;
  std::set<std::string> wanted, first;
  const auto collect = [&](const Formula& formula) {
    const auto symbols = formula.symbols();
    wanted.insert(symbols.begin(), symbols.end());
  };
  for (const Family& family : out.families) {
    collect(family.cost.flops);
    collect(family.cost.bytes());
  }
  for (const Formula* formula : {&out.cost.flops, &out.cost.weights, &out.cost.read, &out.cost.written, &out.tokens,
                                 &out.input_bytes, &out.output_bytes})
    collect(*formula);
  for (const onnx::ValueInfo& input : out.inputs)
    if (input.shape && !input.shape->empty())
      if (const auto* symbol = std::get_if<std::string>(&input.shape->front().value)) {
        const auto symbols = Formula::parse(*symbol).symbols();
        first.insert(symbols.begin(), symbols.end());
      }
  for (const std::string& symbol : wanted) {
    if (out.at.contains(symbol) || out.relations.contains(symbol)) continue;
    out.at_defaults[symbol] = out.at[symbol] = first.contains(symbol) ? 1 : kDefaultExtent;
  }
}

std::optional<double> value_at(const Formula& formula, const Inventory& inventory) {
  Formula value = formula.at(inventory.at);
  if (!value.number()) value = value.with(inventory.relations).at(inventory.at);
  return value.number();
}

void rank_kernels(Inventory& out) {
  std::map<std::string, Kernel> missing;
  Totals all, covered;
  for (const Family& family : out.families) {
    if (family.support.state == Support::State::kFolded || family.support.state == Support::State::kFunction) continue;
    const Totals mine{static_cast<double>(family.count), value_at(family.cost.flops, out).value_or(0),
                      value_at(family.cost.bytes(), out).value_or(0)};
    for (Totals* sum : {&all, runs_on_device(family.support.state) ? &covered : nullptr})
      if (sum) *sum = {sum->nodes + mine.nodes, sum->flops + mine.flops, sum->bytes + mine.bytes};
    if (runs_on_device(family.support.state)) continue;
    Kernel& kernel = missing[kernel_name(family)];
    add(family, kernel);
  }
  for (auto& [name, kernel] : missing) {
    kernel.name = name;
    kernel.node_share = share(static_cast<double>(kernel.nodes), all.nodes);
    kernel.flop_share = share(value_at(kernel.flops, out).value_or(0), all.flops);
    kernel.byte_share = share(value_at(kernel.bytes, out).value_or(0), all.bytes);
    out.kernels.push_back(std::move(kernel));
  }
  const auto key = [](const Kernel& k) { return std::tuple(-k.flop_share, -k.byte_share, -k.node_share); };
  std::stable_sort(out.kernels.begin(), out.kernels.end(),
                   [&](const Kernel& a, const Kernel& b) { return key(a) < key(b); });
  double nodes = share(covered.nodes, all.nodes), flops = share(covered.flops, all.flops),
         bytes = share(covered.bytes, all.bytes);
  for (Kernel& kernel : out.kernels) {
    kernel.nodes_so_far = nodes += kernel.node_share;
    kernel.flops_so_far = flops += kernel.flop_share;
    kernel.bytes_so_far = bytes += kernel.byte_share;
  }
}

void hold_against(Support::State fail_on, Inventory& out) {
  if (fail_on == Support::State::kFolded) return;
  for (const Kernel& kernel : out.kernels)
    if (kernel.now >= fail_on)
      out.findings.push_back(
          {Finding::Severity::kError, fmt::format("{}: {}, {} node{}: {}", state_name(kernel.now), kernel.name,
                                                  kernel.nodes, kernel.nodes == 1 ? "" : "s", kernel.reason)});
}

}  // namespace calkit::inventory
