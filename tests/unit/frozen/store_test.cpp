// A store keeps what can be given back.
#include "calkit/frozen/store.h"

#include <gmock/gmock.h>

#include "baseline_support.h"

namespace calkit::frozen {
namespace {

using testing::HasSubstr;

class StoreTest : public testing::Test {
 protected:
  StoreTest() { write_baseline(dir_ / "b", small_reference(2)); }
  std::string refusal(const fs::path& store) {
    const auto kept = keep(dir_ / "b", store);
    if (kept.ok()) return "kept";
    EXPECT_EQ(kept.error().kind, ErrorKind::kInput);
    return kept.error().message;
  }
  ScratchDir dir_;
};

TEST_F(StoreTest, ADamagedBlobIsRepairedByKeepingItAgain) {
  const auto first = or_die(keep(dir_ / "b", dir_ / "st"));
  EXPECT_EQ(first.blobs_repaired, 0u);
  const std::string blob = "st/blobs/sha256/" + or_die(hash_file(dir_ / "b/reference/coverage.json")).sha256;
  dir_.write(blob, "damaged");
  const auto again = or_die(keep(dir_ / "b", dir_ / "st"));
  EXPECT_EQ(again.blobs_added, 1u);
  EXPECT_EQ(again.blobs_repaired, 1u);
  EXPECT_TRUE(restore(dir_ / "st", first.digest, dir_ / "back").ok());
  EXPECT_EQ(dir_.read("back/reference/coverage.json"), dir_.read("b/reference/coverage.json"));
  EXPECT_EQ(or_die(keep(dir_ / "b", dir_ / "st")).blobs_added, 0u);
}

TEST_F(StoreTest, StoreAndBaselineLieBesideEachOther) {
  for (const char* store : {"b", "b/st", "."}) EXPECT_THAT(refusal(dir_ / store), HasSubstr("--store")) << store;
  EXPECT_TRUE(findings_of(dir_ / "b").empty());  // nothing was written into it
  EXPECT_FALSE(fs::exists(dir_ / "blobs"));
}

}  // namespace
}  // namespace calkit::frozen
