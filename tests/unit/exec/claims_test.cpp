// The table of operators in docs/numerics.md is the claim list of the code.
#include <gtest/gtest.h>

#include "calkit/base/files.h"
#include "calkit/exec/kernel.h"

namespace calkit::exec {
namespace {

TEST(Claims, TheTableInTheDocsIsTheClaimList) {
  std::string table;
  for (const OperatorClaim& claim : operator_claims())
    table += "| " + claim.name + " | " + std::to_string(claim.since) + " | " + claim.types + " |\n";
  const auto docs = read_file(CALKIT_SOURCE_DIR "/docs/numerics.md");
  ASSERT_TRUE(docs.ok());
  const std::string head = "| operator | from opset | types |\n| --- | --- | --- |\n";
  const auto from = docs->find(head);
  ASSERT_NE(from, std::string::npos);
  EXPECT_EQ(docs->substr(from + head.size()), table) << "calkit_onnx_cases --table prints it";
}

}  // namespace
}  // namespace calkit::exec
