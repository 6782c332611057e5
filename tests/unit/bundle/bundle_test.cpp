#include "calkit/bundle/bundle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "calkit/base/archive.h"
#include "calkit/base/files.h"
#include "calkit/base/hash.h"

namespace calkit::bundle {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void put(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

constexpr const char* kService = R"(schema: 1
architecture: qwen3
calbin_version: 1.0.0
runtime_abi: 0.7.6
context: 64
batch: 1
vocab: 32
models: {prefill: p-prefill, decode: p-decode}
tensors: {token: "inputs[0]", position: "inputs[1]", logits: "outputs[0]"}
csr: {current: "cur_seq_len[0]", past_current: "past_kv_cur_seq_len[0]"}
)";

// `dir`/../svc.yaml and base/ are what the run was made with.
manifest::Evidence passed(const std::string& command, const std::string& calbin, const fs::path& dir) {
  manifest::Evidence r;
  r.command = command;
  r.verdict = manifest::EvidenceVerdict::kPass;
  r.summary = "fine";
  r.device.kind = command == "calbin-lint" ? "none" : "emulated";
  r.inputs = {{"calbin", "p", calbin, 1},
              {"service", "s", hash_file(dir.parent_path() / "svc.yaml")->sha256, 1},
              {"baseline", "b", hash_tree(dir.parent_path() / "base")->sha256, 1}};
  r.figures = {
      {"logits_nmse_max", 0.0, "1", 1, "x"}, {"prompts_compared", 1.0, "1", 1, "x"}, {"steps_equal", 1.0, "1", 1, "x"}};
  r.file = (dir / (command + "-20260101T000000Z-" + calbin.substr(0, 8) + ".json")).string();
  put(r.file, "{\"command\": \"" + command + "\"}\n");
  return r;
}

// A small but whole set of parts, written as text, that a test bends before it exports.
class BundleTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) /
           fmt::format("bundle-{}-{}", ::getpid(), testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    put(dir_ / "base/model-source/config.json", "{\"model_type\": \"qwen3\"}\n");
    put(dir_ / "base/model-source/manifest.json", "{}\n");
    put(dir_ / "base/model-source/tokenizer/tokenizer.json", "{\"version\": \"1.0\"}\n");
    put(dir_ / "base/model-source/LICENSE", "Apache-2.0\n");
    put(dir_ / "base/reference/prompts.jsonl", "{}\n");
    put(dir_ / "onnx/prefill.onnx", "prefill graph");
    put(dir_ / "onnx/decode.onnx", "decode graph");
    put(dir_ / "svc.yaml", kService);
    put(dir_ / "p.calbin/params/block 0.bin", std::string_view("\0\1\2\3", 4));
    seal_baseline();
    describe();
  }
  void TearDown() override { fs::remove_all(dir_); }

  void seal_baseline() {
    std::string sums;
    for (const char* file : {"model-source/LICENSE", "model-source/config.json", "model-source/manifest.json",
                             "model-source/tokenizer/tokenizer.json", "reference/prompts.jsonl"})
      sums += hash_file(dir_ / "base" / file)->sha256 + "  " + file + "\n";
    put(dir_ / "base/SHA256SUMS", sums);
  }
  void describe() {
    put(dir_ / "p.calbin/calbin.json",
        fmt::format(R"({{"schema": 1, "files": [{{"id": "b0", "path": "params/block 0.bin", "digest": "sha256:{}"}}],
 "model": {{"config_digest": "sha256:{}", "tokenizer_digest": "sha256:{}"}}, "provenance": {{"input_onnx_digest": {{"prefill": "sha256:{}", "decode": "sha256:{}"}}}}}})",
                    hash_file(dir_ / "p.calbin/params/block 0.bin")->sha256,
                    hash_file(dir_ / "base/model-source/config.json")->sha256,
                    hash_file(dir_ / "base/model-source/tokenizer/tokenizer.json")->sha256,
                    hash_file(dir_ / "onnx/prefill.onnx")->sha256, hash_file(dir_ / "onnx/decode.onnx")->sha256));
  }
  std::string package_digest() const { return hash_tree(dir_ / "p.calbin")->sha256; }

  Parts parts() {
    Parts p{dir_ / "p.calbin", dir_ / "base", dir_ / "onnx", dir_ / "svc.yaml", {}, false, {}};
    const std::string digest = package_digest();
    p.records = {passed("calbin-lint", digest, dir_ / "evidence"), passed("runner", digest, dir_ / "evidence")};
    return p;
  }
  fs::path out() const { return dir_ / "x.bundle.tar.zst"; }
  std::string refusal(const Parts& p) {
    const auto result = write_bundle(p, out());
    EXPECT_FALSE(result.ok());
    EXPECT_FALSE(fs::exists(out()));
    EXPECT_FALSE(fs::exists(out().string() + ".parts"));
    return result.ok() ? "" : result.error().message;
  }
  int shell(const std::string& command) const {
    return std::system(("cd '" + dir_.string() + "' && " + command).c_str());
  }

  fs::path dir_;
};

