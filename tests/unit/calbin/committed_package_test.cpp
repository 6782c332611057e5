/// tests/data/packages/mini.calbin and board.calbin are what the builder writes, so that command line tests can copy
/// and change them. mini is what the emulated device executes, board has everything that a package of a real board has.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "calkit/base/files.h"
#include "calkit/manifest/service.h"
#include "package_builder.h"
#include "scratch_dir.h"

namespace calkit::calbin {
namespace {

const std::filesystem::path kCommitted = std::filesystem::path(CALKIT_TEST_DATA) / "packages";

bool updating() {
  const char* update = std::getenv("CALKIT_UPDATE_GOLDEN");
  return update != nullptr && *update == '1';
}

void expect_committed(const std::string& name, const testing_support::TestPackage& package) {
  const auto committed = kCommitted / name;
  if (updating()) {
    std::filesystem::remove_all(committed);
    package.write(committed);
  }
  testing_support::ScratchDir dir;
  package.write(dir / name);
  const auto want = list_tree(dir / name), have = list_tree(committed);
  ASSERT_TRUE(want.ok() && have.ok());
  EXPECT_EQ(*have, *want);
  for (const auto& path : *want) {
    const auto a = read_file(dir / name / path), b = read_file(committed / path);
    ASSERT_TRUE(a.ok() && b.ok()) << path;
    EXPECT_TRUE(*a == *b) << path << " differs; CALKIT_UPDATE_GOLDEN=1 rewrites it";
  }
}

TEST(CommittedPackage, MiniIsTheBuildersGoodPackage) {
  expect_committed("mini.calbin", testing_support::good_package());
}

TEST(CommittedPackage, BoardIsTheBuildersFullPackage) {
  testing_support::PackageShape shape;
  shape.full = true;
  expect_committed("board.calbin", testing_support::good_package(shape));
}

TEST(CommittedPackage, MiniServiceIsTheBuilders) {
  const std::string yaml = manifest::to_yaml(testing_support::good_service());
  if (updating()) {
    ASSERT_TRUE(write_file(kCommitted / "mini.yaml", yaml).ok());
  }
  const auto manifest = read_file(kCommitted / "mini.yaml");
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(*manifest, yaml);
}

}  // namespace
}  // namespace calkit::calbin
