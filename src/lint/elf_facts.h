#pragma once
/// What the rules of family 10 share: the bytes of a listed file, and whether the package is for the emulated device.
#include "check.h"

namespace calkit::lint {

/// The bytes of a listed file by its id; nullptr, with the reason on the rule, when they cannot be read.
std::shared_ptr<const MappedFile> bytes_of(Check& check, std::string_view id);
/// The emulated device executes op lists: it has no commands and no control program.
bool emulated(const Check& check);

}  // namespace calkit::lint
