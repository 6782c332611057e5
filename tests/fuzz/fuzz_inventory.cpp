// Any bytes as an ONNX file whose inventory is taken and written in every form: sums that add up, text that is UTF-8.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "calkit/base/document.h"
#include "calkit/base/text.h"
#include "calkit/inventory/inventory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace calkit;
  static const auto kFolder = std::filesystem::temp_directory_path();
  const auto outline = onnx::load_outline_bytes(std::as_bytes(std::span(data, size)), "fuzz.onnx", kFolder);
  if (!outline.ok()) return 0;
  const auto inventory = inventory::inventory_of(*outline);
  if (!inventory.ok()) __builtin_trap();
  std::uint64_t nodes = 0;
  for (const auto& family : inventory->families) nodes += family.count;
  if (nodes != inventory->nodes) __builtin_trap();
  const std::vector all = {*inventory, *inventory};
  for (const std::string& text : {to_json(inventory::to_document(all)), inventory::to_text(*inventory),
                                  inventory::to_csv(all), inventory::to_markdown(all), inventory::to_html(all)})
    if (invalid_utf8_at(text) != std::string::npos) __builtin_trap();
  if (!inventory::diff(*inventory, *inventory).empty()) __builtin_trap();
  return 0;
}
