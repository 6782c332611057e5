#pragma once
/// The sections of calbin.json, each read by the function of its name. A missing required section is one problem, and
/// gives an empty struct.
#include <optional>

#include "reader.h"

namespace calkit::calbin {

Compat read_compat(Reader& in, const Node& package);
ModelFacts read_model(Reader& in, const Node& root);
Limits read_limits(Reader& in, const Node& root);
DeviceFacts read_device(Reader& in, const Node& root);
Partition read_partition(Reader& in, const Node& root);

PackageFile read_file_entry(Reader& in, const Node& at);
Memory read_memory(Reader& in, const Node& root);
Param read_param(Reader& in, const Node& at);
Kv read_kv(Reader& in, const Node& root);

Submodel read_submodel(Reader& in, const Node& at);

std::optional<Ccu> read_ccu(Reader& in, const Node& root);
std::optional<D2d> read_d2d(Reader& in, const Node& root);
std::optional<Quant> read_quant(Reader& in, const Node& root);

Provenance read_provenance(Reader& in, const Node& root);
Golden read_golden(Reader& in, const Node& at);
Signature read_signature(Reader& in, const Node& at);

}  // namespace calkit::calbin
