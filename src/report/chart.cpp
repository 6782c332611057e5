#include "chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calkit/report/html.h"

namespace calkit::report {
namespace {

constexpr double kLeft = 62, kRight = 14, kTop = 12, kBottom = 44;
constexpr std::size_t kColours = 6;

struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

bool finite(const std::optional<double>& v) {
  return v && std::isfinite(*v);
}

std::string tick_text(double value, double step) {
  const int digits = step >= 1 ? 0 : std::min(6, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return fmt::format("{:.{}f}", value, digits);
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {}

  std::string run() {
    collect();
    out_ = fmt::format("<figure><figcaption>{}</figcaption>", escape_html(chart_.title));
    if (!any_) return out_ + "<p class=\"soft\">No figure to draw.</p></figure>\n";
    widen();
    const auto ticks = nice_ticks(low_, high_);
    y_ = {ticks.front(), ticks.back(), chart_.height - kBottom, kTop};
    out_ += fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", chart_.width, chart_.height,
                        escape_html(chart_.title));
    draw_y_axis(ticks);
    draw_x_axis();
    for (std::size_t i = 0; i < chart_.lines.size(); ++i) draw_line(chart_.lines[i], i % kColours);
    out_ += "</svg>";
    draw_legend();
    return out_ + "</figure>\n";
  }

 private:
  void collect() {
    for (const Line& line : chart_.lines)
      for (const Point& p : line.points) {
        if (!finite(p.y)) continue;
        const double top = finite(p.high) ? std::max(*p.y, *p.high) : *p.y;
        low_ = any_ ? std::min(low_, *p.y) : *p.y;
        high_ = any_ ? std::max(high_, top) : top;
        any_ = true;
        xs_.push_back(p.x);
      }
    std::sort(xs_.begin(), xs_.end());
    xs_.erase(std::unique(xs_.begin(), xs_.end()), xs_.end());
  }

  void widen() {
    const double missing = chart_.min_span - (high_ - low_);
    if (missing > 0) low_ -= missing / 2, high_ += missing / 2;
    if (chart_.from_zero || low_ < 0) low_ = 0;  // nothing that is drawn here is negative
  }

  double x(double value) const {
    if (!chart_.x_positions) return x_.at(value);
    const auto index = static_cast<double>(std::lower_bound(xs_.begin(), xs_.end(), value) - xs_.begin());
    return kLeft + (index + 0.5) / static_cast<double>(xs_.size()) * (chart_.width - kLeft - kRight);
  }

  void text(double at_x, double at_y, std::string_view anchor, std::string_view words) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", at_x, at_y, anchor,
                        escape_html(words));
  }

  void draw_y_axis(const std::vector<double>& ticks) {
    const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
    for (const double tick : ticks) {
      out_ += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft,
                          chart_.width - kRight, y_.at(tick), y_.at(tick));
      text(kLeft - 6, y_.at(tick) + 4, "end", tick_text(tick, step));
    }
    const double middle = (chart_.height - kBottom + kTop) / 2;
    out_ += fmt::format("<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>", middle,
                        escape_html(chart_.y_label));
  }

  void draw_x_axis() {
    const double base = chart_.height - kBottom;
    out_ += fmt::format("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft,
                        chart_.width - kRight, base, base);
    if (chart_.x_positions) {
      for (const double value : xs_) text(x(value), base + 16, "middle", fmt::format("{:g}", value));
    } else {
      const double low = xs_.front(), high = xs_.back() > xs_.front() ? xs_.back() : xs_.front() + 1;
      x_ = {low, high, kLeft + 4, chart_.width - kRight - 4};
      for (const double tick : nice_ticks(low, high))
        if (tick >= low && tick <= high) text(x(tick), base + 16, "middle", fmt::format("{:g}", tick));
    }
    text((kLeft + chart_.width - kRight) / 2, chart_.height - 8, "middle", chart_.x_label);
  }

  void draw_line(const Line& line, std::size_t colour) {
    std::string path;
    bool pen_down = false;
    for (const Point& p : line.points) {
      if (!finite(p.y)) {
        pen_down = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x(p.x), y_.at(*p.y));
      pen_down = true;
    }
    out_ += fmt::format("<path class=\"line s{}\" d=\"{}\"/>", colour, path);
    if (!chart_.markers) return;
    for (const Point& p : line.points) {
      if (!finite(p.y)) continue;
      if (finite(p.high))
        out_ += fmt::format("<path class=\"whisker s{}\" d=\"M{:.1f} {:.1f}V{:.1f}M{:.1f} {:.1f}h8\"/>", colour, x(p.x),
                            y_.at(*p.y), y_.at(*p.high), x(p.x) - 4, y_.at(*p.high));
      out_ += fmt::format("<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\"/>", colour, x(p.x), y_.at(*p.y));
    }
  }

  void draw_legend() {
    if (chart_.lines.size() < 2) return;
    out_ += "<div class=\"legend\">";
    for (std::size_t i = 0; i < chart_.lines.size(); ++i)
      out_ += fmt::format("<span><i class=\"b{}\"></i>{}</span>", i % kColours, escape_html(chart_.lines[i].name));
    out_ += "</div>";
  }

  const Chart& chart_;
  std::string out_;
  bool any_ = false;
  double low_ = 0, high_ = 0;
  std::vector<double> xs_;
  Scale x_, y_;
};

}  // namespace

std::vector<double> nice_ticks(double low, double high) {
  if (!(high > low)) high = low + (low == 0 ? 1 : std::fabs(low) * 0.1);
  const double rough = (high - low) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  std::vector<double> out;
  const double first = std::floor(low / step + 1e-9) * step;
  for (int i = 0; i < 12; ++i) {
    out.push_back(first + i * step);
    if (out.back() >= high - step * 1e-9) break;
  }
  return out;
}

std::string draw(const Chart& chart) {
  return Drawing(chart).run();
}

}  // namespace calkit::report
