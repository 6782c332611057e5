#include "calkit/hf/chat_template.h"

#include <fmt/format.h>

#include <map>

#include "calkit/base/document.h"
#include "calkit/hf/model_files.h"

namespace calkit::hf {
namespace {

constexpr const char* kFile = "chat_template.jinja";
constexpr const char* kConfig = "tokenizer_config.json";
constexpr const char* kDefault = "default";
constexpr const char* kToolUse = "tool_use";

Result<Value> read_object(const ModelFiles& files, const std::string& name) {
  if (!files.has(name)) return Value(Value::Object{});
  CALKIT_TRY(const auto text, files.read(name));
  return parse_json(text, files.shown(name));
}

// A special token is a text, or an object with its content.
void take_tokens(const Value& document, Value& tokens) {
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const Value* found = document.find(key);
    if (found != nullptr && found->is_object()) found = found->find("content");
    if (found != nullptr && found->is_string() && tokens.find(key) == nullptr) tokens.set(key, *found);
  }
}

using Texts = std::map<std::string, TemplateText>;

Status take_config(const Cursor& root, Texts& texts) {
  const auto at = root.find("chat_template");
  if (!at) return {};
  const std::string source = fmt::format("{}#/chat_template", kConfig);
  if (at->value().is_string()) {
    texts[kDefault] = {source, *at->value().if_string()};
    return {};
  }
  CALKIT_TRY(const auto items, at->items());
  for (std::size_t i = 0; i < items.size(); ++i) {
    CALKIT_TRY(const auto name, items[i].string("name"));
    CALKIT_TRY(const auto text, items[i].string("template"));
    texts.try_emplace(name, TemplateText{fmt::format("{}/{}/template", source, i), text});
  }
  return {};
}

// The files: one without a name, and named ones in a folder. They leave nothing to tokenizer_config.json.
Status take_files(const ModelFiles& files, Texts& texts) {
  constexpr std::string_view kEnding = ".jinja";
  const std::string folder = fmt::format("{}/", kTemplateFolder);
  for (const std::string& file : files.names()) {
    std::string name;
    if (file == kFile)
      name = kDefault;
    else if (file.starts_with(folder))
      name = file.substr(folder.size(), file.size() - folder.size() - kEnding.size());
    else
      continue;
    CALKIT_TRY(auto text, files.read(file), "reading the chat template");
    if (!texts.try_emplace(name, TemplateText{file, std::move(text)}).second)
      return input_error(files.shown(file), {}, fmt::format("a second template named '{}'", name),
                         "each name once; chat_template.jinja is the default", "remove one of the two files");
  }
  return {};
}

// A message as the template sees it.
Result<Value> plain_message(const Value& message, std::size_t index) {
  if (!message.is_object())
    return input_error({}, fmt::format("/messages/{}", index), message.describe(), "an object with role and content");
  Value::Object kept;
  for (const auto& [key, value] : *message.if_object())
    if (!value.is_null()) kept.emplace_back(key, value);
  const Value all(kept);
  const Value* reasoning = nullptr;
  for (const char* key : {"reasoning_content", "thinking", "reasoning"})
    if (reasoning == nullptr) reasoning = all.find(key);
  if (reasoning == nullptr) return all;
  Value out(Value::Object{});
  const Value* thinking = all.find("thinking");
  out.set("thinking", thinking == nullptr ? *reasoning : *thinking);
  for (const auto& [key, value] : kept) out.set(key, value);
  out.set("reasoning_content", *reasoning);
  return out;
}

Result<Value> context_of(const ChatInput& input, const Value& tokens) {
  const auto* messages = input.messages.if_array();
  if (messages == nullptr || messages->empty())
    return input_error({}, "/messages", input.messages.describe(), "an array of at least one message");
  if (!input.tools.is_null() && !input.tools.is_array())
    return input_error({}, "/tools", input.tools.describe(), "an array of JSON schemas, or null");
  if (!input.kwargs.is_object())
    return input_error({}, "/kwargs", input.kwargs.describe(), "an object of further variables");
  Value plain(Value::Array{});
  for (std::size_t i = 0; i < messages->size(); ++i) {
    CALKIT_TRY(auto one, plain_message((*messages)[i], i));
    plain.push(std::move(one));
  }
  Value out = tokens;
  for (const auto& [key, value] : *input.kwargs.if_object()) {
    if (key == "messages" || key == "tools" || key == "add_generation_prompt")
      return input_error({}, "/kwargs/" + key, "a variable of that name",
                         "variables beside messages, tools and add_generation_prompt", "give it beside kwargs");
    out.set(key, value);
  }
  if (out.find("documents") == nullptr) out.set("documents", nullptr);
  out.set("messages", std::move(plain));
  out.set("tools", input.tools);
  out.set("add_generation_prompt", input.add_generation_prompt);
  return out;
}

}  // namespace

