#pragma once
/// One rendering: what it has used up, where it is, and the frames (private to jinja).
#include <memory>
#include <string>

#include "calkit/jinja/template.h"
#include "call.h"
#include "loop.h"

namespace calkit::jinja {

struct Frame {
  Frame* outer = nullptr;
  const Scope* scope = nullptr;
  std::vector<Var> slots;
};

inline constexpr std::uint32_t kMaxValueDepth = 150;

class Run {
 public:
  Run(const RenderOptions& options, std::shared_ptr<Dict> variables)
      : options_(options), variables_(std::move(variables)) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Status step(std::uint64_t count = 1);
  /// Looking at so much text.
  Status scan(std::uint64_t bytes) { return step(1 + bytes / 64); }
  /// Before a value of that size is made.
  Status charge(std::uint64_t bytes);
  Result<Var> text(std::string text, bool markup = false);
  Result<Var> list(std::vector<Var> items);
  Result<Var> tuple(std::vector<Var> items);
  Status check_depth(const Var& value) const;
  Var name_space(std::shared_ptr<Namespace> made);

  /// Nesting of the interpreter itself.
  struct Deeper {
    Run& run;
    explicit Deeper(Run& r) : run(r) { ++run.depth_; }
    ~Deeper() { --run.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
  };
  Status check_nesting() const;

  Status render(const Body& body, const Scope& root);
  Result<Var> eval(const Expr& e, Frame& frame);
  Result<Var> call(const Var& callee, Args args);
  Result<Var> call_macro(const Macro& macro, Args args);
  /// The body of a recursive loop over other items, as text.
  Result<Var> call_loop(const Loop& loop, const Var& items);
  Status assign(const Expr& target, Var value, Frame& frame);

  const RenderOptions& options() const { return options_; }
  const Dict& variables() const { return *variables_; }
  bool clock_read = false;
  int line = 1;  ///< of what is evaluated now
  std::string output;

 private:
  enum class Flow : std::uint8_t { kOn, kBreak, kContinue };
  struct Filtered;

  Result<Var> eval_node(const Expr& e, Frame& frame);
  Result<Var> eval_name(const Expr& e, const Frame& frame);
  Result<Var> eval_sequence(const Expr& e, Frame& frame);
  Result<Var> eval_dict(const Expr& e, Frame& frame);
  Result<Var> eval_condition(const Expr& e, Frame& frame);
  Result<Var> eval_logic(const Expr& e, Frame& frame);
  Result<Var> eval_compare(const Expr& e, Frame& frame);
  Result<Var> eval_binary(const Expr& e, Frame& frame);
  Result<Var> eval_concat(const Expr& e, Frame& frame);
  Result<Var> eval_sign(const Expr& e, Frame& frame);
  Result<Var> eval_item(const Expr& e, Frame& frame);
  Result<Var> eval_slice(const Expr& e, const Var& value, Frame& frame);
  Result<Var> eval_filter(const Expr& e, const Var* input, Frame& frame);
  Result<Var> eval_test(const Expr& e, Frame& frame);
  Result<Var> eval_call(const Expr& e, Frame& frame, const Var* caller);
  Result<Args> eval_args(const Call& call, Frame& frame);

  Result<Flow> exec(const Body& body, Frame& frame);
  Result<Flow> exec_one(const Stmt& s, Frame& frame);
  Status exec_output(const Stmt& s, Frame& frame);
  Result<Flow> exec_if(const Stmt& s, Frame& frame);
  Result<Flow> exec_for(const Stmt& s, Frame& frame);
  Status exec_set_block(const Stmt& s, Frame& frame, Flow& flow);
  Result<Flow> exec_filter_block(const Stmt& s, Frame& frame);
  Result<Flow> exec_with(const Stmt& s, Frame& frame);
  Status exec_call_block(const Stmt& s, Frame& frame);
  Result<Flow> loop_over(const Stmt& s, Frame& outer, const Var& items, std::int64_t depth0);
  Status write(std::string_view text);

  /// A frame that lives as long as its statement, or as the run if a macro below refers to it.
  class Opened;
  Status fill(Frame& frame);
  Var make_macro(const Stmt& s, Frame& frame);

  RenderOptions options_;
  std::shared_ptr<Dict> variables_;
  std::uint64_t steps_ = 0, bytes_ = 0, written_ = 0;
  std::uint32_t depth_ = 0;
  std::vector<std::unique_ptr<Frame>> kept_frames_;
  std::vector<std::shared_ptr<Namespace>> name_spaces_;
};

}  // namespace calkit::jinja