TEST_F(BundleTest, AGoodBundleVerifies) {
  const auto written = write_bundle(parts(), out());
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(written->contents.licence, "baseline/model-source/LICENSE");
  EXPECT_EQ(written->contents.package_sha256, package_digest());
  EXPECT_EQ(written->contents.proven.at("runner"), "satisfied");
  EXPECT_EQ(written->contents.proven.at("soak"), "missing");

  const auto verified = verify_bundle(out());
  ASSERT_TRUE(verified.ok()) << verified.error().message;
  EXPECT_THAT(verified->findings, IsEmpty());
  EXPECT_EQ(verified->bundle_sha256, written->bundle.sha256);
  EXPECT_EQ(verified->bytes, written->unpacked_bytes);
  EXPECT_FALSE(fs::exists(out().string() + ".parts"));
}

TEST_F(BundleTest, TwoExportsAreByteEqualWhateverTimesAndModesTheFilesHave) {
  auto p = parts();
  ASSERT_TRUE(write_bundle(p, out()).ok());
  const auto first = hash_file(out())->sha256;
  for (const auto& entry : fs::recursive_directory_iterator(dir_)) {
    if (!entry.is_regular_file()) continue;
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(5000));
    ::chmod(entry.path().c_str(), 0755);
  }
  const auto other = dir_ / "other name.bundle.tar.zst";
  ASSERT_TRUE(write_bundle(p, other).ok());
  EXPECT_EQ(hash_file(other)->sha256, first);
}

TEST_F(BundleTest, GnuTarAndSha256sumAcceptIt) {
  ASSERT_TRUE(write_bundle(parts(), out()).ok());
  EXPECT_EQ(
      shell("mkdir un && tar --zstd -xf x.bundle.tar.zst -C un && cd un && sha256sum --strict --quiet -c SHA256SUMS"),
      0);
  EXPECT_EQ(shell("cmp p.calbin/calbin.json un/package/calbin.json && cmp svc.yaml un/service.yaml"), 0);
}

TEST_F(BundleTest, RecordsOfAnotherBuildStayOutAndAreNamed) {
  auto p = parts();
  p.records.push_back(passed("soak", std::string(64, 'd'), dir_ / "evidence"));
  const auto written = write_bundle(p, out());
  ASSERT_TRUE(written.ok()) << written.error().message;
  ASSERT_EQ(written->contents.left_out.size(), 1u);
  EXPECT_THAT(written->contents.left_out.front().first, HasSubstr("soak-"));
  EXPECT_EQ(written->contents.proven.at("soak"), "stale");
}

TEST_F(BundleTest, APackageThatWasNotProvenIsRefusedUnlessSaidOtherwise) {
  auto p = parts();
  for (auto& r : p.records) r.inputs.front().sha256 = std::string(64, 'd');
  EXPECT_THAT(refusal(p), HasSubstr("runner is stale"));
  p.allow_unproven = true;
  const auto written = write_bundle(p, out());
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_TRUE(written->contents.unproven_allowed);
  EXPECT_TRUE(verify_bundle(out())->contents->unproven_allowed);
}

TEST_F(BundleTest, AFileThatIsNoServiceManifestIsRefused) {
  put(dir_ / "svc.yaml", "schema: 1\n");
  EXPECT_THAT(refusal(parts()), HasSubstr("svc.yaml"));
}

