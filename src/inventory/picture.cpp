// One layer as an inline SVG: rows from top to bottom, each node below all that it reads.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "calkit/base/text.h"
#include "render.h"

namespace calkit::inventory {
namespace {

constexpr double kWidth = 196, kHeight = 42, kGapX = 22, kGapY = 34, kMargin = 16;

struct Placed {
  std::size_t row = 0;
  double x = 0;  ///< of the middle
};

std::vector<std::vector<std::size_t>> readers_of(const Layer& layer) {
  std::vector<std::vector<std::size_t>> out(layer.nodes.size());
  for (std::size_t i = 0; i < layer.nodes.size(); ++i)
    for (const std::size_t from : layer.nodes[i].from) out[from].push_back(i);
  return out;
}

std::vector<std::size_t> rows_of(const Layer& layer, const std::vector<std::vector<std::size_t>>& readers) {
  std::vector<std::size_t> rows(layer.nodes.size(), 0);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::size_t from : layer.nodes[i].from) rows[i] = std::max(rows[i], rows[from] + 1);
  for (std::size_t i = rows.size(); i-- > 0;) {  // what reads nothing of the layer stands close to its reader
    if (!layer.nodes[i].from.empty() || readers[i].empty()) continue;
    std::size_t nearest = rows.size();
    for (const std::size_t reader : readers[i]) nearest = std::min(nearest, rows[reader]);
    rows[i] = nearest == 0 ? 0 : nearest - 1;
  }
  return rows;
}

/// Nodes of each row from left to right: below what they read, the crossings of straight lines kept few.
std::vector<Placed> place(const Layer& layer, double& width, double& height) {
  const auto readers = readers_of(layer);
  const auto rows = rows_of(layer, readers);
  std::vector<Placed> out(rows.size());
  std::vector<std::vector<std::size_t>> by_row;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= by_row.size()) by_row.resize(rows[i] + 1);
    by_row[rows[i]].push_back(i);
    out[i].row = rows[i];
  }
  std::size_t widest = 1;
  for (const auto& row : by_row) widest = std::max(widest, row.size());
  width = 2 * kMargin + static_cast<double>(widest) * (kWidth + kGapX) - kGapX;
  height = 2 * kMargin + static_cast<double>(std::max<std::size_t>(by_row.size(), 1)) * (kHeight + kGapY) - kGapY;
  const auto middle = [&](const std::vector<std::size_t>& others, std::size_t self) {
    if (others.empty()) return out[self].x;
    double sum = 0;
    for (const std::size_t other : others) sum += out[other].x;
    return sum / static_cast<double>(others.size());
  };
  for (int sweep = 0; sweep < 5; ++sweep) {
    const bool down = sweep % 2 == 0;
    for (std::size_t r = 0; r < by_row.size(); ++r) {
      auto& row = by_row[down ? r : by_row.size() - 1 - r];
      std::vector<std::pair<double, std::size_t>> wanted;
      for (const std::size_t i : row) wanted.emplace_back(middle(down ? layer.nodes[i].from : readers[i], i), i);
      std::stable_sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      const double span = static_cast<double>(row.size()) * (kWidth + kGapX) - kGapX;
      for (std::size_t k = 0; k < row.size(); ++k) {
        row[k] = wanted[k].second;
        out[row[k]].x = (width - span) / 2 + kWidth / 2 + static_cast<double>(k) * (kWidth + kGapX);
      }
    }
  }
  return out;
}

double top_of(const Placed& at) {
  return kMargin + static_cast<double>(at.row) * (kHeight + kGapY);
}

using Out = std::back_insert_iterator<std::string>;

/// To the next row in one curve; further down beside the nodes between.
Out edge(Out out, const Placed& from, const Placed& to) {
  const double x1 = from.x, y1 = top_of(from) + kHeight, x2 = to.x, y2 = top_of(to);
  if (to.row <= from.row + 1)
    return fmt::format_to(
        out, "<path class=\"edge\" d=\"M{0:.0f} {1:.0f}C{0:.0f} {4:.0f} {2:.0f} {4:.0f} {2:.0f} {3:.0f}\"/>\n", x1, y1,
        x2, y2, (y1 + y2) / 2);
  const double side = std::max(x1, x2) + kWidth / 2 + kGapX / 2, down = kGapY;
  return fmt::format_to(
      out,
      "<path class=\"edge\" d=\"M{0:.0f} {1:.0f}C{0:.0f} {5:.0f} {4:.0f} {1:.0f} {4:.0f} {5:.0f}V{6:.0f}C{4:.0f} "
      "{3:.0f} {2:.0f} {6:.0f} {2:.0f} {3:.0f}\"/>\n",
      x1, y1, x2, y2, side, y1 + down, y2 - down);
}

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside a character
  return text.substr(0, end) + "…";
}

}  // namespace

std::string picture(const Layer& layer) {
  double width = 0, height = 0;
  const auto places = place(layer, width, height);
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(
      out,
      "<svg class=\"layer\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" "
      "aria-label=\"the nodes of one layer\">\n",
      width, height);
  for (std::size_t i = 0; i < places.size(); ++i)
    for (const std::size_t from : layer.nodes[i].from) out = edge(out, places[from], places[i]);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Layer::Node& node = layer.nodes[i];
    const double x = places[i].x - kWidth / 2, y = top_of(places[i]);
    const std::string op = node.op.starts_with("ai.onnx:") ? node.op.substr(8) : node.op;
    std::string title = fmt::format("{} {}\n{}\n{}", node.op, node.name, node.output, state_name(node.state));
    for (const std::string& outside : node.outside) title += "\nreads " + outside + " from outside the layer";
    fmt::format_to(
        out,
        "<g><title>{}</title><rect class=\"node {}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "rx=\"6\"/><text class=\"op\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text><text x=\"{:.0f}\" "
        "y=\"{:.0f}\">{}</text></g>\n",
        escaped(title), state_name(node.state), x, y, kWidth, kHeight, places[i].x, y + 17,
        escaped(shortened(printable(op, SIZE_MAX), 26)), places[i].x, y + 33,
        escaped(shortened(printable(node.output, SIZE_MAX), 28)));
    if (!node.outside.empty())
      fmt::format_to(out, "<circle class=\"outside\" cx=\"{:.0f}\" cy=\"{:.0f}\" r=\"4\"/>\n", x + 10, y);
  }
  return text + "</svg>\n";
}

}  // namespace calkit::inventory
