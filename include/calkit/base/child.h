#pragma once
/// Running another program and waiting for it.
#include <chrono>
#include <string>

#include "calkit/base/result.h"

namespace calkit {

struct ChildExit {
  int code = 0;            ///< 128 + N if signal N ended it, as shells tell it
  bool timed_out = false;  ///< it ran past its limit and was killed; `code` means nothing
};

/// Runs `/bin/sh -c COMMAND` in a process group of its own, without input. Its output goes to our stderr, or nowhere.
/// Whatever it started is killed when it ends, when `limit` has passed, and when we are interrupted (kInterrupted).
/// kIo: the system starts no process.
Result<ChildExit> run_shell(const std::string& command, std::chrono::milliseconds limit, bool show_output);

/// The text as one word of a shell.
std::string shell_word(const std::string& text);

}  // namespace calkit
