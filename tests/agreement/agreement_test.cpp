// Lint and the emulated device judge the same packages apart from each other. What lint calls clean, the device loads
// and configures; what lint refuses, the device refuses too, or the rule's row says why that is lint's business alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "calkit/device/device.h"
#include "calkit/emulator/emulator.h"
#include "calkit/lint/lint.h"
#include "lint_case.h"
#include "package_edits.h"
#include "scratch_dir.h"

namespace calkit::lint {
namespace {

using testing_support::ScratchDir;

RuleInfo rule_of(const std::string& id) {
  const auto table = rules();
  return *std::find_if(table.begin(), table.end(), [&](const RuleInfo& rule) { return rule.id == id; });
}

/// Loads and configures; the device's word on the package.
Status device_says(const std::filesystem::path& package, const manifest::ServiceManifest& service) {
  CALKIT_TRY(auto device, device::Device::open("emu", emulator::entry));
  CALKIT_TRY(const auto info, device.load(package));
  static_cast<void>(info);
  CALKIT_TRY(const auto session, device.configure(service, Deadline::in(std::chrono::seconds(20))));
  static_cast<void>(session);
  return {};
}

/// Lint's verdict against the device's; empty when they agree.
std::string disagreement(const Report& report, const Status& said) {
  if (report.verdict == Verdict::kPass) {
    // What a preview rule says does not fail the package, so the device may hold either view.
    const bool preview = std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
      return finding.severity >= Severity::kError && rule_of(finding.rule).maturity == Maturity::kPreview;
    });
    const bool more_than_it_can = !said.ok() && said.error().message.find(": unsupported (") != std::string::npos;
    return said.ok() || preview || more_than_it_can ? "" : "lint passes; the device says: " + said.error().message;
  }
  if (!said.ok()) return {};
  std::string out;
  for (const auto& outcome : report.rules) {
    const bool against = outcome.status == RuleStatus::kFail || outcome.status == RuleStatus::kNotEvaluated;
    if (!against || outcome.rule.severity < Severity::kError || outcome.rule.maturity == Maturity::kPreview) continue;
    if (!outcome.rule.beyond_device.empty()) return {};  // one reason to refuse it that no device could see is enough
    out += fmt::format("{} refuses what the device takes, and its row does not say why\n", outcome.rule.id);
  }
  return out;
}

class Agreement : public testing::TestWithParam<LintCase> {};

TEST_P(Agreement, LintAndDeviceSayTheSame) {
  Scene scene = good_setup();
  GetParam().change(scene);
  if (scene.while_hashing) GTEST_SKIP() << "the file changes while lint looks at it; the device looks later";
  ScratchDir dir;
  const auto report = run_setup_in(scene, dir.path());
  ASSERT_TRUE(report.ok()) << report.error().message;
  if (std::filesystem::exists(dir / "dialects"))
    GTEST_SKIP() << "a dialect of its own; the device has the shipped ones";
  const Status said = device_says(dir / "mini.calbin", scene.service.value_or(*good_setup().service));
  EXPECT_EQ(disagreement(*report, said), "");
}

INSTANTIATE_TEST_SUITE_P(All, Agreement, testing::ValuesIn(all_cases()),
                         [](const auto& tested) { return fmt::format("{:03}", tested.index); });

/// The good package, written once and read back as the fuzz target wants it.
struct Good {
  Value document;
  std::map<std::string, std::string> files;
};
Good read_good(const std::filesystem::path& dir) {
  testing_support::good_package().write(dir);
  Good out;
  const auto paths = list_tree(dir).value();
  for (const std::string& path : paths) out.files[path] = read_file(dir / path).value();
  out.document = parse_json(out.files.at("calbin.json"), "calbin.json").value();
  out.files.erase("calbin.json");
  return out;
}

void write_edited(const std::filesystem::path& dir, const fuzz::EditedPackage& edited) {
  std::filesystem::remove_all(dir);
  for (const auto& [path, bytes] : edited.files)
    if (unsafe_path_reason(path).empty()) static_cast<void>(write_file(dir / path, bytes).ok());
  static_cast<void>(write_file(dir / "calbin.json", edited.text).ok());
}

/// The corpus of the fuzz target, and random programs of edits behind it.
std::vector<std::string> edit_programs() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(CALKIT_SOURCE_DIR "/tests/fuzz/corpus/package"))
    out.push_back(read_file(entry.path()).value());
  std::sort(out.begin(), out.end());
  std::mt19937_64 random(20261130);
  for (int i = 0; i < 400; ++i) {
    std::string program(1 + random() % 24, '\0');
    for (char& c : program) c = static_cast<char>(random());
    out.push_back(std::move(program));
  }
  return out;
}

TEST(AgreementOnEdits, LintAndDeviceSayTheSame) {
  ScratchDir dir;
  const Good good = read_good(dir / "good");
  std::size_t clean = 0, number = 0;
  for (const std::string& program : edit_programs()) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(program.data());
    write_edited(dir / "mini.calbin", fuzz::edit_package(good.document, good.files, {bytes, program.size()}));
    Inputs inputs;
    inputs.package = dir / "mini.calbin";
    inputs.service = testing_support::good_service();
    const auto report = run(inputs);
    ASSERT_TRUE(report.ok()) << report.error().message;
    clean += report->verdict == Verdict::kPass;
    EXPECT_EQ(disagreement(*report, device_says(inputs.package, *inputs.service)), "") << "program " << number << '\n'
                                                                                       << to_text(*report, false);
    ++number;
  }
  EXPECT_GT(clean, 0u);
  EXPECT_LT(clean, number);
}

}  // namespace
}  // namespace calkit::lint
