#pragma once
// The files of a product baseline.
#include "calkit/load/product.h"

namespace calkit::load {

inline constexpr char kProductFile[] = "product.json";

/// product.json, cells.csv and tokens.jsonl in a folder that is being staged.
Status write_product_files(const std::filesystem::path& staged_dir, const ProductReport& report);

}  // namespace calkit::load
