#include "road.h"

#include <algorithm>
#include <map>

#include "calkit/frozen/writer.h"
#include "calkit/model/graph.h"
#include "calkit/tensor/metrics.h"
#include "frozen_answers.h"

namespace calkit::compile {
namespace {

std::filesystem::path data(const char* kind, const std::string& model) {
  return std::filesystem::path(CALKIT_TEST_DATA) / kind / model;
}

Status freeze(const std::filesystem::path& out, const RoadShape& shape, const frozen::Reference& reference) {
  frozen::SourceOptions options;
  options.targets = {shape.context, shape.batch, shape.dtype == DType::kF32 ? "f32" : "bf16", "flags"};
  options.reference_dtype = reference.dtype;
  CALKIT_TRY(const auto source, frozen::describe_model_source(data("models", shape.model), options));
  std::filesystem::create_directories(out);
  CALKIT_CHECK_OK(frozen::write_model_source(out, data("models", shape.model), source));
  CALKIT_CHECK_OK(frozen::write_reference(out, reference, testing_support::zero_probes(reference, source.spec),
                                          testing_support::no_noise(reference)));
  return frozen::seal(out);
}

}  // namespace

const Road& Road::of(const RoadShape& shape) {
  static std::map<std::string, std::unique_ptr<Road>> made;
  auto& road = made[shape.model + std::string(dtype_name(shape.dtype)) + std::to_string(shape.context) + "," +
                    std::to_string(shape.batch)];
  if (road == nullptr) road = std::make_unique<Road>(shape);
  return *road;
}

Road::Road(const RoadShape& shape) {
  const auto exported = model::export_onnx(data("models", shape.model), onnx(), shape.dtype);
  EXPECT_TRUE(exported.ok()) << exported.error().message;
  auto peer = frozen::read_reference(data("golden", shape.model), shape.dtype == DType::kF32 ? "fp32" : "bf16");
  EXPECT_TRUE(peer.ok()) << peer.error().message;
  if (!peer.ok()) return;
  reference_ = std::move(*peer);
  const Status frozen = freeze(baseline(), shape, reference_);
  EXPECT_TRUE(frozen.ok()) << frozen.error().message;
}

PackOptions Road::options(const std::filesystem::path& out) const {
  PackOptions options;
  options.onnx_dir = onnx();
  options.baseline = baseline();
  options.out = out;
  auto profile = manifest::default_device_profile();
  EXPECT_TRUE(profile.ok());
  if (profile.ok()) options.profile = *profile;
  return options;
}

manifest::ServiceManifest service_of(const PackReport& r) {
  manifest::ServiceManifest out;
  out.architecture = r.architecture;
  out.calbin_version = r.version;
  out.runtime_abi = r.runtime_abi;
  out.context = r.context;
  out.batch = r.batch;
  out.vocab = r.vocab;
  out.prefill_model = r.prefill_model;
  out.decode_model = r.decode_model;
  out.token = {"inputs", 0, r.token};
  out.position = {"inputs", 1, r.position};
  out.logits = {"outputs", 0, r.logits};
  out.csr_current = {"cur_seq_len", 0, r.csr_current};
  out.csr_past_current = {"past_kv_cur_seq_len", 0, r.csr_past_current};
  return out;
}

Result<Running> start(const std::filesystem::path& package, const PackReport& report) {
  Running out;
  CALKIT_TRY(device::Device device, device::Device::open("emu", &emulator::entry));
  out.device.emplace(std::move(device));
  CALKIT_TRY(const auto info, out.device->load(package));
  CALKIT_TRY(device::Session session, out.device->configure(service_of(report), soon()));
  out.session.emplace(std::move(session));
  return out;
}

Result<Comparison> compare(device::Session& session, const frozen::Reference& reference, std::size_t prompts,
                           std::size_t steps, double margin) {
  Comparison out;
  for (const frozen::ReferenceItem& item : reference.items) {
    if (out.prompts == prompts) break;
    if (item.ids.empty() || static_cast<std::int64_t>(item.ids.size() + steps) > session.package().context) continue;
    ++out.prompts;
    CALKIT_TRY(device::Sequence sequence, session.start());
    CALKIT_TRY(device::StepOutput step, session.prefill(sequence, item.ids, soon()));
    const Closeness close = calkit::compare(step.logits, item.logits);
    if (close.non_finite > 0 || !close.nmse)
      return Error{ErrorKind::kInput, item.prompt.id + ": logits are not finite"};
    out.nmse_max = std::max(out.nmse_max, *close.nmse);
    for (std::size_t i = 0; i < std::min(steps, item.greedy.size()); ++i) {
      ++out.steps;
      const std::int32_t token = top_k(step.logits, 1).at(0);
      if (token == item.greedy[i].token)
        ++out.greedy_equal;
      else if (item.greedy[i].margin < margin)
        ++out.greedy_excused;
      if (i + 1 == std::min(steps, item.greedy.size())) break;
      CALKIT_TRY(step, session.decode(sequence, item.greedy[i].token, soon()));
    }
  }
  return out;
}

}  // namespace calkit::compile
