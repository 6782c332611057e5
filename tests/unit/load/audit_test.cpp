#include "calkit/load/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace calkit::load {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CsvAudit audit(std::string_view text, const std::string& model = {}) {
  const auto table = parse_csv(text, "t.csv");
  EXPECT_TRUE(table.ok());
  const auto result = audit_csv(*table, "t.csv", model);
  EXPECT_TRUE(result.ok());
  return *result;
}

// What the legacy tool writes: its TTFT is the sum of both parts, its model the same word for every model.
constexpr char kLegacy[] =
    "model,prompt_tokens,predicted_tokens,prompt_ms,predicted_ms,ttft_ms\n"
    "deepseek,128,64,412.25,2610.50,3022.75\n"
    "deepseek,512,64,1630.10,2655.31,4285.41\n";

TEST(AuditCsv, TheLegacyTableIsRefusedForBothReasons) {
  const auto found = audit(kLegacy);
  EXPECT_EQ(found.rows_summed, 2u);
  EXPECT_THAT(found.faults,
              ElementsAre(AllOf(HasSubstr("'ttft_ms' is prompt_ms + predicted_ms in 2 of 2 rows"), HasSubstr("line 2")),
                          AllOf(HasSubstr("'deepseek' in every row"), HasSubstr("--model"))));
}

TEST(AuditCsv, NamingTheModelShowsAConstantForWhatItIs) {
  EXPECT_THAT(audit(kLegacy, "qwen3-30b-a3b").faults,
              Contains(HasSubstr("says 'deepseek', but the model is 'qwen3-30b-a3b'")));
  EXPECT_THAT(audit(kLegacy, "deepseek").faults, ElementsAre(HasSubstr("prompt_ms + predicted_ms")));
}

TEST(AuditCsv, AnHonestTablePasses) {
  const auto found = audit(
      "Model,TTFT (ms),prompt_ms,predicted_ms,E2E_ms\nqwen3-0.6b,415.9,412.25,2610.50,3026.4\n"
      "qwen3-0.6b,1633.0,1630.10,2655.31,4288.3\n",
      "qwen3-0.6b");
  EXPECT_THAT(found.faults, IsEmpty());
  EXPECT_THAT(found.open, IsEmpty());
  EXPECT_EQ(found.ttft, "TTFT (ms)");
}

// TTFT in seconds, rounded to milliseconds: still the sum.
TEST(AuditCsv, UnitsAndRoundingDoNotHideTheSum) {
  const auto found = audit("model,ttft_s,prompt_ms,predicted_ms\na,3.023,412.25,2610.50\nb,4.3,1630.10,2655.31\n");
  EXPECT_EQ(found.rows_summed, 2u);
}

TEST(AuditCsv, ASumThatOnlyRoundingMakesIsNone) {
  EXPECT_EQ(audit("model,ttft_ms,prompt_ms,predicted_ms\na,412,412,0.4\nb,90,90,0.3\n").rows_summed, 0u);
}

TEST(AuditCsv, WhatTheTableCannotShowStaysOpen) {
  const auto found = audit("model,ttft_ms\na,3\nb,4\n");
  EXPECT_THAT(found.faults, IsEmpty());
  EXPECT_THAT(found.open, ElementsAre(HasSubstr("prompt_ms and predicted_ms")));
  EXPECT_THAT(audit("model,tokens\na,3\nb,4\n").open, ElementsAre(HasSubstr("no column of TTFT")));
}

TEST(AuditCsv, TimesWithoutUnitOrValueAndTheWrongOrderAreFaults) {
  EXPECT_THAT(audit("model,ttft\na,3\nb,4\n").faults, Contains(HasSubstr("'ttft' names no unit")));
  EXPECT_THAT(audit("model,ttft_ms\na,0\nb,\nc,nan\n").faults,
              Contains(AllOf(HasSubstr("no time above 0 in 3 of 3 rows"), HasSubstr("line 2"))));
  EXPECT_THAT(audit("model,ttft_ms,e2e_ms\na,30,20\nb,4,9\n").faults,
              Contains(HasSubstr("line 2: 'ttft_ms' is 30 ms")));
  EXPECT_THAT(audit("ttft_ms\n3\n").faults, Contains(HasSubstr("no column says which model")));
}

TEST(AuditCsv, TheTimeOfTheWholeRequestGoesByManyNames) {
  for (const char* name : {"e2e_ms", "end_to_end_ms", "End-to-End (ms)", "end2end_ms", "latency_ms", "duration_ms",
                           "request_ms", "total_ms", "total_time_ms", "request_latency_ms"})
    EXPECT_THAT(audit("model,ttft_ms," + std::string(name) + "\na,30,20\nb,4,9\n").faults,
                Contains(HasSubstr("line 2: 'ttft_ms' is 30 ms")))
        << name;
  EXPECT_EQ(audit("model,ttft_ms,total_tokens,request_id\na,30,20,1\nb,4,9,2\n").end_to_end, std::nullopt);
}

TEST(AuditCsv, ATableWithoutRowsIsNoInput) {
  const auto table = parse_csv("model,ttft_ms\n", "t.csv");
  const auto result = audit_csv(*table, "t.csv", "");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("t.csv"), HasSubstr("no rows")));
}

}  // namespace
}  // namespace calkit::load
