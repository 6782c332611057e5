#include "calkit/model/contract_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "calkit/base/text.h"
#include "calkit/onnx/io.h"

namespace calkit::model {
namespace {

using onnx::Dim;

const std::int64_t* number(const Dim& dim) {
  return std::get_if<std::int64_t>(&dim.value);
}
bool is_unknown(const Dim& dim) {
  return std::holds_alternative<std::monostate>(dim.value);
}
std::string shape_text(const onnx::ValueInfo& value) {
  if (!value.shape) return "of unknown rank";
  std::string out = "[";
  for (const Dim& dim : *value.shape) out += (out.size() > 1 ? ", " : "") + printable(dim.text());
  return out + "]";
}
std::string port_text(const Port& port) {
  return fmt::format("{}: {} {}", printable(port.value.name), onnx::element_type_name(port.value.type),
                     shape_text(port.value));
}

class Checker {
 public:
  Checker(ContractCheck& out, const ContractWish& wish) : out_(out), wish_(wish) {}

  void run() {
    phase();
    tokens();
    positions();
    validity();
    caches();
    logits();
    strangers();
  }

 private:
  void error(std::string item, std::string found, std::string allowed, std::string fix) {
    out_.findings.push_back({true, std::move(item), std::move(found), std::move(allowed), std::move(fix)});
  }
  void note(std::string item, std::string found, std::string allowed) {
    out_.findings.push_back({false, std::move(item), std::move(found), std::move(allowed), {}});
  }

  static std::vector<const Port*> ports(const std::vector<Port>& among, PortRole role) {
    std::vector<const Port*> out;
    for (const Port& port : among)
      if (port.role == role) out.push_back(&port);
    return out;
  }
  /// The one port of a role; more than one is a finding.
  const Port* one(const std::vector<Port>& among, PortRole role) {
    const auto all = ports(among, role);
    if (all.size() > 1)
      error(std::string(role_name(role)),
            fmt::format("{} and {}", printable(all[0]->value.name), printable(all[1]->value.name)), "one",
            "name the ports by what they are, or leave one out");
    return all.empty() ? nullptr : all[0];
  }

  void phase() {
    const bool past = !ports(out_.inputs, PortRole::kPastKey).empty();
    const auto tokens = ports(out_.inputs, PortRole::kTokens);
    const bool one_token = !tokens.empty() && tokens[0]->value.shape && tokens[0]->value.shape->size() == 2 &&
                           number((*tokens[0]->value.shape)[1]) && *number((*tokens[0]->value.shape)[1]) == 1;
    out_.phase = past ? (one_token ? GraphPhase::kDecode : GraphPhase::kBoth) : GraphPhase::kPrefill;
    if (!wish_.phase || *wish_.phase == out_.phase || out_.phase == GraphPhase::kBoth) return;
    error("phase", std::string(phase_name(out_.phase)), std::string(phase_name(*wish_.phase)),
          *wish_.phase == GraphPhase::kDecode ? "a decode graph takes one new token and past keys and values"
                                              : "a prefill graph takes tokens and no past");
    out_.phase = *wish_.phase;
  }

  /// One axis that must vary from call to call, unless it is fixed on purpose.
  void axis(const std::string& letter, const std::string& port, std::size_t at, const Dim& dim, bool must_vary) {
    const std::string place = fmt::format("{}[{}]", printable(port), at);
    if (is_unknown(dim)) {
      error(letter, fmt::format("{} has no name and no number", place), "a symbol, or a number",
            "give the axis a name when exporting (dynamic_axes or dynamic_shapes)");
      return;
    }
    const std::int64_t* fixed = number(dim);
    if (fixed == nullptr) return;
    if (*fixed < 1)
      error(letter, fmt::format("{} is the number {}", place, *fixed), "a symbol, or 1 and more",
            "0 is no way to write a varying axis; export it with a name");
    else if (must_vary && !wish_.fixed.contains(letter))
      error(letter, fmt::format("{} is the number {}", place, *fixed), "a symbol, for it differs from call to call",
            fmt::format("export the axis as dynamic, or say --fixed {} if every call has {}", letter, *fixed));
    else if (letter == "B" && !wish_.fixed.contains(letter))
      note(letter, fmt::format("{} is the number {}", place, *fixed), "a symbol serves every batch");
  }