struct ChatTemplate::State {
  struct Named {
    std::string source;
    jinja::Template parsed;
  };
  std::map<std::string, Named> templates;
  Value tokens = Value(Value::Object{});
  std::string shown;
};

ChatTemplate::ChatTemplate(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

Result<Texts> chat_templates(const ModelFiles& files) {
  Texts texts;
  CALKIT_CHECK_OK(take_files(files, texts));
  if (!texts.empty()) return texts;
  CALKIT_TRY(const auto config, read_object(files, kConfig));
  CALKIT_CHECK_OK(take_config(Cursor(config, files.shown(kConfig)), texts));
  return texts;
}

Result<std::optional<ChatTemplate>> ChatTemplate::find(const std::filesystem::path& model_dir) {
  CALKIT_TRY(const auto files, ModelFiles::open(model_dir));
  CALKIT_TRY(const auto texts, chat_templates(files));
  if (texts.empty()) return std::optional<ChatTemplate>();
  auto state = std::make_unique<State>();
  for (const auto& [name, found] : texts) {
    if (name != kDefault && name != kToolUse) continue;
    CALKIT_TRY(auto parsed, jinja::Template::parse(found.text, files.shown(found.source)), "reading the chat template");
    state->templates.emplace(name, State::Named{found.source, std::move(parsed)});
  }
  if (!state->templates.contains(kDefault))
    return input_error(files.shown(kConfig), "/chat_template", fmt::format("{} named templates", texts.size()),
                       "one of them named \"default\", or chat_template.jinja");
  CALKIT_TRY(const auto config, read_object(files, kConfig));
  CALKIT_TRY(const auto map, read_object(files, "special_tokens_map.json"));
  take_tokens(config, state->tokens);
  take_tokens(map, state->tokens);
  state->shown = model_dir.string();
  return std::optional(ChatTemplate(std::move(state)));
}

const std::string& ChatTemplate::source() const {
  return state_->templates.at(kDefault).source;
}

Result<jinja::Rendered> ChatTemplate::render(const ChatInput& input, std::optional<std::int64_t> clock) const {
  const bool with_tools = !input.tools.is_null();
  CALKIT_TRY(const auto context, context_of(input, state_->tokens));
  const auto tool_use = state_->templates.find(kToolUse);
  const auto& chosen =
      with_tools && tool_use != state_->templates.end() ? tool_use->second : state_->templates.at(kDefault);
  jinja::RenderOptions options;
  options.clock = clock.value_or(0);  // read without one, it is refused below
  CALKIT_TRY(auto out, chosen.parsed.render(context, options));
  if (out.clock_read && !clock)
    return input_error(state_->shown, chosen.source, "a template that reads the clock (strftime_now)", "a pinned date",
                       "give --date YYYY-MM-DD or set SOURCE_DATE_EPOCH, so that every freeze has the same texts");
  return out;
}

}  // namespace calkit::hf
