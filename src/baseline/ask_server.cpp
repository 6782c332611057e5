// Greedy texts from an OpenAI-compatible service.
#include <fmt/format.h>

#include <algorithm>

#include "calkit/base/files.h"
#include "calkit/base/process.h"
#include "calkit/base/text.h"
#include "calkit/baseline/import.h"
#include "calkit/frozen/writer.h"
#include "calkit/net/http.h"
#include "check.h"

namespace calkit::baseline {
namespace {

/// What a service said to one prompt: an answer, or why it has none.
struct Reply {
  frozen::TextAnswer answer;
  std::string refusal;
  std::string model, server;
};

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

Value body_of(const ServerOptions& options, const frozen::ReferenceItem& item) {
  Value body = Value::object({{"prompt", options.as_text ? Value(item.prompt.text) : Value::list(item.ids)},
                              {"max_tokens", item.greedy.size()},
                              {"temperature", 0},
                              {"top_p", 1},
                              {"seed", 0},
                              {"stream", false}});
  if (!options.model.empty()) body.set("model", options.model);
  return body;
}

Status read_usage(const Cursor& root, frozen::TextAnswer& answer) {
  const auto usage = root.find("usage");
  if (!usage) return {};
  for (const auto& [key, into] :
       {std::pair{"prompt_tokens", &answer.prompt_tokens}, std::pair{"completion_tokens", &answer.completion_tokens}})
    if (const auto at = usage->find(key)) {
      CALKIT_TRY(*into, at->as_int(0, std::int64_t{1} << 31));
    }
  return {};
}

Result<Reply> read_completion(const net::HttpResponse& response, const std::string& url) {
  Reply reply;
  CALKIT_TRY(const Value document, parse_json(response.body, url), "reading the service's answer");
  const Cursor root(document, url);
  CALKIT_TRY(const Cursor choices_at, root.at("choices"));
  CALKIT_TRY(const auto choices, choices_at.items());
  if (choices.size() != 1) return choices_at.error(fmt::format("{} choices", choices.size()), "1");
  CALKIT_TRY(reply.answer.text, choices.front().string("text"));
  if (const auto at = choices.front().find("finish_reason")) {
    CALKIT_TRY(reply.answer.finish_reason, at->as_string());
  }
  if (const auto at = root.find("model")) {
    CALKIT_TRY(reply.model, at->as_string());
  }
  CALKIT_CHECK_OK(read_usage(root, reply.answer));
  reply.server = response.server;
  return reply;
}

/// Statuses that are about the service or the asker, never about one prompt: no answer of the others would be whole.
struct WholeFailure {
  int status;
  ErrorKind kind;
  std::string_view hint;
};
constexpr std::string_view kKeyHint = "give a key that the service accepts (--api-key-file)";
constexpr std::string_view kAddressHint =
    "check the address (--server, without /v1/completions) and the model's name (--model)";
constexpr std::string_view kLaterHint = "the service has no time now; try again later";
constexpr WholeFailure kWholeFailures[] = {
    {401, ErrorKind::kInput, kKeyHint},     {403, ErrorKind::kInput, kKeyHint},
    {404, ErrorKind::kInput, kAddressHint}, {405, ErrorKind::kInput, kAddressHint},
    {408, ErrorKind::kDevice, kLaterHint},  {429, ErrorKind::kDevice, kLaterHint}};

Result<Reply> ask(const ServerOptions& options, const frozen::ReferenceItem& item) {
  net::HttpRequest request;
  request.url = without_slash(options.url) + "/v1/completions";
  request.body = to_json(body_of(options, item), {true, -1});
  request.timeout = options.timeout;
  if (!options.api_key.empty()) request.headers.push_back("Authorization: Bearer " + options.api_key);
  CALKIT_TRY(const auto response, net::http_exchange(request));
  Reply reply;
  const std::string said = printable(response.body, 200);
  for (const WholeFailure& failure : kWholeFailures)
    if (response.status == failure.status)
      return Error(failure.kind, fmt::format("{}: status {}: {}", request.url, response.status, said),
                   std::string(failure.hint));
  if (response.status >= 400 && response.status < 500) {
    reply.refusal = fmt::format("status {}: {}", response.status, said);
  } else if (response.status != 200) {
    return Error(ErrorKind::kDevice, fmt::format("{}: status {}: {}", request.url, response.status, said));
  } else {
    CALKIT_TRY(reply, read_completion(response, request.url));
  }
  reply.answer.id = item.prompt.id;
  return reply;
}

Value describe(const ServerOptions& options, const Reply& last, const frozen::ModelSource& source) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
  return Value::object({{"schema", "calkit.reference-source/1"},
                        {"kind", "server"},
                        {"url", options.url},
                        {"server", or_null(last.server)},
                        {"model_asked", or_null(options.model)},
                        {"model_answered", or_null(last.model)},
                        {"prompts_sent_as", options.as_text ? "text" : "token ids"},
                        {"model_sha256", "sha256:" + source.model_sha256},
                        {"sampling", Value::object({{"temperature", 0}, {"top_p", 1}, {"seed", 0}})}});
}

Status write(const ServerOptions& options, const frozen::TextReference& texts) {
  CALKIT_TRY(StagedDir stage, StagedDir::create(options.out), "creating the reference's folder");
  CALKIT_CHECK_OK(frozen::write_texts(stage.path(), texts), "writing the texts");
  CALKIT_CHECK_OK(frozen::seal(stage.path()), "sealing the reference");
  CALKIT_CHECK_OK(stage.commit(), "committing the reference");
  return {};
}

}  // namespace

Result<ImportReport> ask_server(const ServerOptions& options) {
  CALKIT_CHECK_OK(check_target(options.out));
  CALKIT_CHECK_OK(frozen::require_verified(options.baseline));
  CALKIT_TRY(const auto baseline, frozen::read_reference(options.baseline), "reading the baseline");
  CALKIT_TRY(const auto source, frozen::read_model_source(options.baseline), "reading the baseline");
  frozen::TextReference texts;
  Reply last;
  for (const auto& item : baseline.items) {
    if (interrupted()) return interrupted_error();
    if (item.greedy.empty()) continue;  // no ids: nothing was computed here either
    CALKIT_TRY(Reply reply, ask(options, item), "asking for prompt " + item.prompt.id);
    if (!reply.refusal.empty()) {
      texts.refused.push_back({item.prompt.id, item.prompt.kind, std::nullopt, reply.refusal});
      continue;
    }
    texts.answers.push_back(reply.answer);
    last = std::move(reply);
  }
  if (texts.answers.empty() && texts.refused.empty())
    return input_error(options.baseline.string(), "prompts", "none with token ids", "at least one to ask for");
  if (texts.answers.empty())
    return Error(ErrorKind::kInput,
                 fmt::format("{} refused every prompt, first with {}", options.url, texts.refused.front().reason),
                 options.as_text ? "" : "if the service takes no token ids, send texts (--as-text)");
  texts.source = describe(options, last, source);
  CALKIT_CHECK_OK(write(options, texts));
  ImportReport report;
  report.prompts = texts.answers.size();
  report.refused = texts.refused.size();
  report.source =
      fmt::format("service {} ({})", options.url, last.model.empty() ? "no model named" : printable(last.model, 200));
  if (options.as_text)
    report.notes.push_back("texts were sent: whether the service added special tokens is known only from its counts");
  return report;
}

}  // namespace calkit::baseline
