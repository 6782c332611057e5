#include "calkit/manifest/op_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calkit/exec/kernel.h"

namespace calkit::compile {
namespace {

TEST(OpSupport, TheEmulatedDeviceClaimsNoMoreThanItsExecutorRuns) {
  const auto matrix = manifest::built_in_op_support("emulated");
  ASSERT_TRUE(matrix.ok());
  const auto executed = exec::supported_operators();
  for (const auto& row : (*matrix)->rows)
    for (const std::string& op : row.ops) EXPECT_THAT(executed, testing::Contains(op));
}

}  // namespace
}  // namespace calkit::compile
