#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/base/paths.h"
#include "calkit/base/text.h"
#include "calkit/baseline/import.h"
#include "device_options.h"
#include "freeze_baseline.h"

namespace calkit::cli {
namespace {

struct Options {
  std::string dump, dtype, out;
  baseline::ServerOptions server;
  std::string url, baseline, key_file;
  double timeout_s = 120;
};

Status check(const Options& opt) {
  if (opt.dump.empty() == opt.url.empty())
    return Error(ErrorKind::kUsage, "one of --dump and --server is needed", "give one of them");
  if (!opt.url.empty() && opt.baseline.empty())
    return Error(ErrorKind::kUsage, "--server needs --baseline", "name the baseline whose prompts are asked");
  for (const std::string& input : {opt.dump, opt.baseline})
    if (!input.empty() && (lies_inside(opt.out, input) || lies_inside(input, opt.out)))
      return Error(ErrorKind::kUsage, fmt::format("--out is '{}', which is or holds an input", printable(opt.out, 200)),
                   "name another folder");
  return {};
}

// It goes into a header of each request. The message shows none of it.
Result<std::string> read_api_key(const std::string& file) {
  CALKIT_TRY(const std::string text, read_file(file, 4096), "reading --api-key-file");
  std::string key = split(text, '\n').front();
  if (key.ends_with('\r')) key.pop_back();
  const auto bad = std::find_if(key.begin(), key.end(), [](char c) { return c < '!' || c > '~'; });
  if (!key.empty() && bad == key.end()) return key;
  return input_error(file, "line 1",
                     key.empty() ? "no key" : fmt::format("byte {} that no key has", bad - key.begin() + 1),
                     "ASCII characters from ! to ~, without blanks", "put the bearer token alone on the first line");
}

Result<baseline::ImportReport> import(Options& opt, manifest::Evidence& evidence) {
  const std::string& input = opt.dump.empty() ? opt.baseline : opt.dump;
  CALKIT_TRY(auto folder, manifest::evidence_file(opt.dump.empty() ? "baseline" : "dump", input));
  evidence.inputs.push_back(std::move(folder));
  if (!opt.dump.empty()) return baseline::import_dump(opt.dump, opt.dtype, opt.out);
  if (!opt.key_file.empty()) {
    CALKIT_TRY(opt.server.api_key, read_api_key(opt.key_file));
  }
  opt.server.url = opt.url;
  opt.server.baseline = opt.baseline;
  opt.server.out = opt.out;
  CALKIT_TRY(const auto timeout, timeout_from_seconds(opt.timeout_s));
  opt.server.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  return baseline::ask_server(opt.server);
}

Result<ExitCode> run(Options opt, const Common& common, Streams io) {
  CALKIT_CHECK_OK(check(opt));
  auto evidence = manifest::start_evidence("baseline-reference", common.argv);
  CALKIT_TRY(const auto report, import(opt, evidence));
  CALKIT_TRY(auto written, manifest::evidence_file("reference", opt.out));
  evidence.outputs.push_back(std::move(written));
  evidence.figures = {manifest::counted("prompts", report.prompts, "prompts", "answers of the source"),
                      manifest::counted("prompts_refused", report.refused, "prompts", "the source gave a reason"),
                      manifest::counted("greedy_steps", report.greedy_steps, "steps", "0 where only texts are known")};
  evidence.verdict = manifest::EvidenceVerdict::kPass;
  evidence.summary = fmt::format("{} answers of {}{}", report.prompts, report.source,
                                 report.refused > 0 ? fmt::format(", {} refused", report.refused) : "");
  evidence.details = Value::object({{"schema", "calkit.import-reference/1"},
                                    {"source", report.source},
                                    {"dtype", report.dtype.empty() ? Value() : Value(report.dtype)},
                                    {"prompts", report.prompts},
                                    {"refused", report.refused},
                                    {"greedy_steps", report.greedy_steps},
                                    {"notes", Value::list(report.notes)}});
  std::string text = fmt::format("source:    {}\nreference: {}\n", report.source, opt.out);
  for (const std::string& note : report.notes) text += "note:      " + note + "\n";
  return finish(common, io, std::move(evidence), text);
}

}  // namespace

void add_freeze_reference(CLI::App& group) {
  auto opt = std::make_shared<Options>();
  CLI::App* app = add_command(
      group, "reference", "Take over answers that somebody else computed: a peer's dump, or a running service.",
      "  calkit freeze-baseline reference --dump transformers-dump --out peer\n"
      "  calkit freeze-baseline reference --server http://localhost:8080 --baseline baseline --out service\n"
      "  calkit freeze-baseline compare baseline peer",
      [opt](const Common& common, Streams io) { return run(*opt, common, io); });
  app->add_option("--dump", opt->dump, "folder that tools/peers/transformers_dump.py wrote")->type_name("DIR");
  app->add_option("--dtype", opt->dtype, "of the dump, where it holds both: fp32 or bf16")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->type_name("T");
  app->add_option("--server", opt->url, "address of an OpenAI-compatible service, asked for greedy texts")
      ->type_name("URL");
  app->add_option("--baseline", opt->baseline, "the baseline whose prompts the service is asked")->type_name("DIR");
  app->add_option("--model", opt->server.model, "model name to send to the service")->type_name("NAME");
  app->add_option("--api-key-file", opt->key_file,
                  "file with the bearer token for the service; the token is written nowhere")
      ->type_name("FILE");
  app->add_flag("--as-text", opt->server.as_text, "send the prompts' texts instead of their token ids");
  app->add_option("--timeout", opt->timeout_s, "limit of one answer")->type_name("SECONDS")->capture_default_str();
  app->add_option("--out", opt->out, "folder to write; an earlier reference in it is replaced")
      ->type_name("DIR")
      ->required();
}

}  // namespace calkit::cli
