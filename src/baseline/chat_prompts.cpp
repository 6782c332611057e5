#include "chat_prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "calkit/hf/chat_template.h"

namespace calkit::baseline {
namespace {

std::string date_text(std::int64_t seconds) {
  using namespace std::chrono;
  const year_month_day day{floor<days>(sys_seconds{std::chrono::seconds{seconds}})};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || text.front() == '-' || read.ec != std::errc() || read.ptr != text.data() + text.size())
    return std::nullopt;
  return out;
}

std::optional<std::int64_t> parse_day(const std::string& text) {
  using namespace std::chrono;
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto y = number(std::string_view(text).substr(0, 4));
  const auto m = number(std::string_view(text).substr(5, 2));
  const auto d = number(std::string_view(text).substr(8, 2));
  if (!y || !m || !d) return std::nullopt;
  const year_month_day date{year{static_cast<int>(*y)}, month{static_cast<unsigned>(*m)},
                            day{static_cast<unsigned>(*d)}};
  if (!date.ok()) return std::nullopt;
  return sys_seconds{sys_days{date}}.time_since_epoch().count();
}

}  // namespace

Result<std::optional<ChatClock>> parse_chat_clock(const std::string& date, const std::string& source_date_epoch) {
  if (!date.empty()) {
    const auto seconds = parse_day(date);
    if (!seconds || *seconds < -30610224000)  // the year 1000: earlier ones are printed in different ways
      return Error{ErrorKind::kUsage,
                   fmt::format("--date: found '{}'; allowed: a day from 1000-01-01 to 9999-12-31", date)};
    return std::optional(ChatClock{*seconds, "--date"});
  }
  if (source_date_epoch.empty()) return std::optional<ChatClock>();
  const auto seconds = number(source_date_epoch);
  if (!seconds || *seconds > 253402300799)
    return Error{ErrorKind::kUsage,
                 fmt::format("SOURCE_DATE_EPOCH: found '{}'; allowed: whole seconds since 1970, up to the "
                             "year 9999",
                             source_date_epoch)};
  return std::optional(ChatClock{*seconds, "SOURCE_DATE_EPOCH"});
}

Result<Value> render_chat_prompts(FreezeOptions& options) {
  const auto is_chat = [](const frozen::Prompt& prompt) { return prompt.chat.has_value(); };
  if (std::none_of(options.prompts.begin(), options.prompts.end(), is_chat)) return Value();
  CALKIT_TRY(const auto found, hf::ChatTemplate::find(options.model_dir));
  if (!found)
    return input_error(options.model_dir.string(), {}, "no chat template, but prompts with messages",
                       "chat_template.jinja, or chat_template in tokenizer_config.json",
                       "give texts instead of messages, or add the model's template to the folder");
  std::optional<std::int64_t> clock;
  if (options.clock) clock = options.clock->seconds;
  bool read = false;
  std::uint64_t rendered = 0;
  for (frozen::Prompt& prompt : options.prompts) {
    if (!prompt.chat) continue;
    CALKIT_TRY(auto made, found->render(*prompt.chat, clock), fmt::format("rendering prompt '{}'", prompt.id));
    if (!prompt.text.empty() && prompt.text != made.text)
      return input_error("prompts", "/text",
                         fmt::format("a text in prompt '{}' that its messages do not give", prompt.id),
                         "messages, or a text, or both as a frozen baseline of this model has them",
                         "leave out the one that is not meant");
    prompt.text = std::move(made.text);
    read |= made.clock_read;
    ++rendered;
  }
  Value pinned;
  if (options.clock)
    pinned = Value::object({{"unix_s", options.clock->seconds},
                            {"date", date_text(options.clock->seconds)},
                            {"source", options.clock->source}});
  return Value::object({{"template", found->source()},
                        {"prompts", rendered},
                        {"rule", "rendered as Transformers 5.24 does; encoded without added special tokens"},
                        {"clock", std::move(pinned)},
                        {"clock_read", read}});
}

}  // namespace calkit::baseline
