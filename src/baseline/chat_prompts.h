#pragma once
/// Prompts that are conversations.
#include "calkit/baseline/freeze.h"

namespace calkit::baseline {

/// Renders every prompt that has messages with the model's chat template and writes its text. Returns what
/// manifest.json says of it (docs/formats/model-source.md, /reference/chat), or null if no prompt has messages. kInput:
/// the model has no template, one that cannot be evaluated, a chat that it refuses, a clock that nobody pinned.
Result<Value> render_chat_prompts(FreezeOptions& options);

}  // namespace calkit::baseline
