#include "calkit/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calkit/base/text.h"
#include "parts.h"

namespace calkit::embedded {
extern const std::string_view report_style;
}

namespace calkit::report {
namespace {

using manifest::Evidence;

std::string short_hash(const std::string& sha256) {
  const std::string_view hex =
      std::string_view(sha256).starts_with("sha256:") ? std::string_view(sha256).substr(7) : std::string_view(sha256);
  return fmt::format("<code title=\"{}\">{}</code>", escape_html(hex), escape_html(hex.substr(0, 12)));
}

std::string device_badge(const std::string& kind) {
  return badge(kind, kind == "emulated" ? "EMULATED" : kind);
}

// The newest record of each command that is about this ledger's artefacts gets a section of its own.
std::vector<const Evidence*> shown_in_full(const std::vector<Evidence>& records, const gate::Chain& chain) {
  std::vector<const Evidence*> out;
  std::set<std::string> seen;
  for (auto it = records.rbegin(); it != records.rend(); ++it)
    if (it->command != "gate" && gate::off_chain_reason(*it, chain).empty() && seen.insert(it->command).second)
      out.push_back(&*it);
  // In the order of the road: two records of one second have no order of their own.
  const auto place = [](const Evidence* r) {
    const auto& table = gate::gates();
    return std::find_if(table.begin(), table.end(), [r](const gate::Gate& g) { return r->command == g.command; });
  };
  std::reverse(out.begin(), out.end());
  std::stable_sort(out.begin(), out.end(), [&](const Evidence* a, const Evidence* b) { return place(a) < place(b); });
  return out;
}

std::string header(const std::vector<const Evidence*>& shown, const gate::Report& gates) {
  const auto verdict = std::string(manifest::verdict_name(gates.verdict));
  std::string out = "<div class=\"head\"><div><h1>Run report</h1><p>" + escape_html(gates.summary) + "</p>";
  const auto [first, last] = std::minmax_element(
      shown.begin(), shown.end(), [](const Evidence* a, const Evidence* b) { return a->started_utc < b->started_utc; });
  if (!shown.empty())
    out += fmt::format("<p class=\"soft\">{} records, {} to {}</p>", gates.records, escape_html((*first)->started_utc),
                       escape_html((*last)->finished_utc));
  out += "</div>" + badge(verdict + " big", verdict) + "</div>\n";
  if (std::any_of(shown.begin(), shown.end(), [](const Evidence* r) { return r->device.kind == "emulated"; }))
    out +=
        "<p class=\"note emulated\"><b>Emulated device.</b> Runner, bench and soak ran on the emulated device: the "
        "numbers show that the road works on "
        "this host. They are no measure of hardware, and no C3 gate counts them.</p>\n";
  return out;
}

std::string chain_html(const gate::Chain& chain) {
  if (chain.empty()) return {};
  std::string out = "<p class=\"soft\">About ";
  bool first = true;
  for (const auto& [role, digest] : chain) {
    out += fmt::format("{}{} {}", first ? "" : ", ", escape_html(role), short_hash(digest));
    first = false;
  }
  return out + "</p>\n";
}

std::string gates_html(const std::vector<const Evidence*>& shown, const gate::Report& gates) {
  std::string out =
      "<h2>Gates</h2>" + chain_html(gates.chain) +
      "<div class=\"scroll\"><table><tr "
      "class=\"head-row\"><th>gate</th><th>stage</th><th>what</th><th>status</th><th>state</th><th>by</th></tr>\n";
  for (const gate::Row& row : gates.rows) {
    std::string by = escape_html(row.note);
    for (const Evidence* record : shown)
      if (!row.record.empty() && file_name(*record) == row.record)
        by = fmt::format("<a href=\"#{}\">{}</a> {}<br>{}", anchor(*record), escape_html(record->command),
                         row.emulated ? device_badge("emulated") : "", by);
    const auto state = gate::state_name(row.state);
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", row.gate->id,
                       row.gate->stage, escape_html(row.gate->title), row.gate->status, badge(state, state), by);
  }
  return out + "</table></div>\n";
}

std::string steps_html(const std::vector<const Evidence*>& shown) {
  std::string out =
      "<h2>Steps</h2><div class=\"scroll\"><table class=\"keys\"><tr "
      "class=\"head-row\"><th>step</th><th>verdict</th><th>what was "
      "found</th><th class=\"n\">time</th></tr>\n";
  for (const Evidence* r : shown) {
    const auto verdict = manifest::verdict_name(r->verdict);
    out += fmt::format("<tr><td><a href=\"#{}\">{}</a></td><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>\n",
                       anchor(*r), escape_html(r->command), badge(verdict, verdict), escape_html(r->summary),
                       figure_text(r->duration_s, "s"));
  }
  return out + "</table></div>\n";
}

std::string files_html(const Evidence& r) {
  if (r.inputs.empty() && r.outputs.empty()) return {};
  std::string out =
      "<details><summary>inputs and outputs</summary><div class=\"scroll\"><table><tr "
      "class=\"head-row\"><th></th><th>role</th><th>path</th>"
      "<th>sha256</th><th class=\"n\">size</th></tr>";
  const auto rows = [&out](const char* way, const std::vector<manifest::EvidenceFile>& files) {
    for (const auto& f : files)
      out += fmt::format("<tr><td>{}</td><td>{}</td><td><code>{}</code></td><td>{}</td><td class=\"n\">{}</td></tr>",
                         way, escape_html(f.role), escape_html(f.path), short_hash(f.sha256), format_bytes(f.bytes));
  };
  rows("in", r.inputs);
  rows("out", r.outputs);
  return out + "</table></div></details>\n";
}

std::string figures_html(const Evidence& r) {
  if (r.figures.empty()) return {};
  // The bench shows its figures as a matrix already.
  const bool folded = r.command == "bench";
  std::string out = folded ? "<details><summary>figures of the record</summary>" : "";
  out +=
      "<div class=\"scroll\"><table class=\"figures keys\"><tr class=\"head-row\"><th>figure</th><th "
      "class=\"n\">value</th><th "
      "class=\"n\">n</th><th>how measured</th></tr>";
  for (const manifest::Figure& f : r.figures)
    out += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"soft\">{}</td></tr>",
                       escape_html(f.name), escape_html(figure_text(f.value, f.unit)),
                       f.n ? fmt::format("{}", *f.n) : "–", escape_html(f.how));
  return out + "</table></div>" + (folded ? "</details>\n" : "\n");
}

