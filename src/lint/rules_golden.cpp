/// Family 12: what a submodel must answer is in the package, has the shapes the submodel has, and consists of numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calkit/base/text.h"
#include "calkit/tensor/npz.h"
#include "families.h"

namespace calkit::lint {

namespace {

bool is_integer(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64;
}
bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kF64 || dtype == DType::kBF16;
}

void check_present(Check& check) {
  const auto& d = check.d();
  if (!check.usable("/golden") || !check.usable("/submodels")) return;
  for (std::size_t i = 0; i < d.golden.size(); ++i) {
    const auto& golden = d.golden[i];
    const auto pointer = fmt::format("/golden/{}", i);
    if (d.submodel(golden.submodel) == nullptr)
      check.report(pointer + "/submodel", {"a golden result is for a submodel that is not in the package",
                                           fmt::format("'{}'", printable(golden.submodel)),
                                           "the exact name of a submodel", "correct the name, or leave the entry out"});
    if (golden.outputs.empty() && (golden.digest.empty() || golden.recipe.empty()))
      check.report(pointer, {fmt::format("the golden result of '{}' holds nothing to compare with", golden.submodel),
                             golden.digest.empty() ? "no outputs and no digest" : "a digest of nobody knows what",
                             "outputs, or a digest with the recipe of what is hashed",
                             "list the file with the expected outputs"});
  }
  const auto has = [&](const std::string& name) {
    return std::any_of(d.golden.begin(), d.golden.end(), [&](const auto& golden) { return golden.submodel == name; });
  };
  check.each_submodel([&](const calbin::Submodel& submodel, const std::string& pointer) {
    const auto bound = check.bound();
    const bool named = std::any_of(bound.begin(), bound.end(), [&](const auto& b) { return b.submodel == &submodel; });
    const bool wanted = check.service() != nullptr ? named : submodel.type == "prefill" || submodel.type == "decode";
    if (wanted && !has(submodel.name))
      check.report(pointer, {fmt::format("submodel '{}' has no golden result", submodel.name),
                             fmt::format("{} entries, none for it", d.golden.size()),
                             "an entry of golden[] for each submodel that is used",
                             "record what the reference answers to a few prompts"});
  });
}

/// False: CB0101 or CB0204 tells, or there is none.
bool is_there(const Check& check, const std::string& id) {
  const auto at = check.facts().file_index.find(id);
  return !id.empty() && at != check.facts().file_index.end() &&
         check.facts().files[at->second].state == FileState::kPresent;
}

/// Calls `visit` with every tensor of a golden file; the error of a file that cannot be read.
Status visit_file(Check& check, const std::string& id, const NpzVisitor& visit) {
  if (!is_there(check, id)) return {};
  const auto& path = check.d().files[check.facts().file_index.find(id)->second].path;
  CALKIT_TRY(const auto mapped, check.facts().map(path));
  return visit_npz(mapped->bytes(), path, visit);
}

/// One tensor of a golden file against its submodel.
class Judge {
 public:
  Judge(Check& check, const calbin::Submodel& submodel, std::string pointer, bool outputs)
      : check_(check), submodel_(submodel), pointer_(std::move(pointer)), outputs_(outputs) {}

  void tensor(const std::string& name, const Tensor& tensor) {
    shapes[name] = tensor.shape();
    const std::string kind = name.substr(0, name.find('.'));
    ++known_;
    if (!outputs_ && kind == "tokens") return tokens(name, tensor);
    if (outputs_ && kind == "logits") return logits(name, tensor);
    if (outputs_ && kind == "top_ids") return ids(name, tensor);
    if (outputs_ && kind == "top_logits") return floats(name, tensor, DType::kF32);
    if (const auto* io = find_io(name)) return named(name, tensor, *io);
    --known_;
    check_.warn(pointer_, {fmt::format("nobody knows what golden member '{}' is", printable(name)), text_of(tensor),
                           outputs_ ? "logits, logits.N, top_ids, top_logits or an output's name"
                                    : "tokens, tokens.N or an input's name",
                           "name it after the tensor it is compared with"});
  }
  std::map<std::string, Shape> shapes;

  /// When the whole file was seen: a file without one known member compares nothing.
  void end() {
    if (known_ > 0) return;
    check_.report(pointer_, {fmt::format("a golden file of '{}' holds nothing that is {}", submodel_.name,
                                         outputs_ ? "compared" : "fed to it"),
                             fmt::format("{} members, none of them known", shapes.size()),
                             outputs_ ? "logits, logits.N, top_ids with top_logits, or an output's name"
                                      : "tokens, tokens.N or an input's name",
                             "record the golden again, or correct which file is named as inputs and which as outputs"});
  }

  void say(const std::string& name, std::string found, std::string limit) {
    check_.report(pointer_,
                  {fmt::format("golden member '{}' does not fit submodel '{}'", printable(name), submodel_.name),
                   std::move(found), std::move(limit), "record the golden with this model, vocabulary and batch"});
  }

