#include "calkit/frozen/folder.h"

#include <fmt/format.h>

#include "calkit/base/files.h"
#include "calkit/frozen/store.h"
#include "calkit/frozen/texts.h"
#include "layout.h"

namespace calkit::frozen {
namespace {

namespace fs = std::filesystem;

void read_product(const fs::path& dir, VerifyReport& report) {
  const auto document = read_json(dir / kProduct);
  if (!document.ok()) return report.findings.push_back(document.error().message);
  const auto schema = Cursor(*document, std::string(kProduct)).string("schema");
  if (!schema.ok()) return report.findings.push_back(schema.error().message);
  if (*schema != kProductSchema)
    report.findings.push_back(fmt::format("{}: found schema {}; wanted {}", kProduct, *schema, kProductSchema));
}

// `read` is a reference or the texts of one.
template <class T>
void count(const Result<T>& read, std::size_t (*prompts)(const T&), VerifyReport& report) {
  if (read.ok())
    report.prompts = prompts(*read);
  else
    report.findings.push_back(read.error().message);
}

}  // namespace

FolderKind folder_kind(const fs::path& dir) {
  std::error_code ignored;
  if (is_store(dir)) return FolderKind::kStore;
  if (fs::exists(dir / kSourceDir, ignored)) return FolderKind::kBaseline;
  if (has_texts(dir)) return FolderKind::kTexts;
  if (fs::is_regular_file(dir / kReferenceDir / kSourceFile, ignored)) return FolderKind::kNumbers;
  if (fs::is_regular_file(dir / kProduct, ignored)) return FolderKind::kProduct;
  return FolderKind::kBaseline;
}

std::string_view folder_kind_name(FolderKind kind) {
  switch (kind) {
    case FolderKind::kStore:
      return "store";
    case FolderKind::kNumbers:
      return "reference of numbers";
    case FolderKind::kTexts:
      return "reference of texts";
    case FolderKind::kProduct:
      return "product baseline";
    case FolderKind::kBaseline:
      break;
  }
  return "baseline";
}

Result<VerifyReport> verify_sealed(const fs::path& dir, FolderKind kind) {
  CALKIT_TRY(auto report, verify_files(dir));
  if (kind == FolderKind::kProduct) read_product(dir, report);
  if (kind == FolderKind::kNumbers)
    count<Reference>(read_reference(dir), [](const Reference& read) { return read.items.size(); }, report);
  if (kind == FolderKind::kTexts)
    count<TextReference>(
        read_texts(dir), [](const TextReference& read) { return read.answers.size() + read.refused.size(); }, report);
  return report;
}

}  // namespace calkit::frozen
