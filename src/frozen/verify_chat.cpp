#include <fmt/format.h>

#include "layout.h"
#include "verify.h"

namespace calkit::frozen {
namespace {

// The clock that manifest.json records; nullopt: none was pinned.
Result<std::optional<std::int64_t>> frozen_clock(const ModelSource& source) {
  const std::string file = fmt::format("{}/{}", kSourceDir, kManifest);
  CALKIT_TRY(const auto reference, Cursor(source.manifest, file).at("reference"));
  CALKIT_TRY(const auto chat, reference.at("chat"));
  const auto clock = chat.find("clock");
  if (!clock) return std::optional<std::int64_t>();
  CALKIT_TRY(const std::int64_t seconds, clock->integer("unix_s"));
  return std::optional(seconds);
}

}  // namespace

void verify_chats(const Reference& reference, const ModelSource& source, const std::filesystem::path& tokenizer_dir,
                  std::vector<std::string>& findings) {
  std::optional<hf::ChatTemplate> known;
  std::optional<std::int64_t> clock;
  for (const ReferenceItem& item : reference.items) {
    if (!item.prompt.chat) continue;
    if (!known) {
      auto found = hf::ChatTemplate::find(tokenizer_dir);
      auto stated = frozen_clock(source);
      if (!found.ok() || !stated.ok()) {
        findings.push_back((found.ok() ? stated.error() : found.error()).message);
        return;
      }
      if (!*found) {
        findings.push_back(fmt::format("{}: prompt {}: found messages; wanted a frozen chat template beside them",
                                       kPrompts, item.prompt.id));
        return;
      }
      known = std::move(*found);
      clock = *stated;
    }
    const auto again = known->render(*item.prompt.chat, clock);
    if (!again.ok())
      findings.push_back(fmt::format("{}: prompt {}: {}", kPrompts, item.prompt.id, again.error().message));
    else if (again->text != item.prompt.text)
      findings.push_back(
          fmt::format("{}: prompt {}: found a text that its messages do not give; wanted what the frozen "
                      "template renders",
                      kPrompts, item.prompt.id));
  }
}

}  // namespace calkit::frozen
