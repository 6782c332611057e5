#include <algorithm>
#include <array>

#include "parse_expr.h"
#include "parser.h"

namespace calkit::jinja {
namespace {

constexpr std::array<std::string_view, 10> kNotSupported = {"block", "extends", "include", "import",     "from",
                                                            "do",    "trans",   "debug",   "autoescape", "print"};

class StatementParser {
 public:
  StatementParser(const std::vector<Token>& tokens, const std::string& file) : in_(tokens, file), expr_(in_) {}

  Result<Body> whole() {
    CALKIT_TRY(auto body, statements({}));
    if (!in_.is(Tok::kEnd)) return in_.fail(fmt::format("unexpected {}", in_.shown()));
    return body;
  }

 private:
  using Ends = std::vector<std::string_view>;

  // Until one of the words; the stream then stands at it, inside its tag.
  Result<Body> statements(const Ends& ends) {
    TokenStream::Deeper deeper(in_.depth);
    CALKIT_CHECK_OK(in_.check_depth());
    Body out;
    while (!in_.is(Tok::kEnd)) {
      if (in_.is(Tok::kData)) {
        auto data = statement(Stmt::kData);
        data->text = in_.take().text;
        out.push_back(std::move(data));
      } else if (in_.is(Tok::kVariableBegin)) {
        auto output = statement(Stmt::kOutput);
        in_.take();
        CALKIT_TRY(output->value, expr_.tuple(true, {}));
        output->line = output->value->line;
        CALKIT_CHECK_OK(in_.expect(Tok::kVariableEnd, "}}"));
        out.push_back(std::move(output));
      } else {
        CALKIT_CHECK_OK(in_.expect(Tok::kBlockBegin, "a tag"));
        if (!in_.is(Tok::kName)) return in_.fail(fmt::format("expected the name of a tag, got {}", in_.shown()));
        if (std::find(ends.begin(), ends.end(), in_.now().text) != ends.end()) return out;
        CALKIT_TRY(auto one, tag());
        out.push_back(std::move(one));
        CALKIT_CHECK_OK(in_.expect(Tok::kBlockEnd, "%}"));
      }
    }
    if (!ends.empty()) return in_.fail(fmt::format("the template ends where '{}' was expected", ends.back()));
    return out;
  }

  // The rest of a tag, then statements until one of the words.
  Result<Body> block(const Ends& ends) {
    in_.skip_op(":");
    CALKIT_CHECK_OK(in_.expect(Tok::kBlockEnd, "%}"));
    return statements(ends);
  }
  Result<Body> last_block(const Ends& ends) {
    CALKIT_TRY(auto out, block(ends));
    in_.take();
    return out;
  }

  std::unique_ptr<Stmt> statement(Stmt::What what) {
    auto out = std::make_unique<Stmt>();
    out->what = what;
    out->line = in_.now().line;
    return out;
  }

  Result<std::unique_ptr<Stmt>> tag() {
    const std::string& word = in_.now().text;
    if (word == "for") return for_tag();
    if (word == "if") return if_tag();
    if (word == "set") return set_tag();
    if (word == "macro") return macro_tag();
    if (word == "call") return call_tag();
    if (word == "filter") return filter_tag();
    if (word == "with") return with_tag();
    if (word == "break" || word == "continue") return jump_tag();
    if (word == "generation") return generation_tag();
    if (std::find(kNotSupported.begin(), kNotSupported.end(), word) != kNotSupported.end())
      return in_.fail(fmt::format("the tag '{}'; not supported in chat templates", word));
    return in_.fail(fmt::format("unknown tag '{}'", word));
  }

  Result<std::unique_ptr<Stmt>> for_tag() {
    auto out = statement(Stmt::kFor);
    in_.take();
    CALKIT_TRY(out->target, expr_.target("in", false));
    if (!in_.skip_word("in")) return in_.fail(fmt::format("expected 'in', got {}", in_.shown()));
    CALKIT_TRY(out->value, expr_.tuple(false, "recursive"));
    if (in_.skip_word("if")) {
      CALKIT_TRY(out->test, expr_.expression());
    }
    out->recursive = in_.skip_word("recursive");
    ++loops_;
    CALKIT_TRY(auto body, block({"endfor", "else"}));
    --loops_;
    out->bodies.push_back(std::move(body));
    if (in_.take().text == "else") {
      CALKIT_TRY(out->otherwise, last_block({"endfor"}));
    }
    return out;
  }

  Result<std::unique_ptr<Stmt>> if_tag() {
    auto out = statement(Stmt::kIf);
    do {
      in_.take();
      CALKIT_TRY(auto test, expr_.tuple(false, {}));
      out->tests.push_back(std::move(test));
      CALKIT_TRY(auto body, block({"elif", "else", "endif"}));
      out->bodies.push_back(std::move(body));
    } while (in_.is_word("elif"));
    if (in_.take().text == "else") {
      CALKIT_TRY(out->otherwise, last_block({"endif"}));
    }
    return out;
  }