  void tokens() {
    const Port* ids = one(out_.inputs, PortRole::kTokens);
    const Port* embeddings = one(out_.inputs, PortRole::kEmbeddings);
    const Port* port = ids ? ids : embeddings;
    if (port == nullptr) {
      error("tokens", "no input of token ids or embeddings", "integers [B, S], or floats [B, S, H]",
            "name it input_ids (or inputs_embeds) and give it its type and shape");
      return;
    }
    const std::size_t rank = ids ? 2 : 3;
    if (!port->value.shape || port->value.shape->size() != rank) {
      error("tokens", port_text(*port), ids ? "[B, S]" : "[B, S, H]", "state the shape when exporting");
      return;
    }
    batch_ = (*port->value.shape)[0];
    tokens_ = (*port->value.shape)[1];
    out_.batch = batch_->text();
    out_.tokens = tokens_->text();
    axis("B", port->value.name, 0, *batch_, false);
    if (out_.phase != GraphPhase::kDecode)
      axis("S", port->value.name, 1, *tokens_, true);
    else if (!number(*tokens_) || *number(*tokens_) != 1)
      note("S", fmt::format("{}[1] is {}", printable(port->value.name), printable(tokens_->text())),
           "1, one new token a step");
  }

  void positions() {
    const Port* port = one(out_.inputs, PortRole::kPositions);
    if (port == nullptr) {
      error("positions", "no input of positions", "integers [B, S]",
            "export with position_ids: what the graph makes of a mask cannot be checked from outside");
      return;
    }
    if (tokens_ && port->value.shape && port->value.shape->size() == 2 &&
        (*port->value.shape)[1].text() != tokens_->text())
      error("positions", port_text(*port), fmt::format("[{}, {}], as the tokens", out_.batch, out_.tokens),
            "positions and tokens share their axes");
  }

  void validity() {
    const bool known = one(out_.inputs, PortRole::kMask) || !ports(out_.inputs, PortRole::kLength).empty();
    if (known) return;
    if (out_.phase == GraphPhase::kPrefill)
      error("valid tokens", "neither a mask nor a length", "a mask [B, S], or the length or last index of each row",
            "without it, the last valid token of a padded row is unknown");
    else
      note("valid tokens", "neither a mask nor a length", "then all rows of a step have equally many past tokens");
  }

  void caches() {
    std::map<std::int64_t, std::vector<const Port*>> past, present;
    sort_by_layer(out_.inputs, PortRole::kPastKey, PortRole::kPastValue, past);
    sort_by_layer(out_.outputs, PortRole::kPresentKey, PortRole::kPresentValue, present);
    if (present.empty())
      error("present keys and values", "none", "two outputs a layer, [B, heads, tokens, D]",
            "export with use_cache, so that the next step can start from them");
    if (out_.phase != GraphPhase::kPrefill) same_layers(past, present);
    for (const auto* side : {&past, &present})
      for (const auto& [layer, pair] : *side)
        for (const Port* port : pair) cache_shape(*port, side == &past);
    whole_layers(past.empty() ? present : past);
  }

  /// Every layer of a side has one key and one value.
  void sort_by_layer(const std::vector<Port>& ports, PortRole key, PortRole value,
                     std::map<std::int64_t, std::vector<const Port*>>& out) {
    std::map<std::pair<std::int64_t, PortRole>, const Port*> seen;
    for (const Port& port : ports) {
      if (port.role != key && port.role != value) continue;
      const std::int64_t layer = port.layer.value_or(0);
      const auto [twin, fresh] = seen.try_emplace({layer, port.role}, &port);
      if (fresh)
        out[layer].push_back(&port);
      else
        error(std::string(role_name(port.role)),
              fmt::format("{} and {}", printable(twin->second->value.name), printable(port.value.name)),
              fmt::format("one of layer {}", layer), "put the layer's number in the name");
    }
    for (const auto& [layer, pair] : out)
      if (pair.size() == 1)
        error(std::string(role_name(pair[0]->role == key ? value : key)), fmt::format("none of layer {}", layer),
              "a key and a value of each layer", "export both halves of the cache");
  }

  void same_layers(const std::map<std::int64_t, std::vector<const Port*>>& past,
                   const std::map<std::int64_t, std::vector<const Port*>>& present) {
    if (past.empty())
      error("past keys and values", "none", "two inputs a layer, [B, heads, P, D]", "export with a past");
    for (const auto& [layer, pair] : past)
      if (!present.empty() && !present.contains(layer))
        error("present keys and values", fmt::format("none of layer {}", layer),
              fmt::format("a pair, as {} goes in", printable(pair[0]->value.name)), "export both sides of every layer");
    for (const auto& [layer, pair] : present) {
      const auto before = past.find(layer);
      if (before == past.end()) {
        if (!past.empty())
          error("past keys and values", fmt::format("none of layer {}", layer),
                fmt::format("a pair, as {} comes out", printable(pair[0]->value.name)),
                "export both sides of every layer");
      } else if (before->second[0]->value.type != pair[0]->value.type) {
        error("cache type", port_text(*pair[0]), onnx::element_type_name(before->second[0]->value.type),
              "what comes out goes in at the next step, so the types are one");
      }
    }
  }

