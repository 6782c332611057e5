// References and product baselines are sealed as baselines are, and verify as what they are.
#include "calkit/frozen/folder.h"

#include <gmock/gmock.h>

#include "baseline_support.h"
#include "calkit/frozen/texts.h"

namespace calkit::frozen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

VerifyReport sealed(const ScratchDir& dir) {
  return or_die(verify_sealed(dir.path(), folder_kind(dir.path())));
}

TEST(FolderKindTest, ABaselineIsOneEvenWithoutItsReference) {
  const ScratchDir dir;
  EXPECT_EQ(folder_kind(dir.path()), FolderKind::kBaseline);
  write_baseline(dir.path(), small_reference(2));
  EXPECT_EQ(folder_kind(dir.path()), FolderKind::kBaseline);
  dir.write("reference/source.json", "{}");
  EXPECT_EQ(folder_kind(dir.path()), FolderKind::kBaseline);
}

TEST(FolderKindTest, NumbersOfAPeer) {
  const ScratchDir dir;
  or_die(write_reference(dir.path(), small_reference(2), {}));
  dir.write("reference/source.json", "{}");
  or_die(seal(dir.path()));
  EXPECT_EQ(folder_kind(dir.path()), FolderKind::kNumbers);
  EXPECT_THAT(sealed(dir).findings, IsEmpty());
  EXPECT_EQ(sealed(dir).prompts, 2u);
  dir.write("reference/source.json", "{ }");
  EXPECT_THAT(sealed(dir).findings, ElementsAre(HasSubstr("reference/source.json: found sha256")));
}

TEST(FolderKindTest, TextsOfAService) {
  const ScratchDir dir;
  TextReference texts;
  texts.source = Value::object({{"kind", "server"}});
  texts.answers = {{"a", "x", "", std::nullopt, std::nullopt}};
  or_die(write_texts(dir.path(), texts));
  or_die(seal(dir.path()));
  EXPECT_EQ(folder_kind(dir.path()), FolderKind::kTexts);
  EXPECT_THAT(sealed(dir).findings, IsEmpty());
  dir.write("reference/texts.jsonl", "{\n");
  or_die(seal(dir.path()));
  EXPECT_THAT(sealed(dir).findings, ElementsAre(HasSubstr("texts.jsonl")));
}

TEST(FolderKindTest, ProductBaselines) {
  const ScratchDir dir;
  dir.write("product.json", R"({"schema": "calkit.product-baseline/1"})");
  or_die(seal(dir.path()));
  EXPECT_EQ(folder_kind(dir.path()), FolderKind::kProduct);
  EXPECT_THAT(sealed(dir).findings, IsEmpty());
  dir.write("product.json", R"({"schema": "calkit.else/1"})");
  or_die(seal(dir.path()));
  EXPECT_THAT(sealed(dir).findings, ElementsAre(HasSubstr("product.json: found schema calkit.else/1")));
}

}  // namespace
}  // namespace calkit::frozen