 private:
  static std::string text_of(const Tensor& tensor) {
    return fmt::format("{} {}", dtype_name(tensor.dtype()), shape_text(tensor.shape()));
  }
  const calbin::IoTensor* find_io(const std::string& name) const {
    const auto& list = outputs_ ? submodel_.outputs : submodel_.inputs;
    const auto at = std::find_if(list.begin(), list.end(), [&](const auto& io) { return io.name == name; });
    return at != list.end() ? &*at : nullptr;
  }
  const calbin::IoTensor* logits_io() const {
    const auto& list = submodel_.outputs;
    const auto at = std::find_if(list.begin(), list.end(), [](const auto& io) { return io.role == "logits"; });
    return at != list.end() ? &*at : nullptr;
  }
  void ids(const std::string& name, const Tensor& tensor) {
    if (!is_integer(tensor.dtype())) return say(name, text_of(tensor), "i32 or i64 token ids");
    const std::int64_t vocab = check_.d().model.vocab;
    const auto all = convert(tensor, DType::kI64);
    if (!all.ok()) return;
    for (const std::int64_t id : all->data<std::int64_t>())
      if (id < 0 || id >= vocab)
        return say(name, fmt::format("token id {}", id), fmt::format("0 to {}, within model.vocab", vocab - 1));
  }
  void tokens(const std::string& name, const Tensor& tensor) {
    const auto& shape = tensor.shape();
    const std::int64_t length = shape.empty() ? 0 : shape.back();
    if (shape.empty() || shape.size() > 2 || length < 1 || length > submodel_.context)
      return say(name, text_of(tensor),
                 fmt::format("[length] or [batch, length] of 1 to context {}", submodel_.context));
    ids(name, tensor);
  }
  /// npz knows no BF16: such results are stored widened to f32.
  void floats(const std::string& name, const Tensor& tensor, DType declared) {
    if (tensor.dtype() != DType::kF32 && tensor.dtype() != declared)
      say(name, text_of(tensor), fmt::format("f32, or {} as the submodel declares", dtype_name(declared)));
  }
  void logits(const std::string& name, const Tensor& tensor) {
    const auto* io = logits_io();
    if (io == nullptr) return say(name, text_of(tensor), "an output of role logits in the submodel");
    const std::int64_t vocab = check_.d().model.vocab;
    if (tensor.shape().empty() || tensor.shape().back() != vocab)
      return say(name, text_of(tensor), fmt::format("a last extent of model.vocab {}", vocab));
    floats(name, tensor, io->dtype);
  }
  void named(const std::string& name, const Tensor& tensor, const calbin::IoTensor& io) {
    if (tensor.shape() != io.layout.logical_shape && tensor.shape() != io.shape)
      return say(name, text_of(tensor), fmt::format("logical shape {}", shape_text(io.layout.logical_shape)));
    if (is_float(io.dtype)) return floats(name, tensor, io.dtype);
    if (tensor.dtype() != io.dtype) say(name, text_of(tensor), std::string(dtype_name(io.dtype)));
  }

