// The HTML page: one file that loads nothing.
#include <fmt/format.h>

#include <iterator>

#include "calkit/base/process.h"
#include "calkit/base/text.h"
#include "ranking.h"
#include "render.h"
#include "walk.h"

namespace calkit::embedded {
extern const std::string_view inventory_style, inventory_script;
}

namespace calkit::inventory {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string badge(std::string_view state) {
  return fmt::format("<span class=\"badge {0}\">{0}</span>", state);
}

void card(Out out, const std::string& value, const std::string& title) {
  fmt::format_to(out, "<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escaped(value), escaped(title));
}

void cards(Out out, const Inventory& inventory) {
  const auto figure = [&](const Formula& formula) {
    const auto value = value_at(formula, inventory);
    return value ? si_text(*value) : std::string("not known");
  };
  fmt::format_to(out, "<div class=\"cards\">\n");
  card(out, fmt::format("{}", inventory.nodes), fmt::format("nodes, {} operators", inventory.op_counts.size()));
  card(out, format_bytes(inventory.weights.bytes), fmt::format("in {} initialisers", inventory.weights.count));
  card(out, figure(inventory.cost.flops), "FLOPs of one call");
  card(out, figure(inventory.cost.bytes()), "bytes moved by one call");
  card(out, figure(inventory.cost.flops.over(inventory.tokens)), "FLOPs a token");
  card(out, figure(inventory.cost.bytes().over(inventory.tokens)), "bytes a token");
  fmt::format_to(out, "</div>\n");
  if (!inventory.at.empty())
    fmt::format_to(out, "<p class=\"soft\">Figures are for {}{}.</p>\n", escaped(bindings_text(inventory.at)),
                   inventory.at_defaults.empty() ? "" : " (not all of them asked for with --at)");
}

void formulas(Out out, const Inventory& inventory) {
  fmt::format_to(out, "<h3>Cost of one call</h3>\n<div class=\"scroll\"><table>\n");
  const auto row = [&](const char* title, const Formula& formula) {
    fmt::format_to(out, "<tr><th>{}</th><td class=\"mono wide\">{}</td></tr>\n", title,
                   escaped(formula_text(formula, inventory)));
  };
  row("FLOPs", inventory.cost.flops);
  row("weights read, B", inventory.cost.weights);
  row("values read, B", inventory.cost.read);
  row("values written, B", inventory.cost.written);
  row("inputs, B", inventory.input_bytes);
  row("outputs, B", inventory.output_bytes);
  row("tokens", inventory.tokens);
  fmt::format_to(out, "</table></div>\n<p class=\"soft\">Tokens: {}.</p>\n", escaped(inventory.tokens_reason));
  std::string without;
  for (const auto& [op, count] : inventory.flops_unknown)
    without += fmt::format("{}{} ({})", without.empty() ? "" : ", ", op, count);
  if (!without.empty())
    fmt::format_to(out, "<p class=\"soft\">Not in the FLOPs, because no formula or shape is known: {}.</p>\n",
                   escaped(without));
}

void support(Out out, const Inventory& inventory) {
  fmt::format_to(out, "<h3>Support by {}</h3>\n<div class=\"bar\">", escaped(inventory.support_target));
  for (const auto& [state, nodes] : nodes_by_state(inventory))
    fmt::format_to(out, "<i class=\"{}\" style=\"flex:{}\"></i>", state_name(state), nodes);
  fmt::format_to(out, "</div>\n<div class=\"legend\">");
  for (const auto& [state, nodes] : nodes_by_state(inventory))
    fmt::format_to(out, "<span>{} {} nodes</span>", badge(state_name(state)), nodes);
  fmt::format_to(out, "</div>\n<p class=\"soft\">Matrix: {}.</p>\n", escaped(inventory.support_source));
  if (const std::uint64_t assumed = assumed_nodes(inventory); assumed > 0)
    fmt::format_to(
        out,
        "<p class=\"soft\">Rows that nobody who builds the device has stated decide for {} of these nodes: they are "
        "assumptions.</p>\n",
        assumed);
  if (inventory.kernels.empty()) return;
  fmt::format_to(
      out,
      "<h3>What one kernel buys</h3>\n<div class=\"scroll\"><table><thead><tr><th>kernel</th><th>now</th><th "
      "class=\"n\">nodes</th><th class=\"n\">of nodes</th><th class=\"n\">of FLOPs</th><th class=\"n\">of "
      "bytes</th><th "
      "class=\"n\">FLOPs so far</th><th>why</th></tr></thead><tbody>\n");
  for (const Kernel& kernel : inventory.kernels)
    fmt::format_to(
        out,
        "<tr><td class=\"name\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"wide soft\">{}</td></tr>\n",
        escaped(kernel.name), badge(state_name(kernel.now)), kernel.nodes, percent_text(kernel.node_share),
        percent_text(kernel.flop_share), percent_text(kernel.byte_share), percent_text(kernel.flops_so_far),
        escaped(kernel.reason));
  fmt::format_to(out, "</tbody></table></div>\n");
}

void families(Out out, const Inventory& inventory) {
  fmt::format_to(out,
                 "<section class=\"filtered\"><h3>Shape families</h3>\n<div class=\"filter\"><input type=\"search\" "
                 "aria-label=\"filter\" placeholder=\"filter: MatMul FLOAT, past, reshape ...\"><select "
                 "aria-label=\"state\"><option value=\"\">all states</option>");
  for (const auto& [state, nodes] : nodes_by_state(inventory))
    fmt::format_to(out, "<option>{}</option>", state_name(state));
  fmt::format_to(out,
                 "</select><span class=\"soft shown\"></span></div>\n<div class=\"scroll\"><table><thead><tr><th "
                 "class=\"n\">nodes</th><th>operator</th><th>state</th><th>types and shapes</th><th "
                 "class=\"n\">FLOPs</th><th class=\"n\">bytes</th></tr></thead><tbody>\n");
  const auto figure = [&](const Formula& formula) {
    const auto value = value_at(formula, inventory);
    return fmt::format("<td class=\"n\" title=\"{}\">{}</td>", escaped(formula.text()), value ? si_text(*value) : "?");
  };
  for (const Family& family : inventory.families) {
    const Support& verdict = family.support;
    fmt::format_to(out,
                   "<tr data-state=\"{0}\" data-nodes=\"{1}\"><td class=\"n\">{1}</td><td class=\"name\">{2}</td><td "
                   "title=\"{3}\">{4}"
                   "</td><td class=\"mono wide\">{5}</td>{6}{7}</tr>\n",
                   state_name(verdict.state), family.count, escaped(family.op),
                   escaped(verdict.reason.empty() ? verdict.note : verdict.reason), badge(state_name(verdict.state)),
                   escaped(signature(family)), figure(family.cost.flops), figure(family.cost.bytes()));
  }
  fmt::format_to(out, "</tbody></table></div></section>\n");
}

void layer(Out out, const Inventory& inventory) {
  if (inventory.layer.nodes.empty()) return;
  fmt::format_to(
      out,
      "<h3>{}</h3>\n<p class=\"soft\">{}A blue dot: the node reads a value from outside.</p>\n<div class=\"frame\">",
      inventory.layer.repeats > 1 ? "One layer" : "The first nodes",
      inventory.layer.repeats > 1 ? fmt::format("{} nodes that stand {} times in a row, constants folded. ",
                                                inventory.layer.nodes.size(), inventory.layer.repeats)
                                  : "No stretch of nodes repeats. ");
  fmt::format_to(out, "{}</div>\n", picture(inventory.layer));
}

void rest(Out out, const Inventory& inventory) {
  if (!inventory.candidates.empty()) {
    fmt::format_to(
        out,
        "<h3>Fusion candidates</h3>\n<div class=\"scroll\"><table><thead><tr><th>pattern</th><th class=\"n\">as one "
        "operator</th><th class=\"n\">spelt out</th></tr></thead><tbody>\n");
    for (const Candidate& candidate : inventory.candidates)
      fmt::format_to(out, "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                     escaped(candidate.pattern), candidate.fused, candidate.spelt_out);
    fmt::format_to(out, "</tbody></table></div>\n");
  }
  fmt::format_to(
      out,
      "<h3>Inputs and outputs</h3>\n<details><summary>{} inputs, {} outputs</summary><div class=\"scroll\"><table>\n",
      inventory.inputs.size(), inventory.outputs.size());
  for (const auto& [title, ports] : {std::pair{"input", &inventory.inputs}, {"output", &inventory.outputs}})
    for (const onnx::ValueInfo& port : *ports)
      fmt::format_to(out, "<tr><td>{}</td><td class=\"name\">{}</td><td class=\"mono\">{}</td></tr>\n", title,
                     escaped(printable(port.name, SIZE_MAX)), escaped(printable(value_text(port), SIZE_MAX)));
  fmt::format_to(out, "</table></div></details>\n");
  if (inventory.findings.empty()) return;
  fmt::format_to(out, "<h3>Findings</h3>\n<div class=\"scroll\"><table>\n");
  for (const Finding& finding : inventory.findings)
    fmt::format_to(out, "<tr><td>{}</td><td class=\"wide\">{}</td></tr>\n",
                   badge(finding.severity == Finding::Severity::kError ? "error" : "note"), escaped(finding.text));
  fmt::format_to(out, "</table></div>\n");
}

void comparison(Out out, const std::vector<Inventory>& inventories) {
  if (inventories.size() != 2) return;
  const auto changes = diff(inventories[0], inventories[1]);
  fmt::format_to(out,
                 "<h2>Between the two</h2>\n<details open><summary>{} differences</summary><div "
                 "class=\"scroll\"><table><thead><tr>"
                 "<th></th><th>what</th><th>first</th><th>second</th></tr></thead><tbody>\n",
                 changes.size());
  for (const Change& change : changes)
    fmt::format_to(
        out,
        "<tr><td>{}</td><td class=\"mono wide\">{}</td><td class=\"mono\">{}</td><td class=\"mono\">{}</td></tr>\n",
        change.kind, escaped(change.what), escaped(change.before), escaped(change.after));
  fmt::format_to(out, "</tbody></table></div></details>\n");
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else if (byte < 0x20 && c != '\n')
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

std::string to_html(const std::vector<Inventory>& inventories) {
  std::string text =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
      "<title>ONNX inventory</title><style>";
  text += embedded::inventory_style;
  text += "</style></head><body>\n<h1>ONNX inventory</h1>\n";
  auto out = std::back_inserter(text);
  for (const Inventory& inventory : inventories) {
    std::vector<std::string> opsets;
    for (const auto& [domain, version] : inventory.opsets) opsets.push_back(fmt::format("{} {}", domain, version));
    fmt::format_to(out, "<h2>{}</h2>\n<p class=\"soft\">IR {}, opset {}, producer {}</p>\n", escaped(inventory.file),
                   inventory.ir_version, escaped(list_text(opsets)),
                   escaped(inventory.producer.empty() ? "not stated" : inventory.producer));
    cards(out, inventory);
    support(out, inventory);
    families(out, inventory);
    layer(out, inventory);
    formulas(out, inventory);
    rest(out, inventory);
  }
  comparison(out, inventories);
  fmt::format_to(
      out,
      "<footer>calkit {}. FLOPs count a product and a sum as two; bytes are those of weights and values, each read "
      "or written once by each node that does.</footer>\n<script>{}</script></body></html>\n",
      escaped(calkit_version()), embedded::inventory_script);
  return text;
}

}  // namespace calkit::inventory
