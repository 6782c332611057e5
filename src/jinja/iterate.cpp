#include <fmt/format.h>

#include <functional>

#include "calkit/base/unicode.h"
#include "ops.h"

namespace calkit::jinja {
namespace {

class Sized : public Iterator {
 public:
  Sized(Run& run, Var value, std::size_t size) : run_(run), value_(std::move(value)), size_(size) {}
  Result<std::optional<Var>> next() override {
    if (at_ >= size_) return std::optional<Var>();
    CALKIT_CHECK_OK(run_.step());
    const std::size_t i = at_++;
    switch (value_.kind()) {
      case Kind::kDict:
        return std::optional(value_.dict().items[i].first);
      case Kind::kView:
        return std::optional(value_.view().at(i));
      case Kind::kRange:
        return std::optional(Var::integer(value_.range().at(i)));
      case Kind::kString:
        return character();
      default:
        return std::optional(value_.items()[i]);
    }
  }

 private:
  Result<std::optional<Var>> character() {
    const CodePoint c = code_point_at(value_.text(), byte_);
    CALKIT_TRY(auto out, run_.text(value_.text().substr(byte_, c.bytes)));
    byte_ += c.bytes;
    return std::optional(std::move(out));
  }

  Run& run_;
  Var value_;
  std::size_t size_, at_ = 0, byte_ = 0;
};

struct Generator : Iterator {
  std::function<Result<std::optional<Var>>()> function;
  Result<std::optional<Var>> next() override { return function(); }
};

}  // namespace

Result<Var> generator(Run& run, const Var& over, std::function<Result<std::optional<Var>>()> next) {
  auto out = std::make_shared<Generator>();
  out->function = std::move(next);
  out->depth = over.depth() + 1;
  Var made = Var::of(Kind::kIterator, std::move(out));
  CALKIT_CHECK_OK(run.charge(160));
  CALKIT_CHECK_OK(run.check_depth(made));
  return made;
}

Result<std::shared_ptr<Iterator>> iterate(Run& run, const Var& value) {
  if (value.is(Kind::kIterator)) return std::static_pointer_cast<Iterator>(value.object());
  const auto size = size_of(value);
  if (size) return std::shared_ptr<Iterator>(std::make_shared<Sized>(run, value, *size));
  if (value.is(Kind::kLoop)) return fault("a walk over 'loop' itself; not supported");
  return fault(fmt::format("'{}' object is not iterable", type_name(value)));
}

Result<std::vector<Var>> collect(Run& run, const Var& value) {
  CALKIT_TRY(const auto walk, iterate(run, value));
  std::vector<Var> out;
  while (true) {
    CALKIT_TRY(auto one, walk->next());
    if (!one) return out;
    CALKIT_CHECK_OK(run.step());
    CALKIT_CHECK_OK(run.charge(sizeof(Var)));
    out.push_back(std::move(*one));
  }
}

Result<std::optional<Var>> Loop::next() {
  std::optional<Var> item;
  if (!ahead.empty()) {
    item = std::move(ahead.front());
    ahead.pop_front();
  } else {
    CALKIT_TRY(item, source->next());
  }
  if (!item) return item;
  ++index0;
  before = std::move(current);
  current = *item;
  return item;
}

void Loop::end() {
  active = false;
  source.reset();
  ahead.clear();
  last_changed.clear();
  before = current = Var();
}

Status Loop::peek() {
  if (!active) return fault("the 'loop' of a for that has ended; not supported");
  if (!ahead.empty()) return {};
  CALKIT_TRY(auto item, source->next());
  if (item) ahead.push_back(std::move(*item));
  return {};
}

Status Loop::measure(Run& run) {
  if (length) return {};
  if (!active) return fault("the 'loop' of a for that has ended; not supported");
  while (true) {
    CALKIT_TRY(auto item, source->next());
    if (!item) break;
    CALKIT_CHECK_OK(run.charge(sizeof(Var)));
    ahead.push_back(std::move(*item));
  }
  length = static_cast<std::size_t>(index0 + 1) + ahead.size();
  return {};
}

namespace {

Result<Var> cycle(Run&, const Var& self, Args& args) {
  if (!args.named.empty()) return fault(fmt::format("loop.cycle has no argument '{}'", args.named[0].first));
  if (args.positional.empty()) return fault("loop.cycle without values");
  return args.positional[static_cast<std::size_t>(self.loop().index0) % args.positional.size()];
}

Result<Var> changed(Run& run, const Var& self, Args& args) {
  Loop& loop = self.loop();
  if (!loop.active) return fault("the 'loop' of a for that has ended; not supported");
  CALKIT_TRY(const bool same, equal(run, Var::tuple(loop.last_changed), Var::tuple(args.positional)));
  if (loop.changed_called && same) return Var::boolean(false);
  loop.changed_called = true;
  loop.last_changed = args.positional;
  return Var::boolean(true);
}

}  // namespace

Result<Var> Loop::attribute(Run& run, const std::string& name, const Var& self) {
  if (name == "index") return Var::integer(index0 + 1);
  if (name == "index0") return Var::integer(index0);
  if (name == "first") return Var::boolean(index0 == 0);
  if (name == "depth") return Var::integer(depth0 + 1);
  if (name == "depth0") return Var::integer(depth0);
  if (name == "previtem") return before.is(Kind::kMissing) ? Var::undefined("there is no previous item") : before;
  if (name == "last" || name == "nextitem") {
    CALKIT_CHECK_OK(peek());
    if (name == "last") return Var::boolean(ahead.empty());
    return ahead.empty() ? Var::undefined("there is no next item") : ahead.front();
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    CALKIT_CHECK_OK(measure(run));
    const auto all = static_cast<std::int64_t>(*length);
    return Var::integer(name == "length" ? all : name == "revindex" ? all - index0 : all - index0 - 1);
  }
  if (name == "cycle") return make_function(name, cycle, self);
  if (name == "changed") return make_function(name, changed, self);
  return Var();
}

}  // namespace calkit::jinja
