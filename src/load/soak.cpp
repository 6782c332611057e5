#include "calkit/load/soak.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tokens.h"

namespace calkit::load {
namespace {

// Rows are in the file as soon as they are measured, so that a killed soak leaves a readable series under FILE.partial.
class CsvFile {
 public:
  static Result<CsvFile> create(const std::filesystem::path& target) {
    CsvFile file;
    file.target_ = target;
    file.partial_ = target.string() + ".partial";
    file.fd_ = ::open(file.partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file.fd_ < 0) return file.failed("cannot create");
    CALKIT_CHECK_OK(file.append(csv_header()));
    return file;
  }
  CsvFile(CsvFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), target_(std::move(other.target_)), partial_(std::move(other.partial_)) {}
  ~CsvFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  Status append(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::write(fd_, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failed("cannot write");
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
  }
  Status commit() {
    if (::fsync(fd_) != 0) return failed("cannot sync");
    if (::rename(partial_.c_str(), target_.c_str()) != 0) return failed("cannot rename");
    return {};
  }

 private:
  CsvFile() = default;
  Error failed(std::string_view what) const {
    return Error(ErrorKind::kIo, fmt::format("{}: {}: {}", partial_.string(), what, std::strerror(errno)));
  }
  int fd_ = -1;
  std::filesystem::path target_, partial_;
};

// The canary prompts: short ones of several lengths, tile edges among them, as far as the package takes them.
Result<std::vector<std::int32_t>> ask_canaries(device::TokenModel& model, const SoakOptions& options) {
  constexpr std::int64_t kLengths[] = {1, 16, 17, 33, 5, 64};
  const auto facts = model.facts();
  std::vector<std::int32_t> answer;
  for (std::uint64_t i = 0; i < options.prompts; ++i) {
    if (interrupted()) return interrupted_error();
    const std::int64_t room =
        std::min(facts.max_prefill_tokens, facts.context - static_cast<std::int64_t>(options.output_tokens));
    const std::int64_t length =
        std::clamp<std::int64_t>(kLengths[i % std::size(kLengths)], 1, std::max<std::int64_t>(room, 1));
    const auto prompt = random_tokens(options.seed, length, facts.vocab, i);
    CALKIT_TRY(const auto handle, model.start());
    CALKIT_TRY(auto output, model.prefill(handle, prompt, Deadline::in(options.timeout)));
    for (std::uint64_t n = 0; n < options.output_tokens; ++n) {
      const auto token = greedy_token(output.logits);
      if (!token)
        return Error(ErrorKind::kDevice, fmt::format("canary prompt {}: the logits of token {} are not finite", i, n));
      answer.push_back(*token);
      if (n + 1 == options.output_tokens) break;
      CALKIT_TRY(output, model.decode(handle, *token, Deadline::in(options.timeout)));
    }
    model.finish(handle);
  }
  return answer;
}

Result<CycleEnd> one_cycle(device::Device& device, const manifest::ServiceManifest& service, const SoakOptions& options,
                           device::PackageInfo& info) {
  CycleEnd end;
  CALKIT_TRY(info, device.load(options.package), "loading the package");
  {
    CALKIT_TRY(auto session, device.configure(service, Deadline::in(options.timeout)), "configuring the package");
    device::SessionModel model(session);
    CALKIT_TRY(end.tokens, ask_canaries(model, options));
  }
  CALKIT_CHECK_OK(device.unload(), "unloading the package");
  CALKIT_TRY(end.device, device.counters(), "reading the device's counters");
  return end;
}

}  // namespace

Result<SoakReport> run_soak(const SoakOptions& options) {
  if (options.plan.cycles < 1) return Error(ErrorKind::kUsage, "--cycles is 0; at least 1");
  if (options.prompts < 1 || options.output_tokens < 1)
    return Error(ErrorKind::kUsage, "a cycle needs at least one prompt and one token");
  SoakReport report;
  report.plan = options.plan;
  CALKIT_TRY(const auto service, manifest::read_service(options.service), "reading --service");
  CALKIT_TRY(auto device, device::Device::open(options.device, options.builtin), "opening the device");
  report.runtime = device.info();
  std::optional<CsvFile> csv;
  if (options.csv) {
    CALKIT_TRY(auto file, CsvFile::create(*options.csv), "opening --csv");
    csv.emplace(std::move(file));
  }
  const auto cycle = [&] { return one_cycle(device, service, options, report.package); };
  const auto keep = [&](const SoakSample& sample) -> Status { return csv ? csv->append(csv_row(sample)) : Status(); };
  CALKIT_TRY(report.result, run_cycles(options.plan, cycle, quiescent_usage, keep));
  if (csv) CALKIT_CHECK_OK(csv->commit(), "writing --csv");
  return report;
}

}  // namespace calkit::load
