// Bench and soak: charts and tables from their documents (calkit.bench/1, calkit.soak/1). The documents come from
// files, so a member that is missing or of another type is a dash, never a crash.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calkit/report/html.h"
#include "chart.h"
#include "parts.h"

namespace calkit::report {
namespace {

std::optional<double> number(const Value& at, std::initializer_list<std::string_view> path) {
  const Value* value = &at;
  for (const std::string_view key : path) {
    value = value->find(key);
    if (value == nullptr) return std::nullopt;
  }
  return value->if_number();
}

std::optional<double> scaled(std::optional<double> value, double factor) {
  if (value) *value *= factor;
  return value;
}

const Value::Array* array(const Value& at, std::string_view key) {
  const Value* value = at.find(key);
  return value == nullptr ? nullptr : value->if_array();
}

std::string count_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}", *value) : "–";
}

bool too_few(const Value& cell, std::string_view measure, std::string_view percentile) {
  const Value* summary = cell.find(measure);
  const auto* list = summary == nullptr ? nullptr : array(*summary, "n_too_small_for");
  return list != nullptr && std::any_of(list->begin(), list->end(), [&](const Value& v) {
           return v.if_string() != nullptr && *v.if_string() == percentile;
         });
}

Chart latency_chart(const Value::Array& cells, const std::string& measure, const std::string& title) {
  Chart chart{title, "concurrency (clients)", "ms", {}, true, true, true};
  std::map<std::pair<double, double>, Line> lines;
  for (const Value& cell : cells) {
    const auto prompt = number(cell, {"prompt_tokens"}), output = number(cell, {"output_tokens"}),
               clients = number(cell, {"concurrency"});
    if (!prompt || !output || !clients) continue;
    Line& line = lines[{*prompt, *output}];
    line.name = fmt::format("prompt {:.0f}, output {:.0f}", *prompt, *output);
    line.points.push_back(
        {*clients, scaled(number(cell, {measure, "p50"}), 1e-6), scaled(number(cell, {measure, "p90"}), 1e-6)});
  }
  for (auto& [key, line] : lines) {
    std::sort(line.points.begin(), line.points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

std::string cell_row(const Value& cell) {
  std::string out = "<tr>";
  const auto td = [&out](const std::string& text) { out += "<td class=\"n\">" + escape_html(text) + "</td>"; };
  for (const char* key : {"prompt_tokens", "output_tokens", "concurrency", "succeeded", "failed"})
    td(count_text(number(cell, {key})));
  for (const char* measure : {"ttft_ns", "tpot_ns"})
    for (const char* percentile : {"p50", "p90", "p99"}) {
      const auto value = number(cell, {measure, percentile});
      td((value ? fmt::format("{:.2f}", *value / 1e6) : "–") +
         (value && too_few(cell, measure, percentile) ? "*" : ""));
    }
  for (const char* rate : {"prefill_tokens_per_s", "decode_tokens_per_s", "output_tokens_per_s"})
    td(count_text(number(cell, {rate})));
  return out + "</tr>";
}

std::string stage_row(const Value& cell, const char* step) {
  const Value* stages = cell.find(fmt::format("{}_stages", step));
  if (stages == nullptr || number(*stages, {"steps"}).value_or(0) == 0) return {};
  std::string out =
      fmt::format("<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td>",
                  count_text(number(cell, {"prompt_tokens"})), count_text(number(cell, {"output_tokens"})),
                  count_text(number(cell, {"concurrency"})), step);
  for (const char* stage : {"queue_ns", "h2d_ns", "infer_ns", "d2h_ns", "convert_ns"})
    out += "<td class=\"n\">" + escape_html(figure_text(number(*stages, {stage}), "ns")) + "</td>";
  return out + "</tr>";
}

// The axis spans at least what the budget allows over the run: growth within it looks as flat as it is.
Chart memory_chart(const Value& details, const Value::Array& series, const char* key, const char* title) {
  Chart chart{title, "cycle", "MiB", {Line{title, {}}}, false, false, false, 340, 220, 0};
  const auto cycles = number(details, {"cycles"}), budget = number(details, {"budget_bytes_per_cycle"});
  if (cycles && budget) chart.min_span = *cycles * *budget / (1024 * 1024);
  for (const Value& sample : series) {
    const auto cycle = number(sample, {"cycle"});
    if (cycle)
      chart.lines.front().points.push_back({*cycle, scaled(number(sample, {key}), 1.0 / (1024 * 1024)), std::nullopt});
  }
  return chart;
}

}  // namespace

std::string bench_html(const Value& details) {
  const auto* cells = array(details, "cells");
  if (cells == nullptr || cells->empty()) return {};
  std::string out = "<div class=\"charts\">" +
                    draw(latency_chart(*cells, "ttft_ns", "Time to first token, P50 (whisker: P90)")) +
                    draw(latency_chart(*cells, "tpot_ns", "Time per output token, P50 (whisker: P90)")) + "</div>\n";
  out +=
      "<div class=\"scroll\"><table><tr><th class=\"n\" colspan=\"3\">tokens in, out, clients</th><th class=\"n\" "
      "colspan=\"2\">requests</th>"
      "<th class=\"n\" colspan=\"3\">TTFT, ms</th><th class=\"n\" colspan=\"3\">TPOT, ms</th><th class=\"n\" "
      "colspan=\"3\">tokens/s</th></tr>"
      "<tr class=\"head-row\"><th class=\"n\">prompt</th><th class=\"n\">output</th><th class=\"n\">conc.</th><th "
      "class=\"n\">ok</th><th class=\"n\">failed</th>"
      "<th class=\"n\">P50</th><th class=\"n\">P90</th><th class=\"n\">P99</th><th class=\"n\">P50</th><th "
      "class=\"n\">P90</th><th class=\"n\">P99</th>"
      "<th class=\"n\">prefill</th><th class=\"n\">decode</th><th class=\"n\">output</th></tr>";
  for (const Value& cell : *cells) out += cell_row(cell);
  out +=
      "</table></div><p class=\"soft\">* too few samples for this percentile: P90 needs 29, P99 needs 299. Closed "
      "loop; TTFT includes waiting for a slot.</p>\n";
  out +=
      "<details><summary>mean of each stage</summary><div class=\"scroll\"><table><tr class=\"head-row\"><th "
      "class=\"n\">prompt</th><th class=\"n\">output</th>"
      "<th class=\"n\">conc.</th><th>step</th><th class=\"n\">queue</th><th class=\"n\">host to device</th><th "
      "class=\"n\">infer</th><th class=\"n\">device to host</th>"
      "<th class=\"n\">convert</th></tr>";
  for (const Value& cell : *cells) out += stage_row(cell, "prefill") + stage_row(cell, "decode");
  return out + "</table></div></details>\n";
}

std::string soak_html(const Value& details) {
  const auto* series = array(details, "series");
  if (series == nullptr || series->empty()) return {};
  return "<div class=\"charts\">" +
         draw(memory_chart(details, *series, "heap_bytes", "Heap in use at each quiescent point")) +
         draw(memory_chart(details, *series, "anon_bytes", "Anonymous memory in RAM")) +
         draw(memory_chart(details, *series, "rss_bytes", "Resident set size (RSS)")) + "</div>\n";
}

}  // namespace calkit::report
