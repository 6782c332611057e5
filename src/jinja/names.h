#pragma once
/// Which names the frames of a template have: what binding them to slots starts from (private to jinja).
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ast.h"

namespace calkit::jinja {

using Names = std::set<std::string, std::less<>>;

/// What one frame knows of names while its text is walked in order. A branch of an `if` lies over the symbols in front
/// of it: what it adds becomes visible behind the `if`.
struct Symbols {
  Symbols* base = nullptr;                              // this is a branch over it
  Symbols* outer = nullptr;                             // the frame around this one
  std::map<std::string, Load::How, std::less<>> loads;  // the names that have a slot here
  Names stores;

  bool knows(const std::string& name) const {
    for (const Symbols* s = this; s != nullptr; s = s->base)
      if (s->loads.contains(name)) return true;
    return false;
  }
  bool stores_name(const std::string& name) const {
    for (const Symbols* s = this; s != nullptr; s = s->base)
      if (s->stores.contains(name)) return true;
    return false;
  }
  const Symbols* frame_around() const {
    const Symbols* s = this;
    while (s->base != nullptr) s = s->base;
    return s->outer;
  }
  bool known_outside(const std::string& name) const {
    for (const Symbols* s = frame_around(); s != nullptr; s = s->frame_around())
      if (s->knows(name)) return true;
    return false;
  }

  void load(const std::string& name) {
    if (!knows(name) && !known_outside(name)) loads[name] = Load::kContext;
  }
  void store(const std::string& name) {
    const bool seen = knows(name);
    stores.insert(name);
    if (!seen) loads[name] = known_outside(name) ? Load::kOuter : Load::kNothing;
  }
  void parameter(const std::string& name) {
    stores.insert(name);
    loads[name] = Load::kParameter;
  }
  // What only some branches set begins as it is outside.
  void join(std::vector<Symbols>& branches) {
    Names fresh;
    for (const Symbols& branch : branches)
      for (const std::string& name : branch.stores)
        if (!stores_name(name)) fresh.insert(name);
    for (Symbols& branch : branches) {
      for (const auto& [name, how] : branch.loads) loads[name] = how;
      stores.insert(branch.stores.begin(), branch.stores.end());
    }
    for (const std::string& name : fresh) loads[name] = known_outside(name) ? Load::kOuter : Load::kContext;
  }
};

/// The first walk over a frame: which names it has. Frames further in are not entered.
class Collector {
 public:
  explicit Collector(Symbols& symbols) : symbols_(&symbols) {}

  void expr(const Expr* e);
  void call(const Call& c);
  void target(const Expr& e, bool parameter);
  void body(const Body& body);

 private:
  void stmt(const Stmt& s);

  void branches(const Stmt& s);

  Symbols* symbols_;
};

/// Which of the special names a body reads without setting them first, inner frames included.
class Special {
 public:
  explicit Special(Names wanted) : wanted_(std::move(wanted)) {}
  void body(const Body& body);
  bool has(std::string_view name) const { return found_.contains(name); }

 private:
  void expr(const Expr* e);
  void target(const Expr* e);
  void parameters(const Routine& routine);
  void stmt(const Stmt& s);

  Names wanted_, found_;
};

}  // namespace calkit::jinja