std::string record_html(const Evidence& r) {
  const auto verdict = manifest::verdict_name(r.verdict);
  std::string out = fmt::format(
      "<section class=\"card\" id=\"{}\"><div class=\"top\"><h3>{}</h3>{}{}<span class=\"soft\">{} · {}</span></div>\n",
      anchor(r), escape_html(r.command), badge(verdict, verdict),
      r.device.kind == "none" ? "" : device_badge(r.device.kind), escape_html(r.started_utc),
      figure_text(r.duration_s, "s"));
  out += "<p>" + escape_html(r.summary) + "</p>\n";
  if (r.device.kind != "none")
    out += fmt::format("<p class=\"soft\">device {}; runtime {}, driver {}, firmware {}</p>\n",
                       escape_html(r.device.name), escape_html(r.device.runtime_version.value_or("none to tell")),
                       escape_html(r.device.driver_version.value_or("none to tell")),
                       escape_html(r.device.firmware_version.value_or("none to tell")));
  if (!r.findings.empty()) {
    out += "<ul class=\"findings\">";
    for (const std::string& finding : r.findings) out += "<li>" + escape_html(finding) + "</li>";
    out += "</ul>\n";
  }
  if (r.command == "bench" || r.command == "soak")
    out += details_html(r.details) + figures_html(r);
  else
    out += figures_html(r) + details_html(r.details);
  return out + files_html(r) + "</section>\n";
}

std::string others_html(const std::vector<Evidence>& records, const std::vector<const Evidence*>& shown,
                        const gate::Chain& chain) {
  std::string rows;
  for (const Evidence& r : records) {
    if (r.command == "gate" || std::find(shown.begin(), shown.end(), &r) != shown.end()) continue;
    const std::string why = gate::off_chain_reason(r, chain);
    const auto verdict = manifest::verdict_name(r.verdict);
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape_html(r.command),
                        escape_html(r.started_utc), badge(verdict, verdict),
                        escape_html(why.empty() ? "an earlier record of the same artefact" : "stale: " + why));
  }
  if (rows.empty()) return {};
  return "<h2>Other records</h2><div class=\"scroll\"><table><tr "
         "class=\"head-row\"><th>step</th><th>started</th><th>verdict</th><th>why not above</th></tr>\n" +
         rows + "</table></div>\n";
}

}  // namespace

std::string html(const std::vector<Evidence>& records, const gate::Report& gates) {
  const auto shown = shown_in_full(records, gates.chain);
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>calkit run "
      "report</title>\n<style>\n";
  out += embedded::report_style;
  out += "</style></head>\n<body>\n";
  out += header(shown, gates) + gates_html(shown, gates) + steps_html(shown) + "<h2>Records</h2>\n";
  for (const Evidence* record : shown) out += record_html(*record);
  out += others_html(records, shown, gates.chain);
  out +=
      "<footer>C0 in the product today · C1 in the SDK, unused · C2 ours to build · C3 needs the vendor · C4 not "
      "supported. A record counts only for the "
      "artefacts it was made with. Every figure comes from a record; a dash is a figure nobody "
      "measured.</footer>\n</body></html>\n";
  return out;
}

}  // namespace calkit::report