TEST_F(BundleTest, ProofUnderAnotherServiceManifestIsNoProof) {
  const auto p = parts();
  put(dir_ / "svc.yaml", std::string("# edited after the runs\n") + kService);
  const std::string why = refusal(p);
  EXPECT_THAT(why, HasSubstr("calbin-lint is stale"));
  EXPECT_THAT(why, HasSubstr("runner is stale"));
}

TEST_F(BundleTest, APackageOfAnotherModelIsRefused) {
  put(dir_ / "base/model-source/config.json", "{\"model_type\": \"other\"}\n");
  seal_baseline();
  EXPECT_THAT(refusal(parts()), HasSubstr("made from another model"));
}

TEST_F(BundleTest, APackageOfAnotherTokenizerIsRefused) {
  put(dir_ / "base/model-source/tokenizer/tokenizer.json", "{}\n");
  seal_baseline();
  EXPECT_THAT(refusal(parts()), HasSubstr("its tokenizer_digest is"));
}

TEST_F(BundleTest, ATamperedBaselineIsRefused) {
  put(dir_ / "base/reference/prompts.jsonl", "{\"x\": 1}\n");
  EXPECT_THAT(refusal(parts()), HasSubstr("baseline/reference/prompts.jsonl: sha256 is"));
}

TEST_F(BundleTest, AFileTheBaselineDoesNotListIsRefused) {
  put(dir_ / "base/reference/notes.txt", "hi");
  EXPECT_THAT(refusal(parts()), HasSubstr("notes.txt is not listed"));
}

TEST_F(BundleTest, ATamperedPackageIsRefused) {
  put(dir_ / "p.calbin/params/block 0.bin", "junk");
  EXPECT_THAT(refusal(parts()), HasSubstr("package/params/block 0.bin: sha256 is"));
}

TEST_F(BundleTest, GraphsThePackageWasNotMadeFromAreRefused) {
  put(dir_ / "onnx/decode.onnx", "another graph");
  EXPECT_THAT(refusal(parts()), HasSubstr("decode graph"));
}

TEST_F(BundleTest, MissingPartsAreRefusedByName) {
  auto p = parts();
  fs::remove_all(dir_ / "onnx");
  EXPECT_THAT(refusal(p), HasSubstr("the onnx is no folder"));
}

TEST_F(BundleTest, ALinkInPlaceOfAFileIsRefused) {
  auto p = parts();
  fs::create_symlink(dir_ / "svc.yaml", dir_ / "onnx/link.bin");
  EXPECT_THAT(refusal(p), HasSubstr("link.bin"));
}

TEST_F(BundleTest, AnotherEndingIsAUsageError) {
  const auto result = write_bundle(parts(), dir_ / "x.zip");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
}

TEST_F(BundleTest, ABundleInsideOneOfItsPartsIsRefusedBeforeAnythingIsWritten) {
  auto p = parts();
  p.records_dir = dir_ / "evidence";
  for (const char* folder : {"p.calbin", "base", "base/reference", "onnx", "evidence", "svc/../onnx"}) {
    const auto result = write_bundle(p, dir_ / folder / "x.bundle.tar.zst");
    ASSERT_FALSE(result.ok()) << folder;
    EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(result.error().message, HasSubstr("lies inside")) << folder;
    EXPECT_FALSE(fs::exists(dir_ / folder / "x.bundle.tar.zst.parts"));
  }
}

TEST_F(BundleTest, AFailedExportKeepsTheOldBundle) {
  ASSERT_TRUE(write_bundle(parts(), out()).ok());
  const auto before = hash_file(out())->sha256;
  put(dir_ / "p.calbin/params/block 0.bin", "junk");
  EXPECT_FALSE(write_bundle(parts(), out()).ok());
  EXPECT_EQ(hash_file(out())->sha256, before);
}

