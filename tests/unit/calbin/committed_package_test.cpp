/// tests/data/packages/mini.calbin is what the builder writes, so that command line tests can copy and change it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "calkit/base/files.h"
#include "calkit/manifest/service.h"
#include "package_builder.h"
#include "scratch_dir.h"

namespace calkit::calbin {
namespace {

TEST(CommittedPackage, IsTheBuildersGoodPackage) {
  const std::filesystem::path committed = std::filesystem::path(CALKIT_TEST_DATA) / "packages/mini.calbin";
  const std::filesystem::path manifest_file = committed.parent_path() / "mini.yaml";
  const std::string yaml = manifest::to_yaml(testing_support::good_service());
  if (const char* update = std::getenv("CALKIT_UPDATE_GOLDEN"); update != nullptr && *update == '1') {
    std::filesystem::remove_all(committed);
    testing_support::good_package().write(committed);
    ASSERT_TRUE(write_file(manifest_file, yaml).ok());
  }
  const auto manifest = read_file(manifest_file);
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(*manifest, yaml);
  testing_support::ScratchDir dir;
  testing_support::good_package().write(dir / "mini");
  const auto want = list_tree(dir / "mini"), have = list_tree(committed);
  ASSERT_TRUE(want.ok() && have.ok());
  EXPECT_EQ(*have, *want);
  for (const auto& path : *want) {
    const auto a = read_file(dir / "mini" / path), b = read_file(committed / path);
    ASSERT_TRUE(a.ok() && b.ok()) << path;
    EXPECT_TRUE(*a == *b) << path << " differs; CALKIT_UPDATE_GOLDEN=1 rewrites it";
  }
}

}  // namespace
}  // namespace calkit::calbin
