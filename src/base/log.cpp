#include "calkit/base/log.h"

#include <atomic>
#include <cstdio>
#include <string>

namespace calkit::log {
namespace {

std::atomic<Level> threshold{Level::kWarning};

/// One fwrite a line, so that lines of several threads never mix.
void line(Level level, std::string_view name, std::string_view message) {
  if (level < threshold.load(std::memory_order_relaxed)) return;
  std::string text = "calkit: ";
  text.append(name).append(": ").append(message).append("\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void set_level(Level level) {
  threshold.store(level, std::memory_order_relaxed);
}
void debug(std::string_view message) {
  line(Level::kDebug, "debug", message);
}
void info(std::string_view message) {
  line(Level::kInfo, "info", message);
}
void warning(std::string_view message) {
  line(Level::kWarning, "warning", message);
}

}  // namespace calkit::log
