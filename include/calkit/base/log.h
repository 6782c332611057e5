#pragma once
/// Logging to stderr. The library logs at debug level; only the binary sets the level. Results never go through here.
#include <string_view>

namespace calkit::log {

enum class Level { kDebug, kInfo, kWarning, kError, kOff };
void set_level(Level level);
bool shown(Level level);
void debug(std::string_view message);
void info(std::string_view message);
void warning(std::string_view message);

}  // namespace calkit::log
