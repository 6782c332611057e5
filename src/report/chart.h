#pragma once
// Static SVG line charts.
#include <optional>
#include <string>
#include <vector>

namespace calkit::report {

struct Point {
  double x = 0;
  std::optional<double> y;     ///< nullopt: a gap
  std::optional<double> high;  ///< upper end of a whisker
};
struct Line {
  std::string name;
  std::vector<Point> points;
};
struct Chart {
  std::string title, x_label, y_label;
  std::vector<Line> lines;
  bool x_positions = false;  ///< the x values are few and named: one tick each, evenly spaced
  bool from_zero = true;     ///< the y axis starts at 0
  bool markers = true;
  double width = 480, height = 250;  ///< of the drawing; text keeps its size, so a chart shown small is drawn small
  double min_span = 0;               ///< of the y axis, so that noise is not drawn as growth
};

/// A <figure> with the chart and its legend; one with a sentence instead if there is nothing finite to draw.
std::string draw(const Chart& chart);

/// Tick values that cover [low, high] in steps of 1, 2 or 5 times a power of ten; 3 to 8 of them.
std::vector<double> nice_ticks(double low, double high);

}  // namespace calkit::report