// Unpacks a good bundle, changes it, packs it again with our own archiver.
class BadBundleTest : public BundleTest {
 protected:
  void SetUp() override {
    BundleTest::SetUp();
    ASSERT_TRUE(write_bundle(parts(), out()).ok());
    ASSERT_EQ(shell("mkdir un && tar --zstd -xf x.bundle.tar.zst -C un"), 0);
  }
  std::vector<std::string> findings() {
    EXPECT_TRUE(write_tar_zst(out(), dir_ / "un", *list_tree(dir_ / "un")).ok());
    const auto report = verify_bundle(out());
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    return report.ok() ? report->findings : std::vector<std::string>{};
  }
};

TEST_F(BadBundleTest, RepackedUnchangedItStillVerifies) {
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(BadBundleTest, AChangedFileIsNamed) {
  put(dir_ / "un/onnx/prefill.onnx", "prefill grapX");
  EXPECT_THAT(findings(), Contains(HasSubstr("onnx/prefill.onnx: sha256 is")));
}

TEST_F(BadBundleTest, AMissingFileIsNamed) {
  fs::remove(dir_ / "un/service.yaml");
  EXPECT_THAT(findings(), Contains(HasSubstr("service.yaml is missing")));
}

TEST_F(BadBundleTest, AnExtraFileIsNamedByBothLists) {
  put(dir_ / "un/package/extra.bin", "x");
  const auto found = findings();
  EXPECT_THAT(found, Contains(HasSubstr("package/extra.bin is not listed in SHA256SUMS")));
  EXPECT_THAT(found, Contains(HasSubstr("package/extra.bin is not listed in bundle.json")));
}

TEST_F(BadBundleTest, AChangedFileWithAForgedListIsStillFound) {
  put(dir_ / "un/onnx/prefill.onnx", "prefill grapX");
  ASSERT_EQ(shell("cd un && find . -type f ! -name SHA256SUMS -printf '%P\\n' | LC_ALL=C sort | xargs -d '\\n' "
                  "sha256sum > ../s && mv ../s SHA256SUMS"),
            0);
  const auto found = findings();
  EXPECT_THAT(found, Contains(HasSubstr("bundle.json says")));
  EXPECT_THAT(found, Contains(HasSubstr("compiled from other graphs")));
}

TEST_F(BadBundleTest, CrLfInTheListIsNamedAsSuch) {
  ASSERT_EQ(shell("sed -i 's/$/\\r/' un/SHA256SUMS"), 0);
  EXPECT_THAT(findings(), Contains(HasSubstr("CR LF")));
}

TEST_F(BadBundleTest, ABrokenManifestIsAFinding) {
  put(dir_ / "un/bundle.json", "{\"schema\": \"calkit.bundle/2\"}");
  EXPECT_THAT(findings(), Contains(HasSubstr("calkit.bundle/1")));
}

TEST_F(BadBundleTest, ATruncatedArchiveIsUnreadable) {
  const auto size = fs::file_size(out());
  for (const auto cut : {size - 1, size / 2, std::uintmax_t{10}, std::uintmax_t{0}}) {
    ASSERT_TRUE(write_bundle(parts(), out()).ok());
    fs::resize_file(out(), cut);
    const auto report = verify_bundle(out());
    if (report.ok()) {
      EXPECT_FALSE(report->findings.empty()) << cut;
    } else {
      EXPECT_EQ(report.error().kind, ErrorKind::kInput) << cut;
    }
  }
}

// Exit 1 or 3, never a pass: each of these is silently passed over by a reader that stops at the end of the archive.
TEST_F(BadBundleTest, WhatFollowsTheArchiveIsNeverPassedOver) {
  const char* appended[] = {
      "tar --zstd -cf more.zst svc.yaml && cat more.zst >> x.bundle.tar.zst",       // another archive, own frame
      "echo hidden >> x.bundle.tar.zst",                                            // plain bytes
      "echo hidden | zstd -q >> x.bundle.tar.zst",                                  // a frame that is no tar
      "head -c 10000 /dev/zero | zstd -q >> x.bundle.tar.zst",                      // a frame of zeros
      "printf '\\120\\052\\115\\030\\004\\000\\000\\000hide' >> x.bundle.tar.zst",  // a skippable frame
      "zstd -qdf x.bundle.tar.zst -o t && tar -cf - svc.yaml >> t && zstd -qf t -o x.bundle.tar.zst",  // in one frame
      "zstd -qdf x.bundle.tar.zst -o t && echo hidden >> t && zstd -qf t -o x.bundle.tar.zst",
  };
  for (const char* command : appended) {
    ASSERT_TRUE(write_bundle(parts(), out()).ok());
    ASSERT_EQ(shell(command), 0) << command;
    const auto report = verify_bundle(out());
    EXPECT_TRUE(!report.ok() || !report->findings.empty()) << command;
    if (!report.ok()) {
      EXPECT_EQ(report.error().kind, ErrorKind::kInput) << command;
    }
  }
}

TEST_F(BadBundleTest, UnsafePathsAndLinksAreRefused) {
  ASSERT_EQ(shell("tar --zstd -P -cf up.bundle.tar.zst --transform 's,^svc,../svc,' svc.yaml"), 0);
  EXPECT_FALSE(verify_bundle(dir_ / "up.bundle.tar.zst").ok());
  ASSERT_EQ(shell("ln -s /etc/passwd un/pw && tar --zstd -cf link.bundle.tar.zst -C un ."), 0);
  EXPECT_FALSE(verify_bundle(dir_ / "link.bundle.tar.zst").ok());
  ASSERT_EQ(
      shell("tar -cf twice.tar svc.yaml && tar -rf twice.tar svc.yaml && zstd -q twice.tar -o twice.bundle.tar.zst"),
      0);
  EXPECT_FALSE(verify_bundle(dir_ / "twice.bundle.tar.zst").ok());
}

TEST(Sums, TheListReadsAsWrittenBySha256sum) {
  const std::string a(64, 'a'), b(64, 'b');
  const auto sums = parse_sums(a + "  a b.txt\n" + b + "  sub/\xc3\xbc.txt\n", "SHA256SUMS");
  ASSERT_TRUE(sums.ok()) << sums.error().message;
  EXPECT_EQ(sums->at("a b.txt"), a);
  EXPECT_EQ(sums->at("sub/\xc3\xbc.txt"), b);
}

TEST(Sums, BadLinesAreRefusedByNumber) {
  const std::string a(64, 'a');
  for (const std::string& text : {a + "  x", a + " x\n", "zz" + a.substr(2) + "  x\n", a + "  ../x\n", a + "  /x\n",
                                  a + "  x\n" + a + "  x\n", a + "  \n", std::string("\n")}) {
    const auto sums = parse_sums(text, "S");
    ASSERT_FALSE(sums.ok()) << text;
    EXPECT_THAT(sums.error().message, HasSubstr("line ")) << text;
  }
}

TEST(BundleManifest, ItReadsBackAsItWasWritten) {
  Contents c;
  c.package_sha256 = std::string(64, 'a');
  c.baseline_sha256 = std::string(64, 'b');
  c.onnx_sha256 = std::string(64, 'c');
  c.proven["runner"] = "satisfied";
  c.left_out = {{"soak-x.json", "made with another package"}};
  c.files = {{"a", "package", std::string(64, 'd'), 3}, {"b", "evidence", std::string(64, 'e'), 0}};
  const std::string text = to_json(to_value(c));
  const auto back = parse_contents(text, "bundle.json");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(to_value(*back)), text);
}

TEST(BundleManifest, UnknownKeysRolesAndUnsortedPathsAreRefused) {
  Contents c;
  c.package_sha256 = c.baseline_sha256 = c.onnx_sha256 = std::string(64, 'a');
  c.files = {{"b", "package", std::string(64, 'd'), 3}, {"a", "package", std::string(64, 'e'), 0}};
  EXPECT_FALSE(parse_contents(to_json(to_value(c)), "b").ok());
  c.files = {{"a", "secret", std::string(64, 'd'), 3}};
  EXPECT_FALSE(parse_contents(to_json(to_value(c)), "b").ok());
  c.files = {{"../a", "package", std::string(64, 'd'), 3}};
  EXPECT_FALSE(parse_contents(to_json(to_value(c)), "b").ok());
  c.files = {};
  Value document = to_value(c);
  document.set("extra", 1);
  EXPECT_FALSE(parse_contents(to_json(document), "b").ok());
}

}  // namespace
}  // namespace calkit::bundle
