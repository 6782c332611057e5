#pragma once
// What each fusion of the catalogue looks for and puts in; private to the module.
#include <functional>

#include "calkit/fusion/fusion.h"
#include "pattern.h"

namespace calkit::fusion {

/// Names that no value of a graph has yet.
class Names {
 public:
  explicit Names(const onnx::Graph& graph);
  std::string fresh(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};

struct Options {
  std::optional<std::int64_t> top_k;
};

constexpr std::string_view kElsewhere = "-";

/// One pattern, what else has to hold, and the nodes that take its place.
struct Rule {
  Pattern pattern;
  /// The first precondition that does not hold; empty: all do; kElsewhere: this is no place for the fusion at all.
  std::function<std::string_view(const Match&, const View&)> check;
  std::function<std::vector<onnx::Node>(const Match&, const View&, Names&)> make;
};

/// A call of an operator of the domain; operands and results by the names that the pattern gives them, `renamed` first.
onnx::Node call(const Match& match, std::string_view kernel, const std::map<std::string, std::string>& renamed = {});
/// The usual rule: the pattern is the function, the call takes its place.
Rule rule_of(std::string_view kernel, std::function<std::string_view(const Match&, const View&)> check = {});

/// Rules of one fusion. They are tried one after the other over the whole graph: larger patterns come first.
std::vector<Rule> attention_rules();
std::vector<Rule> rope_rules();
std::vector<Rule> expert_rules();
std::vector<Rule> projection_rules();
std::vector<Rule> gate_rules();
std::vector<Rule> head_rules(std::int64_t top_k);

/// Largest inner extent whose sums of products of 8-bit integers fit 32 bits.
constexpr std::int64_t kLongestSum = 2147483647 / (127 * 127);

}  // namespace calkit::fusion
