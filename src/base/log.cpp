#include "calkit/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace calkit::log {
namespace {

// stderr only: the library's default logger writes to stdout, where results go.
spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("calkit", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("calkit: %l: %v");
    made.set_level(spdlog::level::warn);
    return made;
  }();
  return instance;
}

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kOff:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

void set_level(Level level) {
  logger().set_level(spdlog_level(level));
}
bool shown(Level level) {
  return logger().should_log(spdlog_level(level));
}
void debug(std::string_view message) {
  logger().debug(message);
}
void info(std::string_view message) {
  logger().info(message);
}
void warning(std::string_view message) {
  logger().warn(message);
}

}  // namespace calkit::log