  Check& check_;
  const calbin::Submodel& submodel_;
  std::string pointer_;
  bool outputs_;
  std::size_t known_ = 0;
};

/// logits.N answers tokens.N; the candidates' ids and logits go together.
void check_pairs(Judge& inputs, Judge& outputs) {
  const auto rest = [](const std::string& name) { return name.substr(std::min(name.find('.'), name.size())); };
  for (const auto& [name, shape] : outputs.shapes) {
    if (name.starts_with("logits") && !inputs.shapes.empty() && !inputs.shapes.contains("tokens" + rest(name)))
      outputs.say(name, "no tokens" + rest(name), "the prompt it answers, under the same number");
    if (!name.starts_with("top_")) continue;
    const std::string other = (name.starts_with("top_ids") ? "top_logits" : "top_ids") + rest(name);
    const auto at = outputs.shapes.find(other);
    if (at == outputs.shapes.end() || at->second != shape)
      outputs.say(name, shape_text(shape),
                  at == outputs.shapes.end() ? other + " beside it"
                                             : fmt::format("{} as {} has", shape_text(at->second), other));
  }
}

/// One file answers for one entry: the second is a copy of the first, or got the wrong file.
void check_outputs_once(Check& check) {
  const auto& d = check.d();
  std::map<std::string_view, std::size_t> first;  // file id -> entry
  for (std::size_t i = 0; i < d.golden.size(); ++i) {
    const auto& golden = d.golden[i];
    if (golden.outputs.empty() || !check.usable(fmt::format("/golden/{}", i))) continue;
    const auto [at, added] = first.emplace(golden.outputs, i);
    if (!added)
      check.report(fmt::format("/golden/{}/outputs", i),
                   {fmt::format("the outputs of '{}' are those of another entry", golden.submodel),
                    fmt::format("file '{}', also of /golden/{} for '{}'", golden.outputs, at->second,
                                d.golden[at->second].submodel),
                    "each entry has its own outputs",
                    "name the outputs that were recorded with this submodel, or take the entry out"});
  }
}

/// `covers` says what was compared: no prompt is longer than the submodel's context.
void check_covers(Check& check, const calbin::Submodel& submodel, std::size_t entry) {
  const auto& covers = check.d().golden[entry].covers;
  for (std::size_t k = 0; k < covers.size(); ++k)
    if (covers[k] > submodel.context)
      check.report(fmt::format("/golden/{}/covers/{}", entry, k),
                   {fmt::format("the golden of '{}' covers a prompt that it cannot take", submodel.name),
                    fmt::format("{} tokens", covers[k]), fmt::format("at most context {}", submodel.context),
                    "state the lengths that were compared with this package"});
}

void check_shapes(Check& check) {
  const auto& d = check.d();
  check_outputs_once(check);
  if (!check.usable("/model/vocab")) return;
  for (std::size_t i = 0; i < d.golden.size(); ++i) {
    const auto& golden = d.golden[i];
    const auto* submodel = d.submodel(golden.submodel);
    const auto pointer = fmt::format("/golden/{}", i);
    if (submodel == nullptr || !check.usable(pointer) ||
        !check.usable(fmt::format("/submodels/{}", submodel - d.submodels.data())))
      continue;
    check_covers(check, *submodel, i);
    Judge inputs(check, *submodel, pointer + "/inputs", false), outputs(check, *submodel, pointer + "/outputs", true);
    bool whole = true;
    for (auto* judge : {&inputs, &outputs}) {
      const bool in = judge == &inputs;
      const std::string& file = in ? golden.inputs : golden.outputs;
      const auto read = visit_file(check, file, [judge](const std::string& name, Tensor tensor) -> Status {
        judge->tensor(name, tensor);
        return {};
      });
      if (read.ok() && is_there(check, file)) judge->end();
      if (read.ok()) continue;
      whole = false;
      check.report(pointer + (in ? "/inputs" : "/outputs"),
                   {fmt::format("a golden file of '{}' cannot be read", golden.submodel), read.error().message,
                    "an .npz as numpy.savez writes it", "record the golden again"});
    }
    if (whole) check_pairs(inputs, outputs);
  }
}

/// The first value that is no number, and how many there are.
template <class T, class Wide>
void find_nonfinite(std::span<const T> values, Wide wide, std::uint64_t& count, std::uint64_t& first) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(wide(values[i])) && count++ == 0) first = i;
}

void check_finite(Check& check) {
  const auto& d = check.d();
  for (std::size_t i = 0; i < d.golden.size(); ++i) {
    const auto pointer = fmt::format("/golden/{}/outputs", i);
    if (!check.usable(fmt::format("/golden/{}", i))) continue;
    const auto visit = [&](const std::string& name, const Tensor& tensor) -> Status {
      std::uint64_t count = 0, first = 0;
      if (tensor.dtype() == DType::kF32) find_nonfinite(tensor.data<float>(), [](float v) { return v; }, count, first);
      if (tensor.dtype() == DType::kF64)
        find_nonfinite(tensor.data<double>(), [](double v) { return v; }, count, first);
      if (tensor.dtype() == DType::kF16)
        find_nonfinite(tensor.data<std::uint16_t>(), [](std::uint16_t v) { return f16_to_float(v); }, count, first);
      if (count > 0)
        check.report(
            pointer,
            {fmt::format("golden member '{}' of '{}' holds NaN or infinity", printable(name), d.golden[i].submodel),
             fmt::format("{} of {} values, the first at {}", count, tensor.elements(), first), "finite numbers",
             "record the golden again; a comparison with NaN passes or fails for no reason"});
      return {};
    };
    // A file that cannot be read is CB1202's.
    static_cast<void>(visit_file(check, d.golden[i].outputs, visit).ok());
  }
}

}  // namespace

std::vector<Rule> golden_rules() {
  return {
      {{"CB1201", "golden-missing", Severity::kError, RuleClass::kPolicy,
        "every submodel that is used has a golden result to compare with", "7h"},
       {"/golden/*/submodel,outputs,digest,recipe", "/submodels/*/name,type"},
       &check_present},
      {{"CB1202", "golden-shape-dtype", Severity::kError, RuleClass::kInvalid,
        "golden files can be read and have the submodel's shapes, dtypes, ids and lengths", "7h 9b"},
       {"/golden/*/submodel,inputs,outputs,covers", "/submodels/*/name,context",
        "/submodels/*/inputs,outputs/*/name,role,dtype,shape,layout", "/model/vocab"},
       &check_shapes},
      {{"CB1203", "golden-nonfinite", Severity::kError, RuleClass::kInvalid, "golden outputs are finite numbers", "7h"},
       {"/golden/*/submodel,outputs"},
       &check_finite},
  };
}

}  // namespace calkit::lint
