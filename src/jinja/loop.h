#pragma once
#include <deque>

#include "call.h"

namespace calkit::jinja {

/// The `loop` of a running for statement.
struct Loop : Object {
  std::shared_ptr<Iterator> source;
  std::optional<std::size_t> length;  ///< known from the start, or once somebody asked
  std::deque<Var> ahead;              ///< taken from the source before their turn
  Var before, current;                ///< missing: none
  std::vector<Var> last_changed;
  bool changed_called = false, active = true;
  std::int64_t index0 = -1;
  std::int64_t depth0 = 0;
  const Stmt* statement = nullptr;
  Frame* outer = nullptr;

  Result<std::optional<Var>> next();
  /// Lets go of all values: who kept `loop` beyond its statement holds no chain of them.
  void end();
  Result<Var> attribute(Run& run, const std::string& name, const Var& self);

 private:
  Status peek();
  Status measure(Run& run);
};

}  // namespace calkit::jinja
