#pragma once
// What the renderings share; private to the module.
#include "calkit/inventory/inventory.h"

namespace calkit::inventory {

Value counts_value(const std::map<std::string, std::uint64_t>& counts);
Value support_value(const Support& support);
Value cost_value(const Cost& cost, const Inventory& inventory);
Value relations_value(const Inventory& inventory);
Value parameters_value(const Inventory& inventory);
Value candidates_value(const Inventory& inventory);
Value layer_value(const Inventory& inventory);
Value bindings_value(const Bindings& bindings);
Value total_value(const Inventory& inventory);
Value matrix_value(const Inventory& inventory);
Value changes_value(const std::vector<Change>& changes);

std::string list_text(const std::vector<std::string>& items);
std::string signature(const Family& family);          ///< "(FLOAT[B], -) -> FLOAT[B]"
std::string si_text(double value);                    ///< "1.19 G"
std::string percent_text(double share);               ///< "12.3%"
std::string bindings_text(const Bindings& bindings);  ///< "B=1, S=512"
/// "2*B*S = 1.02 k" where the formula has symbols, else the number alone; "not known".
std::string formula_text(const Formula& formula, const Inventory& inventory);
/// Nodes by state, in the order of the states; those without nodes are left out.
std::vector<std::pair<Support::State, std::uint64_t>> nodes_by_state(const Inventory& inventory);
std::uint64_t assumed_nodes(const Inventory& inventory);  ///< whose verdict comes from a row that is assumed
/// A whole layer as an inline SVG.
std::string picture(const Layer& layer);
std::string escaped(std::string_view text);  ///< for HTML

}  // namespace calkit::inventory
