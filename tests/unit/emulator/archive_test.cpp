/// A package runs from an archive as it does from its folder: equal logits, bit for bit.
#include <cstdlib>
#include <fstream>

#include "harness.h"

namespace calkit::emulator {
namespace {

using testing_support::ScratchDir;

/// Logits of a prefill of three tokens and of a decode step after it.
std::vector<float> answers(const std::filesystem::path& path) {
  AbiDevice device;
  EXPECT_EQ(device.load(path), 0u) << device.status.message;
  if (device.package == nullptr) return {};
  EXPECT_EQ(device.configure(), 0u) << device.status.message;
  std::vector<float> out;
  {
    const AbiSlot slot(device);
    AbiModel prefill(device, "mini-prefill"), decode(device, "mini-decode");
    EXPECT_EQ(prefill.run({3, 9, 5}, 0), 0u) << device.status.message;
    EXPECT_EQ(decode.run({7}, 3), 0u) << device.status.message;
    out = prefill.output();
    const std::vector<float> more = decode.output();
    out.insert(out.end(), more.begin(), more.end());
  }
  device.unload();
  return out;
}

TEST(Archive, APackageRunsFromATarAsFromItsFolder) {
  const ScratchDir dir;
  testing_support::good_package().write(dir / "mini.calbin");
  const std::string in = "cd '" + dir.path().string() + "' && ";
  ASSERT_EQ(std::system((in + "tar -cf t.tar mini.calbin && zstd -q t.tar -o t.tar.zst").c_str()), 0);
  const auto want = answers(dir / "mini.calbin");
  ASSERT_FALSE(want.empty());
  EXPECT_EQ(answers(dir / "t.tar"), want);
  EXPECT_EQ(answers(dir / "t.tar.zst"), want);
}

TEST(Archive, AFlippedByteIsRefusedInEveryForm) {
  const ScratchDir dir;
  testing_support::good_package().write(dir / "mini.calbin");
  {
    std::fstream file(dir / "mini.calbin/params/blk0.bin", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(99).put('\x7f');
  }
  const std::string in = "cd '" + dir.path().string() + "' && ";
  ASSERT_EQ(std::system((in + "tar -cf t.tar mini.calbin && zstd -q t.tar -o t.tar.zst").c_str()), 0);
  for (const char* form : {"mini.calbin", "t.tar", "t.tar.zst"}) {
    AbiDevice device;
    EXPECT_NE(device.load(dir / form), 0u) << form;
    EXPECT_NE(std::string(device.status.message).find("sha256:"), std::string::npos) << device.status.message;
  }
}

}  // namespace
}  // namespace calkit::emulator
