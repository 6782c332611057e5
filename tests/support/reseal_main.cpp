/// For cases that edit a package and mean the edit, not the broken digest or seal:
///   calkit_reseal CALBIN_JSON                     the seal is that of the text as it now is
///   calkit_reseal PACKAGE --replace ROLE FILE     the first file of that role gets FILE's bytes, and is listed so
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "calkit/base/hash.h"
#include "reseal.h"

namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_all(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

int fail(const std::string& what) {
  std::cerr << what << '\n';
  return 1;
}

int reseal(const fs::path& file) {
  std::string text = read_all(file);
  if (!calkit::testing_support::reseal_text(text)) return fail(file.string() + ": no JSON document with a seal");
  write_all(file, text);
  return 0;
}

calkit::Value* file_of_role(calkit::Value& document, const std::string& role) {
  calkit::Value* files = document.find("files");
  if (files == nullptr || files->if_array() == nullptr) return nullptr;
  for (auto& file : *files->if_array()) {
    const auto* has = file.find("role");
    if (has != nullptr && has->if_string() != nullptr && *has->if_string() == role) return &file;
  }
  return nullptr;
}

int replace(const fs::path& package, const std::string& role, const fs::path& with) {
  auto document = calkit::parse_json(read_all(package / "calbin.json"), "calbin.json");
  if (!document.ok()) return fail(document.error().message);
  calkit::Value* file = file_of_role(*document, role);
  const calkit::Value* path = file != nullptr ? file->find("path") : nullptr;
  if (path == nullptr || path->if_string() == nullptr) return fail("no file of role " + role);
  const std::string bytes = read_all(with);
  write_all(package / *path->if_string(), bytes);
  file->set("size", bytes.size());
  file->set("digest", "sha256:" + calkit::sha256_hex(bytes));
  document->set("seal", calkit::calbin::seal_of(*document));
  write_all(package / "calbin.json", calkit::to_json(*document) + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return reseal(argv[1]);
  if (argc == 5 && std::strcmp(argv[2], "--replace") == 0) return replace(argv[1], argv[3], argv[4]);
  std::cerr << "usage: calkit_reseal CALBIN_JSON | PACKAGE --replace ROLE FILE\n";
  return 2;
}