  Result<std::unique_ptr<Stmt>> set_tag() {
    auto out = statement(Stmt::kSet);
    in_.take();
    CALKIT_TRY(out->target, expr_.target({}, true));
    if (in_.skip_op("=")) {
      CALKIT_TRY(out->value, expr_.tuple(true, {}));
      return out;
    }
    out->what = Stmt::kSetBlock;
    CALKIT_TRY(out->value, expr_.filter(nullptr, false));
    CALKIT_TRY(auto body, last_block({"endset"}));
    out->bodies.push_back(std::move(body));
    return out;
  }

  Result<std::vector<Parameter>> signature() {
    CALKIT_CHECK_OK(in_.expect_op("("));
    std::vector<Parameter> out;
    while (!in_.is_op(")")) {
      if (!out.empty()) CALKIT_CHECK_OK(in_.expect_op(","));
      Parameter one;
      CALKIT_TRY(one.name, in_.expect_name());
      if (in_.skip_op("=")) {
        CALKIT_TRY(one.fallback, expr_.expression());
      } else if (!out.empty() && out.back().fallback) {
        return in_.fail("a parameter without a default behind one with a default");
      }
      const auto twice = [&](const Parameter& other) { return other.name == one.name; };
      if (std::any_of(out.begin(), out.end(), twice)) return in_.fail(fmt::format("two parameters '{}'", one.name));
      out.push_back(std::move(one));
    }
    in_.take();
    return out;
  }

  // A body that is a function of its own: no jump leaves it.
  Status routine_body(Stmt& out, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    CALKIT_TRY(auto body, last_block({end}));
    loops_ = loops;
    out.bodies.push_back(std::move(body));
    return {};
  }

  Result<std::unique_ptr<Stmt>> macro_tag() {
    auto out = statement(Stmt::kMacro);
    in_.take();
    CALKIT_TRY(out->routine.name, in_.expect_name());
    CALKIT_TRY(out->routine.parameters, signature());
    CALKIT_CHECK_OK(routine_body(*out, "endmacro"));
    return out;
  }

  Result<std::unique_ptr<Stmt>> call_tag() {
    auto out = statement(Stmt::kCallBlock);
    in_.take();
    if (in_.is_op("(")) {
      CALKIT_TRY(out->routine.parameters, signature());
    }
    CALKIT_TRY(out->value, expr_.expression());
    if (out->value->op != Op::kCall) return in_.fail_at(out->line, "expected a call behind 'call'");
    CALKIT_CHECK_OK(routine_body(*out, "endcall"));
    return out;
  }

  Result<std::unique_ptr<Stmt>> filter_tag() {
    auto out = statement(Stmt::kFilterBlock);
    in_.take();
    CALKIT_TRY(out->value, expr_.filter(nullptr, true));
    CALKIT_TRY(auto body, last_block({"endfilter"}));
    out->bodies.push_back(std::move(body));
    return out;
  }

  Result<std::unique_ptr<Stmt>> with_tag() {
    auto out = statement(Stmt::kWith);
    in_.take();
    while (!in_.is(Tok::kBlockEnd)) {
      if (!out->targets.empty()) CALKIT_CHECK_OK(in_.expect_op(","));
      CALKIT_TRY(auto target, expr_.target({}, false));
      CALKIT_CHECK_OK(in_.expect_op("="));
      CALKIT_TRY(auto value, expr_.expression());
      out->targets.push_back(std::move(target));
      out->tests.push_back(std::move(value));
    }
    CALKIT_TRY(auto body, last_block({"endwith"}));
    out->bodies.push_back(std::move(body));
    return out;
  }

  Result<std::unique_ptr<Stmt>> jump_tag() {
    auto out = statement(in_.is_word("break") ? Stmt::kBreak : Stmt::kContinue);
    if (loops_ == 0) return in_.fail(fmt::format("'{}' outside of a loop", in_.now().text));
    in_.take();
    return out;
  }

  Result<std::unique_ptr<Stmt>> generation_tag() {
    auto out = statement(Stmt::kGeneration);
    in_.take();
    CALKIT_CHECK_OK(routine_body(*out, "endgeneration"));
    return out;
  }

  TokenStream in_;
  ExprParser expr_;
  int loops_ = 0;
};

}  // namespace

Result<Tree> parse(const std::vector<Token>& tokens, const std::string& file) {
  Tree out;
  CALKIT_TRY(out.body, StatementParser(tokens, file).whole());
  CALKIT_CHECK_OK(bind_names(out, file));
  return out;
}

}  // namespace calkit::jinja
