// CSV and Markdown.
#include <fmt/format.h>

#include <iterator>

#include "calkit/base/text.h"
#include "ranking.h"
#include "render.h"

namespace calkit::inventory {
namespace {

/// RFC 4180; text that a spreadsheet would take for a formula is told from one by an apostrophe.
std::string csv_cell(const std::string& text) {
  std::string out = text.size() > 1 && std::string_view("=+-@\t\r").find(text[0]) != std::string::npos ? "'" : "";
  bool quoted = false;
  for (const char c : text) {
    quoted |= c == ',' || c == '"' || c == '\n' || c == '\r';
    out += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted ? "\"" + out + "\"" : out;
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string out;
  for (const std::string& cell : cells) out += (out.empty() ? "" : ",") + csv_cell(cell);
  return out + "\n";
}

std::string formula_cell(const Formula& formula) {
  return formula.known() ? formula.text() : "";
}

std::string value_cell(const Formula& formula, const Inventory& inventory) {
  const auto value = value_at(formula, inventory);
  return value ? fmt::format("{:.15g}", *value) : "";
}

/// Text of a file, inside a Markdown table.
std::string markdown(std::string_view text) {
  std::string out;
  for (const char c : printable(text, SIZE_MAX)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (std::string_view("\\`*_[]|~").find(c) != std::string::npos)
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

using Out = std::back_insert_iterator<std::string>;

void head(Out out, const Inventory& inventory) {
  fmt::format_to(out, "## {}\n\n| | |\n| --- | --- |\n", markdown(inventory.file));
  const auto row = [&](const char* title, const std::string& text) {
    fmt::format_to(out, "| {} | {} |\n", title, markdown(text));
  };
  std::vector<std::string> opsets;
  for (const auto& [domain, version] : inventory.opsets) opsets.push_back(fmt::format("{} {}", domain, version));
  row("IR, opsets", fmt::format("{}, {}", inventory.ir_version, list_text(opsets)));
  row("producer", inventory.producer.empty() ? "not stated" : inventory.producer);
  row("nodes, operators", fmt::format("{}, {}", inventory.nodes, inventory.op_counts.size()));
  row("initialisers", fmt::format("{}, {}", inventory.weights.count, format_bytes(inventory.weights.bytes)));
  if (!inventory.at.empty()) row("figures at", bindings_text(inventory.at));
  row("FLOPs of one call", formula_text(inventory.cost.flops, inventory));
  row("bytes of one call", formula_text(inventory.cost.bytes(), inventory));
  row("tokens of one call", formula_text(inventory.tokens, inventory));
  row("FLOPs a token", formula_text(inventory.cost.flops.over(inventory.tokens), inventory));
  row("bytes a token", formula_text(inventory.cost.bytes().over(inventory.tokens), inventory));
  std::string states;
  for (const auto& [state, nodes] : nodes_by_state(inventory))
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", state_name(state), nodes);
  row("support", fmt::format("{}: {}{}", inventory.support_target, states,
                             assumed_nodes(inventory) > 0
                                 ? fmt::format("; {} nodes by rows that are assumed", assumed_nodes(inventory))
                                 : ""));
}

void kernels(Out out, const Inventory& inventory) {
  if (inventory.kernels.empty()) return;
  fmt::format_to(out,
                 "\n### What one kernel buys\n\n| kernel | now | nodes | FLOPs | bytes | nodes so far | FLOPs so far | "
                 "why |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
  for (const Kernel& kernel : inventory.kernels)
    fmt::format_to(out, "| {} | {} | {} ({}) | {} | {} | {} | {} | {} |\n", markdown(kernel.name),
                   state_name(kernel.now), kernel.nodes, percent_text(kernel.node_share),
                   percent_text(kernel.flop_share), percent_text(kernel.byte_share), percent_text(kernel.nodes_so_far),
                   percent_text(kernel.flops_so_far), markdown(kernel.reason));
}

void families(Out out, const Inventory& inventory) {
  fmt::format_to(out,
                 "\n### Shape families\n\n| nodes | operator | state | types and shapes | FLOPs |\n"
                 "| ---: | --- | --- | --- | --- |\n");
  for (const Family& family : inventory.families)
    fmt::format_to(out, "| {} | {} | {} | {} | {} |\n", family.count, markdown(family.op),
                   state_name(family.support.state), markdown(signature(family)),
                   markdown(formula_text(family.cost.flops, inventory)));
}

void rest(Out out, const Inventory& inventory) {
  if (!inventory.candidates.empty()) {
    fmt::format_to(out,
                   "\n### Fusion candidates\n\n| pattern | as one operator | spelt out |\n| --- | ---: | ---: |\n");
    for (const Candidate& candidate : inventory.candidates)
      fmt::format_to(out, "| {} | {} | {} |\n", candidate.pattern, candidate.fused, candidate.spelt_out);
  }
  if (inventory.findings.empty()) return;
  fmt::format_to(out, "\n### Findings\n\n| | |\n| --- | --- |\n");
  for (const Finding& finding : inventory.findings)
    fmt::format_to(out, "| {} | {} |\n", finding.severity == Finding::Severity::kError ? "error" : "note",
                   markdown(finding.text));
}

}  // namespace

std::string to_csv(const std::vector<Inventory>& inventories) {
  std::string out =
      csv_row({"file", "operator", "nodes", "state", "kernel", "status", "assumed", "inputs", "outputs", "flops",
               "weight_bytes", "read_bytes", "written_bytes", "flops_at", "bytes_at", "at", "why", "example"});
  for (const Inventory& inventory : inventories)
    for (const Family& family : inventory.families) {
      const Support& support = family.support;
      out += csv_row({inventory.file, family.op, fmt::format("{}", family.count),
                      std::string(state_name(support.state)), support.kernel, support.status,
                      support.status.empty() ? ""
                      : support.assumed      ? "yes"
                                             : "no",
                      list_text(family.inputs), list_text(family.outputs), formula_cell(family.cost.flops),
                      formula_cell(family.cost.weights), formula_cell(family.cost.read),
                      formula_cell(family.cost.written), value_cell(family.cost.flops, inventory),
                      value_cell(family.cost.bytes(), inventory), bindings_text(inventory.at),
                      support.reason.empty() ? support.note : support.reason, family.example});
    }
  return out;
}

std::string to_markdown(const std::vector<Inventory>& inventories) {
  std::string text = "# ONNX inventory\n\n";
  auto out = std::back_inserter(text);
  for (const Inventory& inventory : inventories) {
    head(out, inventory);
    kernels(out, inventory);
    families(out, inventory);
    rest(out, inventory);
    fmt::format_to(out, "\n");
  }
  if (inventories.size() == 2) {
    fmt::format_to(out, "## Between the two\n\n| | what | first | second |\n| --- | --- | --- | --- |\n");
    for (const Change& change : diff(inventories[0], inventories[1]))
      fmt::format_to(out, "| {} | {} | {} | {} |\n", change.kind, markdown(change.what), markdown(change.before),
                     markdown(change.after));
  }
  return text;
}

}  // namespace calkit::inventory
