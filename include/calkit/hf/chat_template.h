#pragma once
/// The chat template of a model folder: chat_template.jinja with additional_chat_templates/NAME.jinja, else
/// tokenizer_config.json's chat_template, a text or a list of named ones. Rendered as Transformers 5.24 does: keys of a
/// message that are null are dropped, a message's reasoning is known as reasoning_content and as thinking, special
/// tokens are variables (docs/formats/chat-template.md).
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "calkit/base/result.h"
#include "calkit/base/value.h"
#include "calkit/hf/model_files.h"
#include "calkit/jinja/template.h"

namespace calkit::hf {

struct ChatInput {
  Value messages;                         ///< an array of objects, at least one
  Value tools;                            ///< an array of JSON schemas, or null
  Value kwargs = Value(Value::Object{});  ///< more variables; they win over the special tokens
  bool add_generation_prompt = false;
};

struct TemplateText {
  std::string source;  ///< "chat_template.jinja", "tokenizer_config.json#/chat_template/1/template"
  std::string text;
};
/// The templates that count, by name; the one without a name is "default". Empty: the folder has none.
Result<std::map<std::string, TemplateText>> chat_templates(const ModelFiles& files);

class ChatTemplate {
 public:
  /// nullopt: the folder has none. kInput: a template that does not parse or is not supported, a damaged file.
  static Result<std::optional<ChatTemplate>> find(const std::filesystem::path& model_dir);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  /// The file and member it was read from: "chat_template.jinja", "tokenizer_config.json#/chat_template".
  const std::string& source() const;
  /// @param clock seconds since 1970 in UTC. Without one, a template that reads the clock is kInput: its text would
  /// depend on the day.
  Result<jinja::Rendered> render(const ChatInput& input, std::optional<std::int64_t> clock) const;

 private:
  struct State;
  explicit ChatTemplate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace calkit::hf
