#pragma once
/// The subcommands of `calkit freeze-baseline`, and what several of them say.
#include <string>

#include "calkit/baseline/freeze.h"
#include "command.h"

namespace calkit::cli {

void add_freeze_model(CLI::App& group);
void add_freeze_merge(CLI::App& group);
void add_freeze_verify(CLI::App& group);
void add_freeze_compare(CLI::App& group);
void add_freeze_diff(CLI::App& group);
void add_freeze_store(CLI::App& group);
void add_freeze_product(CLI::App& group);
void add_freeze_reference(CLI::App& group);
void add_freeze_audit_csv(CLI::App& group);

/// Fills the record of a baseline that was written to `out`, and returns the text for people.
Result<std::string> describe_frozen(const baseline::FreezeReport& report, const std::string& model,
                                    const std::string& dtype, const std::string& out, manifest::Evidence& evidence);

}  // namespace calkit::cli
