#include "calkit/frozen/difference.h"

#include <gmock/gmock.h>

#include <cmath>

#include "baseline_support.h"
#include "calkit/base/document.h"
#include "calkit/frozen/store.h"
#include "frozen/diff_documents.h"

namespace calkit::frozen {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Verdict = PromptComparison::Verdict;

ReferenceItem item(std::string id, std::vector<std::int32_t> ids, std::vector<float> logits) {
  ReferenceItem out;
  out.prompt.id = std::move(id);
  out.ids = std::move(ids);
  out.logits = std::move(logits);
  out.greedy.push_back(or_die(greedy_step(out.logits)));
  return out;
}

Reference reference(std::vector<ReferenceItem> items) {
  Reference out;
  out.dtype = "fp32";
  out.items = std::move(items);
  return out;
}

TEST(CompareInDetail, FiguresAreThoseOfTheirDefinitions) {
  const Reference got = reference({item("a", {1, 2}, {1.0f, 0.0f, 3.0f})});
  const Reference want = reference({item("a", {1, 2}, {1.0f, 0.0f, 2.0f})});
  const auto comparison = or_die(compare_in_detail(got, want, {.nmse = 1, .margin = 0, .excused_share = 0}));
  const PromptComparison& row = comparison.prompts.at(0);
  EXPECT_EQ(row.tokens, 2u);
  EXPECT_DOUBLE_EQ(*row.nmse, 1.0 / 5);
  EXPECT_DOUBLE_EQ(*row.cosine, 7 / std::sqrt(10.0 * 5));
  EXPECT_EQ(*row.max_abs, 1.0);
  EXPECT_EQ(row.max_abs_index, 2u);
  // p = softmax(1, 0, 2), q = softmax(1, 0, 3)
  const double p = std::exp(1) + 1 + std::exp(2), q = std::exp(1) + 1 + std::exp(3);
  EXPECT_NEAR(*row.kl, std::log(q / p) - std::exp(2) / p, 1e-12);
  EXPECT_EQ(row.top_1, 1.0);
  EXPECT_EQ(row.verdict, Verdict::kWithin);
  EXPECT_EQ(row.steps_equal, 1u);
}

TEST(CompareInDetail, OtherIdsAreDifferentAndNothingElseIsSaid) {
  const Reference got = reference({item("a", {1, 2, 3}, {1.0f, 0.0f})});
  const Reference want = reference({item("a", {1, 9, 3}, {1.0f, 0.0f})});
  const auto comparison = or_die(compare_in_detail(got, want, {}));
  EXPECT_EQ(comparison.prompts[0].first_id, 1u);
  EXPECT_FALSE(comparison.prompts[0].nmse.has_value());
  EXPECT_EQ(comparison.prompts[0].verdict, Verdict::kDifferent);
}

TEST(CompareInDetail, AFlipBelowTheReferencesMarginIsExplainedByIt) {
  const Reference got = reference({item("a", {1}, {1.0005f, 1.0f, 0.0f})});
  const Reference want = reference({item("a", {1}, {1.0f, 1.0005f, 0.0f})});
  CompareLimits limits{.nmse = 1, .margin = 1e-3, .excused_share = 1};
  PromptComparison row = or_die(compare_in_detail(got, want, limits)).prompts[0];
  EXPECT_EQ(row.divergent_step, 0u);
  EXPECT_EQ(row.got_token, 0);
  EXPECT_EQ(row.want_token, 1);
  EXPECT_EQ(row.verdict, Verdict::kExcused);
  limits.margin = 1e-4;
  row = or_die(compare_in_detail(got, want, limits)).prompts[0];
  EXPECT_EQ(row.verdict, Verdict::kDifferent);
  EXPECT_NEAR(row.margin, 5e-4, 1e-6);
}

TEST(CompareInDetail, NumbersThatAreNoneAreDifferentAndPromptsOfOneSideAreNamed) {
  Reference got = reference({item("a", {1}, {1.0f, 0.0f}), item("only", {1}, {1.0f, 0.0f})});
  const Reference want = reference({item("a", {1}, {1.0f, 0.0f}), item("other", {1}, {1.0f, 0.0f})});
  got.items[0].logits[1] = NAN;
  const auto comparison = or_die(compare_in_detail(got, want, {}));
  EXPECT_EQ(comparison.prompts[0].verdict, Verdict::kDifferent);
  EXPECT_THAT(comparison.only_got, ElementsAre("only"));
  EXPECT_THAT(comparison.only_want, ElementsAre("other"));
  EXPECT_THAT(to_json(to_value(comparison, {})), HasSubstr("\"verdict\": \"different\""));
}

std::vector<std::string> changes(const std::string& a, const std::string& b) {
  std::vector<FieldChange> fields;
  diff_documents(or_die(parse_json(a, "a")), or_die(parse_json(b, "b")), "f.json", fields);
  std::vector<std::string> out;
  for (const FieldChange& change : fields)
    out.push_back(change.pointer + " " + (change.a ? change.a->describe() : "-") + " " +
                  (change.b ? change.b->describe() : "-"));
  return out;
}

TEST(DiffDocuments, PlacesAreNamedByKeyAndByTheNameOfAnEntry) {
  EXPECT_THAT(changes(R"({"a":1,"b":{"c":[1,2]}})", R"({"b":{"c":[1,2]},"a":1})"), IsEmpty());
  EXPECT_THAT(changes(R"({"a":1,"b":{"c/d":[1,2]}})", R"({"b":{"c/d":[1,3]},"e":null})"),
              ElementsAre("/a 1 -", "/b/c~1d/1 2 3", "/e - null"));
  EXPECT_THAT(
      changes(R"({"t":[{"name":"x","v":1},{"name":"y","v":2}]})", R"({"t":[{"name":"y","v":3},{"name":"z","v":1}]})"),
      ElementsAre("/t/x an object -", "/t/y/v 2 3", "/t/z - an object"));
  EXPECT_THAT(changes(R"({"l":[1,2]})", R"({"l":[1,2,3]})"), ElementsAre("/l an array of 2 an array of 3"));
  EXPECT_THAT(changes(R"({"l":[{"name":"x"},{"name":"x"}]})", R"({"l":[{"name":"x"},{"name":"y"}]})"),
              ElementsAre("/l/1/name \"x\" \"y\""));
}

class DiffTest : public testing::Test {
 protected:
  DiffTest() {
    write_baseline(dir / "a", small_reference(4));
    write_baseline(dir / "b", small_reference(4));
  }
  BaselineDiff diff() { return or_die(diff_baselines(dir / "a", dir / "b")); }
  ScratchDir dir;
};

TEST_F(DiffTest, TheSameIsEqualAndEnvDoesNotCount) {
  EXPECT_TRUE(diff().equal());
  Value manifest = or_die(read_json(dir / "b/model-source/manifest.json"));
  manifest.find("env")->set("calkit_commit", "another");
  dir.write("b/model-source/manifest.json", to_json(manifest) + "\n");
  const BaselineDiff found = diff();
  EXPECT_TRUE(found.equal());
  EXPECT_TRUE(found.env_differs);
  manifest.find("targets")->set("batch", 7);
  dir.write("b/model-source/manifest.json", to_json(manifest) + "\n");
  ASSERT_EQ(diff().fields.size(), 1u);
  EXPECT_EQ(diff().fields[0].pointer, "/targets/batch");
}

TEST_F(DiffTest, FilesPromptsIdsAndNumbersAreTold) {
  Reference changed = small_reference(4);
  changed.items[1].logits[3] += 0.5f;  // the first prompt has no tokens
  changed.items[2].greedy[2].token = changed.items[2].greedy[2].top_ids[1];
  changed.items.pop_back();
  fs::remove_all(dir / "b/reference");
  or_die(write_reference(dir / "b", changed, {}));
  dir.write("b/more.txt", "x");
  const BaselineDiff found = diff();
  EXPECT_FALSE(found.equal());
  EXPECT_THAT(found.only_b, ElementsAre("more.txt"));
  EXPECT_EQ(found.prompts_only_a.size(), 1u);
  ASSERT_EQ(found.prompts.size(), 2u);
  EXPECT_THAT(found.prompts[0].second, ElementsAre(AllOf(HasSubstr("max abs 0.5"), HasSubstr("at id 3"))));
  EXPECT_THAT(found.prompts[1].second, ElementsAre(HasSubstr("greedy step 2: token")));
  EXPECT_THAT(to_json(to_value(found)), HasSubstr("\"equal\": false"));
}

TEST_F(DiffTest, AFolderThatIsNoBaselineIsNoVerdict) {
  EXPECT_THAT(diff_baselines(dir / "a", dir.path()).error().message, HasSubstr("no model-source and reference"));
}

TEST_F(DiffTest, AStoreHasEachContentOnceAndGivesBackTheBytes) {
  const KeepReport first = or_die(keep(dir / "a", dir / "store"));
  EXPECT_EQ(first.blobs_added, first.files);
  dir.write("b/reference/extra.json", "{}");
  or_die(seal(dir / "b"));
  const KeepReport second = or_die(keep(dir / "b", dir / "store"));
  EXPECT_EQ(second.blobs_added, 1u);
  EXPECT_EQ(second.files, first.files + 1);
  EXPECT_TRUE(is_store(dir / "store"));
  EXPECT_THAT(or_die(verify_store(dir / "store")).findings, IsEmpty());
  or_die(restore(dir / "store", first.digest.substr(0, 8), dir / "back"));
  EXPECT_EQ(hash_tree(dir / "back")->sha256, hash_tree(dir / "a")->sha256);
  EXPECT_FALSE(restore(dir / "store", first.digest.substr(0, 7), dir / "no").ok());
  EXPECT_FALSE(restore(dir / "store", std::string(64, '0'), dir / "no").ok());
}

TEST_F(DiffTest, AStoreThatWasChangedIsTold) {
  const KeepReport kept = or_die(keep(dir / "a", dir / "store"));
  const std::string blob = sha256_hex(dir.read("a/reference/prompts.jsonl"));
  dir.write("store/blobs/sha256/" + blob, "other");
  EXPECT_THAT(or_die(verify_store(dir / "store")).findings,
              ElementsAre(AllOf(HasSubstr(blob), HasSubstr("its own name"))));
  EXPECT_THAT(restore(dir / "store", kept.digest, dir / "no").error().message, HasSubstr("as its list says"));
  EXPECT_FALSE(fs::exists(dir / "no"));
  fs::remove(dir / ("store/blobs/sha256/" + blob));
  dir.write("store/blobs/sha256/" + sha256_hex("new"), "new");
  EXPECT_THAT(or_die(verify_store(dir / "store")).findings,
              ElementsAre(HasSubstr("no blob " + blob), HasSubstr("a blob that no list names")));
  dir.write("a/reference/prompts.jsonl", "changed");
  EXPECT_FALSE(keep(dir / "a", dir / "store").ok()) << "only what is whole is kept";
}

}  // namespace
}  // namespace calkit::frozen
