/// Family 07, second part: what an op list writes stays whole until its last reader has run.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "families.h"

namespace calkit::lint {

namespace {

constexpr std::ptrdiff_t kHost = -1;  ///< "op" that wrote the inputs

/// Bytes with one meaning: from the op that wrote them to the one that writes over all of them.
struct Content {
  std::string name;
  std::uint64_t base = 0, end = 0;
  std::ptrdiff_t writer = kHost, last_read = kHost;
  std::ptrdiff_t spoiled_by = kHost;  ///< an op that wrote over a part of it
  std::string spoiled_at;             ///< the pointer of that write
};

class Lifetimes {
 public:
  Lifetimes(Check& check, const OpListFacts& list) : check_(check), list_(list), ops_(list.oplist->ops) {}

  void run() {
    const auto& submodel = check_.d().submodels[list_.submodel];
    for (const auto& tensor : submodel.inputs)
      if (tensor.chip == list_.chip)
        hold({tensor.name, tensor.base, tensor.base + tensor.size, kHost, kHost, kHost, {}});
    for (std::size_t i = 0; i < ops_.size() && !gave_up_; ++i) {
      const auto op = static_cast<std::ptrdiff_t>(i);
      for (const auto& operand : ops_[i].reads)
        if (is_memory(operand)) read(operand.name, operand.base, operand.base + operand.size, op);
      for (std::size_t k = 0; k < ops_[i].writes.size(); ++k)
        if (is_memory(ops_[i].writes[k])) write(ops_[i].writes[k], op, fmt::format("/ops/{}/writes/{}", i, k));
    }
    // The host reads the outputs when all ops have run.
    for (const auto& tensor : submodel.outputs)
      if (tensor.chip == list_.chip && !wraps(tensor.base, tensor.size))
        read(tensor.name, tensor.base, tensor.base + tensor.size, static_cast<std::ptrdiff_t>(ops_.size()));
  }

 private:
  static bool is_memory(const calbin::Operand& operand) {
    return !operand.absent && operand.csr.empty() && operand.size != 0 && !wraps(operand.base, operand.size);
  }

  void hold(Content content) {
    if (content.end > content.base) contents_.push_back(std::move(content));
  }

  void read(const std::string& name, std::uint64_t base, std::uint64_t end, std::ptrdiff_t op) {
    count(contents_.size());
    if (const auto at = gone_.find(name); at != gone_.end() && at->second.base <= base && end <= at->second.end) {
      report(at->second, at->second.spoiled_by, at->second.spoiled_at, op);
      gone_.erase(at);
    }
    // The newest content that holds the whole range is what the op means; else it joins several.
    for (auto at = contents_.rbegin(); at != contents_.rend(); ++at)
      if (at->base <= base && end <= at->end) return use(*at, op);
    for (auto& content : contents_)
      if (content.base < end && base < content.end) use(content, op);
  }

  void use(Content& content, std::ptrdiff_t op) {
    content.last_read = op;
    if (content.spoiled_by != kHost) report(content, content.spoiled_by, content.spoiled_at, op);
  }

  void write(const calbin::Operand& operand, std::ptrdiff_t op, const std::string& pointer) {
    const std::uint64_t base = operand.base, end = operand.base + operand.size;
    count(contents_.size());
    for (auto& content : contents_) {
      if (content.base >= end || base >= content.end) continue;
      // In place on exactly the same range is how elementwise ops save memory; on another range it is a fault.
      const bool in_place = content.last_read == op && content.base == base && content.end == end;
      const bool at_once = content.writer == op || (content.last_read == op && !in_place);
      if (at_once) report(content, op, pointer, op);
      content.spoiled_by = op;
      content.spoiled_at = pointer;
      if (!at_once && base <= content.base && content.end <= end && content.name != operand.name)
        gone_.insert_or_assign(content.name, content);
    }
    std::erase_if(contents_, [&](const Content& content) { return base <= content.base && content.end <= end; });
    gone_.erase(operand.name);
    hold({operand.name, base, end, op, kHost, kHost, {}});
  }

  void report(const Content& content, std::ptrdiff_t writer, const std::string& pointer, std::ptrdiff_t reader) {
    const auto& submodel = check_.d().submodels[list_.submodel];
    const auto& op = ops_[static_cast<std::size_t>(writer)];
    const auto reader_text = reader < static_cast<std::ptrdiff_t>(ops_.size())
                                 ? fmt::format("op {}", ops_[static_cast<std::size_t>(reader)].id)
                                 : std::string("the host");
    check_.report_in(list_.path, pointer, calbin::line_of(list_.document, pointer),
                     {fmt::format("op {} {} of '{}' writes over '{}' while it is in use", op.id, op.type, submodel.name,
                                  content.name),
                      fmt::format("'{}' {}, used by {}", content.name,
                                  range_text(content.base, content.end - content.base), reader_text),
                      "bytes are written again after their last reader", "regenerate the memory plan of this op list"},
                     check_.rule().severity);
  }

  void count(std::size_t steps) {
    constexpr std::size_t kMaxSteps = 200'000'000;
    steps_ += steps;
    if (steps_ <= kMaxSteps || gave_up_) return;
    gave_up_ = true;
    check_.not_evaluated(fmt::format("the op list '{}' keeps too many buffers in use at once", list_.path));
  }

  Check& check_;
  const OpListFacts& list_;
  const std::vector<calbin::Op>& ops_;
  std::vector<Content> contents_;
  std::map<std::string, Content, std::less<>> gone_;  ///< whole taken by another value; by name, to meet late readers
  std::size_t steps_ = 0;
  bool gave_up_ = false;
};

void check_lifetimes(Check& check) {
  for (const auto& list : check.facts().oplists) {
    if (!check.usable(fmt::format("/submodels/{}", list.submodel))) continue;
    if (list.oplist)
      Lifetimes(check, list).run();
    else
      check.not_evaluated(fmt::format("the op list of '{}' is {}", check.d().submodels[list.submodel].name,
                                      list.error.empty() ? "absent" : "unreadable"));
  }
}

}  // namespace

std::vector<Rule> lifetime_rules() {
  return {
      {{"CB0704", "alias-hazard", Severity::kError, RuleClass::kInvalid,
        "no op writes over bytes that are still in use", "8f 7d", Maturity::kPreview},
       {"/submodels/*/oplist", "/submodels/*/inputs,outputs/*/name,chip,base,size"},
       &check_lifetimes},
  };
}

}  // namespace calkit::lint
