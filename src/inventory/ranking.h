#pragma once
// What is left of an inventory when all nodes have been visited: sums by verdict and kernel; private to the module.
#include "calkit/inventory/inventory.h"

namespace calkit::inventory {

/// Fills Inventory::at for symbols without a value.
void choose_point(const Bindings& given, Inventory& out);
/// A formula's value at Inventory::at, through Inventory::relations; nullopt: a symbol has no value.
std::optional<double> value_at(const Formula& formula, const Inventory& inventory);
void rank_kernels(Inventory& out);
/// Findings for families in `fail_on` or worse.
void hold_against(Support::State fail_on, Inventory& out);

}  // namespace calkit::inventory
