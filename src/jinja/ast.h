#pragma once
/// The parsed template (private to jinja).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "value.h"

namespace calkit::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Call {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, star_star;
};

enum class Op : std::uint8_t {
  kConst,
  kName,
  kTuple,
  kList,
  kDict,
  kCondition,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBinary,
  kConcat,
  kNegative,
  kPositive,
  kAttribute,
  kItem,
  kSlice,
  kFilter,
  kTest,
  kCall,
  kNamespaceTarget,
};

struct Expr {
  Op op = Op::kConst;
  int line = 0;
  std::uint32_t depth = 1;
  std::string name;  ///< of a name, attribute, filter, test; the operator of kBinary
  Var constant;
  std::vector<ExprPtr> items;          ///< operands; an item that is left out of a slice or an inline if is null
  std::vector<std::string> operators;  ///< of kCompare
  Call call;
  std::uint32_t hops = 0, slot = 0;  ///< where a name lives: so many frames outwards
};

/// How a slot of a frame begins.
struct Load {
  enum How : std::uint8_t { kParameter, kContext, kOuter, kNothing } how = kNothing;
  std::uint32_t hops = 0, slot = 0;  ///< kOuter: copied from there
};
struct Scope {
  std::vector<std::string> names;
  std::vector<Load> loads;
  bool captured = false;  ///< a macro below refers to its frame, which must outlive the statement
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

struct Parameter {
  std::string name;
  ExprPtr fallback;  ///< null: none
  std::uint32_t slot = 0;
};
/// What a macro, a call block or a generation block runs.
struct Routine {
  std::string name;
  std::vector<Parameter> parameters;
  bool takes_caller = false, takes_kwargs = false, takes_varargs = false;
  std::uint32_t caller_slot = 0, kwargs_slot = 0, varargs_slot = 0;
  Scope scope;
};

struct Stmt {
  enum What : std::uint8_t {
    kData,
    kOutput,
    kFor,
    kIf,
    kSet,
    kSetBlock,
    kMacro,
    kCallBlock,
    kFilterBlock,
    kWith,
    kBreak,
    kContinue,
    kGeneration
  } what = kData;
  int line = 0;
  std::string text;
  ExprPtr target, value;         ///< set: both; for: target and iterable; output, call block, filter block: value
  ExprPtr test;                  ///< of a filtered loop
  std::vector<ExprPtr> tests;    ///< if: of each branch; with: the values
  std::vector<ExprPtr> targets;  ///< with
  std::vector<Body> bodies;      ///< if: one a test and then the else branch, if there is one; others: the body
  Body otherwise;                ///< else of if and for
  bool recursive = false, has_loop = false;
  std::uint32_t loop_slot = 0;
  Scope scope, test_scope, else_scope;
  Routine routine;
};

}  // namespace calkit::jinja