  void cache_shape(const Port& port, bool past) {
    if (!port.value.shape) {
      error(std::string(role_name(port.role)), port_text(port), "[B, heads, tokens, D]", "state the shape");
      return;
    }
    const auto& shape = *port.value.shape;
    const bool turned = !number(shape[1]) && number(shape[2]) && number(shape[3]);
    if (turned) {
      error(std::string(role_name(port.role)), port_text(port), "[B, heads, tokens, D]",
            "its tokens stand before its heads; transpose the cache");
      return;
    }
    if (past) {
      if (out_.past.empty()) out_.past = shape[2].text();
      if (port.layer.value_or(0) == 0 && port.role == PortRole::kPastKey) axis("P", port.value.name, 2, shape[2], true);
    } else if (const std::int64_t* fixed = number(shape[2]); fixed != nullptr && !fixed_tokens()) {
      error(std::string(role_name(port.role)), port_text(port), "tokens that grow with what goes in",
            "an axis became a number on the way; export or simplify it as dynamic");
    }
    if (batch_ && !is_unknown(shape[0]) && shape[0].text() != out_.batch)
      error(std::string(role_name(port.role)), port_text(port), fmt::format("{} rows, as the tokens", out_.batch),
            "tokens and cache share their batch axis");
  }
  /// May a cache's tokens be a number: then what makes it is one, too.
  bool fixed_tokens() const {
    if (out_.phase == GraphPhase::kPrefill) return tokens_ && number(*tokens_);
    return !out_.past.empty() && out_.past.find_first_not_of("0123456789") == std::string::npos;
  }

  void whole_layers(const std::map<std::int64_t, std::vector<const Port*>>& layers) {
    std::int64_t next = 0;
    for (const auto& [layer, pair] : layers) {
      if (layer != next) {
        error("layers", fmt::format("layer {} after layer {}", layer, next - 1), "0, 1, 2, ... without a gap",
              "a layer's cache is missing");
        return;
      }
      ++next;
    }
  }

  void logits() {
    const Port* port = one(out_.outputs, PortRole::kLogits);
    if (port == nullptr) {
      error("logits", "no output of logits", "floats [B, V] or [B, 1, V], of each row's last valid token",
            "name it logits and give it its type and shape");
      return;
    }
    const auto& shape = port->value.shape;
    if (!shape || shape->size() < 2 || shape->size() > 3) {
      error("logits", port_text(*port), "[B, V] or [B, 1, V]", "state the shape when exporting");
      return;
    }
    if (!number(shape->back()))
      error("logits", fmt::format("{}: a vocabulary of unknown size", port_text(*port)), "a number",
            "infer the shapes of the graph (calkit onnx-normalize)");
    if (shape->size() == 2) return;
    const Dim& rows = (*shape)[1];
    if (number(rows) && *number(rows) == 1) return;
    if (is_unknown(rows) || (tokens_ && rows.text() != tokens_->text()))
      note("logits", port_text(*port), "[B, V] or [B, 1, V]; the file does not tell of which tokens these are");
    else
      error("logits", fmt::format("{}: of all tokens", port_text(*port)), "of each row's last valid token",
            "select the last valid token before the head (logits_to_keep), or S times the head and the transfer are "
            "paid");
  }

  void strangers() {
    for (const Port& port : out_.inputs)
      if (port.role == PortRole::kOther)
        error("inputs", port_text(port), "tokens, positions, mask or length, past keys and values",
              "nobody will feed it: name it by its meaning, or remove it");
    for (const Port& port : out_.outputs)
      if (port.role == PortRole::kOther) note("outputs", port_text(port), "nobody will read it");
  }

  ContractCheck& out_;
  const ContractWish& wish_;
  std::optional<Dim> batch_, tokens_;
};

}  // namespace

std::string_view phase_name(GraphPhase phase) {
  switch (phase) {
    case GraphPhase::kPrefill:
      return "prefill";
    case GraphPhase::kDecode:
      return "decode";
    case GraphPhase::kBoth:
      break;
  }
  return "prefill and decode";
}

bool ContractCheck::passed() const {
  return std::none_of(findings.begin(), findings.end(), [](const ContractFinding& finding) { return finding.error; });
}

Result<ContractCheck> check_contract(const std::filesystem::path& graph, const ContractWish& wish) {
  CALKIT_TRY(const onnx::Outline outline, onnx::load_outline(graph));
  ContractCheck out;
  out.file = graph.string();
  for (const std::string& problem : outline.problems)
    out.findings.push_back({true, "graph", problem, "a graph that can be run", "mend the file; see onnx-inventory"});
  std::vector<onnx::ValueInfo> fed;
  for (const auto& value : outline.inputs)
    if (outline.model.graph.initializer(value.name) == nullptr) fed.push_back(value);
  out.inputs = input_ports(fed);
  out.outputs = output_ports(outline.outputs);
  Checker(out, wish).run();
  return out;
}

}  // namespace calkit::model
