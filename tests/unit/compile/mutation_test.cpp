// A packed model with one address, offset, register or layout changed: a typed error or clearly other logits, never the
// right ones.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "calkit/base/hash.h"
#include "calkit/calbin/oplist.h"
#include "calkit/calbin/reading.h"
#include "calkit/tensor/metrics.h"
#include "road.h"

namespace calkit::compile {
namespace {

namespace fs = std::filesystem;
using calbin::Description;
using calbin::Op;
using calbin::OpList;
using testing_support::ScratchDir;

/// A package as structs, to be changed and written back with fitting digests.
struct Editable {
  Description d;
  OpList prefill, decode;
};

Op& op_of(OpList& list, const std::string& type, std::size_t nth = 0) {
  for (Op& op : list.ops)
    if (op.type == type && nth-- == 0) return op;
  ADD_FAILURE() << "no " << type;
  return list.ops.front();
}

OpList read_list(const fs::path& path) {
  const auto document = read_json(path);
  EXPECT_TRUE(document.ok());
  auto list = calbin::parse_oplist(Cursor(*document, path.string()));
  EXPECT_TRUE(list.ok());
  return *list;
}

void write_back(const fs::path& dir, Editable& package) {
  for (const auto& [name, list] : {std::pair{"prefill", &package.prefill}, std::pair{"decode", &package.decode}}) {
    const std::string relative = std::string("oplist/") + name + ".chip0.json";
    ASSERT_TRUE(write_file(dir / relative, to_json(calbin::to_value(*list)) + "\n").ok());
    const auto digest = hash_file(dir / relative);
    ASSERT_TRUE(digest.ok());
    for (auto& file : package.d.files)
      if (file.path == relative) {
        file.size = digest->bytes;
        file.digest = "sha256:" + digest->sha256;
      }
  }
  package.d.seal = calbin::seal_of(calbin::to_value(package.d));
  ASSERT_TRUE(write_file(dir / "calbin.json", to_json(calbin::to_value(package.d)) + "\n").ok());
}

struct Mutation {
  const char* name;
  std::function<void(Editable&)> apply;
};

std::vector<Mutation> mutations() {
  const auto swap_params = [](Editable& p, const std::string& a, const std::string& b) {
    calbin::Param *first = nullptr, *second = nullptr;
    for (auto& param : p.d.params) {
      if (param.name == a) first = &param;
      if (param.name == b) second = &param;
    }
    ASSERT_TRUE(first != nullptr && second != nullptr && first->length == second->length);
    std::swap(first->offset, second->offset);
  };
  return {
      {"K and V projections read each other's bytes",
       [=](Editable& p) {
         swap_params(p, "model.layers.1.self_attn.k_proj.weight", "model.layers.1.self_attn.v_proj.weight");
       }},
      {"norm weights of two layers swapped",
       [=](Editable& p) {
         swap_params(p, "model.layers.0.input_layernorm.weight", "model.layers.3.post_attention_layernorm.weight");
       }},
      {"an op reads the weights of another op",
       [](Editable& p) {
         op_of(p.prefill, "MatMulNT", 1).reads[1].base = op_of(p.prefill, "MatMulNT", 2).reads[1].base;
       }},
      {"weights are read one row late", [](Editable& p) { op_of(p.prefill, "MatMulNT").reads[1].base += 1024; }},
      {"two layers share one key cache",
       [](Editable& p) {
         for (OpList* list : {&p.prefill, &p.decode})
           op_of(*list, "CacheAttention", 1).reads[3].base = op_of(*list, "CacheAttention", 0).reads[3].base;
       }},
      {"decode reads another layer's values",
       [](Editable& p) {
         op_of(p.decode, "CacheAttention", 2).reads[4].base = op_of(p.decode, "CacheAttention", 3).reads[4].base;
       }},
      {"keys and values of a layer lie in one place",
       [](Editable& p) {
         for (OpList* list : {&p.prefill, &p.decode})
           op_of(*list, "CacheAttention").reads[4].base = op_of(*list, "CacheAttention").reads[3].base;
       }},
      {"attention takes its past from cur_seq_len",
       [](Editable& p) {
         auto& read = op_of(p.decode, "CacheAttention").reads[5];
         read.csr = "cur_seq_len";
         read.base = p.d.submodels[1].csr[0].base;
       }},
      {"the two CSRs have each other's names",
       [](Editable& p) { std::swap(p.d.submodels[0].csr[0].name, p.d.submodels[0].csr[1].name); }},
      {"the two CSRs have each other's addresses",
       [](Editable& p) { std::swap(p.d.submodels[0].csr[0].base, p.d.submodels[0].csr[1].base); }},
      {"the residual reads another value", [](Editable& p) { op_of(p.prefill, "Add").reads[0].base += 4096; }},
      {"two live values share one address",
       [](Editable& p) {
         op_of(p.prefill, "MatMulNT", 0).writes[0].base = op_of(p.prefill, "RMSNormalization").writes[0].base;
       }},
      {"positions arrive where tokens should",
       [](Editable& p) { std::swap(p.d.submodels[0].inputs[0].base, p.d.submodels[0].inputs[1].base); }},
      {"logits are fetched 4 bytes late", [](Editable& p) { p.d.submodels[0].outputs[0].base += 4; }},
      {"logits are said to be BF16", [](Editable& p) { p.d.submodels[0].outputs[0].dtype = DType::kBF16; }},
      {"rows are said to be padded to 32", [](Editable& p) { p.d.submodels[0].outputs[0].layout.tile = {32}; }},
      {"rows are said not to be padded", [](Editable& p) { p.d.submodels[0].outputs[0].layout.tile = {}; }},
      {"attention has another scale",
       [](Editable& p) { op_of(p.prefill, "CacheAttention").attributes[0].value = 0.5f; }},
      {"a norm has another epsilon",
       [](Editable& p) {
         for (auto& attribute : op_of(p.prefill, "RMSNormalization").attributes)
           if (attribute.name == "epsilon") attribute.value = 1.0f;
       }},
      {"one op is missing", [](Editable& p) { p.prefill.ops.erase(p.prefill.ops.begin() + 20); }},
      {"two ops are swapped", [](Editable& p) { std::swap(p.prefill.ops[20], p.prefill.ops[21]); }},
      {"a tensor is said to be wider",
       [](Editable& p) { op_of(p.prefill, "MatMulNT").writes[0].shape.back() = {std::int64_t{257}}; }},
      {"a decode weight of another layer",
       [](Editable& p) {
         op_of(p.decode, "MatMulNT", 0).reads[1].base = op_of(p.decode, "MatMulNT", 7).reads[1].base;
       }},
  };
}

/// Logits of a prefill and two decodes, or what refused them.
Result<std::vector<float>> logits_of(const fs::path& package, const PackReport& report,
                                     const frozen::ReferenceItem& item) {
  CALKIT_TRY(Running running, start(package, report));
  CALKIT_TRY(device::Sequence sequence, running.session->start());
  CALKIT_TRY(device::StepOutput step, running.session->prefill(sequence, item.ids, soon()));
  std::vector<float> out = step.logits;
  for (std::size_t i = 0; i < 2; ++i) {
    CALKIT_TRY(step, running.session->decode(sequence, item.greedy[i].token, soon()));
    out.insert(out.end(), step.logits.begin(), step.logits.end());
  }
  return out;
}

TEST(MutatedModel, IsRefusedOrClearlyWrong) {
  const Road& road = Road::of({});
  const ScratchDir dir;
  PackOptions options = road.options(dir / "m.calbin");
  options.tile_rows = 16;
  const auto report = pack(options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  const frozen::ReferenceItem* item = nullptr;
  for (const auto& candidate : road.reference().items)
    if (candidate.ids.size() >= 8 && candidate.ids.size() <= 40) item = &candidate;
  ASSERT_NE(item, nullptr);
  const auto right = logits_of(options.out, *report, *item);
  ASSERT_TRUE(right.ok()) << right.error().message;

  const auto package = calbin::Package::open(options.out);
  ASSERT_TRUE(package.ok());
  const Editable good{package->description(), read_list(options.out / "oplist/prefill.chip0.json"),
                      read_list(options.out / "oplist/decode.chip0.json")};
  std::size_t refused = 0;
  for (const Mutation& mutation : mutations()) {
    Editable changed = good;
    mutation.apply(changed);
    write_back(options.out, changed);
    const auto got = logits_of(options.out, *report, *item);
    if (!got.ok()) {
      ++refused;
      EXPECT_TRUE(got.error().kind == ErrorKind::kInput) << mutation.name << ": " << got.error().message;
      continue;
    }
    const Closeness close = calkit::compare(*got, *right);
    EXPECT_TRUE(close.non_finite > 0 || close.nmse.value_or(1) > 1e-6)
        << mutation.name << " changed nothing: nmse " << close.nmse.value_or(-1);
  }
  EXPECT_GT(refused, 3u);
  EXPECT_LT(refused, mutations().size()) << "some mutations must reach the numbers";
  Editable restored = good;
  write_back(options.out, restored);
  const auto again = logits_of(options.out, *report, *item);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, *right) << "the test's own writing changes nothing";
}

}  // namespace
}  // namespace calkit::compile
