/// Family 01.
#include <filesystem>
#include <fstream>

#include "lint_case.h"

namespace calkit::lint {

namespace fs = std::filesystem;

namespace {

const char* const kBlock = "params/blk0.bin";

void after(Scene& s, std::function<void(const fs::path&)> edit) {
  s.package.edit_folder = std::move(edit);
}
void rename_block(Scene& s, const std::string& path) {
  s.package.file("blk0").path = path;
}
void put(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Moves the block to another path, in the listing and on disk.
void move_block(Scene& s, const std::string& path) {
  s.package.files[path] = s.package.files[kBlock];
  s.package.files.erase(kBlock);
  rename_block(s, path);
}

/// A listed path that must not be opened; the real file stays where it is.
void escape(Scene& s, const std::string& path) {
  rename_block(s, path);
  s.package.rehash = true;
  const auto digest = "sha256:" + std::string(64, 'a');
  s.package.file("blk0").size = 4104;
  s.package.file("blk0").digest = digest;
  after(s, [](const fs::path& dir) { fs::remove(dir / kBlock); });
}

calbin::PackageFile extra(const std::string& id, const std::string& path, const std::string& role) {
  return {id, path, role, 0, {}, 0, false};
}

}  // namespace

std::vector<LintCase> file_cases() {
  return {
      {"a listed file is gone",
       {"CB0101"},
       [](Scene& s) { after(s, [](const fs::path& d) { fs::remove(d / kBlock); }); }},
      {"a listed op list is gone",
       {"CB0101"},
       [](Scene& s) { after(s, [](const fs::path& d) { fs::remove(d / "oplists/decode.json"); }); },
       {"CB0509", "CB0704", "CB0705"}},
      {"a folder lies where a file is due",
       {"CB0101"},
       [](Scene& s) {
         after(s, [](const fs::path& d) {
           fs::remove(d / kBlock);
           fs::create_directory(d / kBlock);
         });
       }},
      {"a file has one byte less",
       {"CB0102"},
       [](Scene& s) { after(s, [](const fs::path& d) { fs::resize_file(d / kBlock, 4103); }); }},
      {"a file has one byte more",
       {"CB0102"},
       [](Scene& s) { after(s, [](const fs::path& d) { fs::resize_file(d / kBlock, 4105); }); }},
      {"a file of no bytes where some are due",
       {"CB0102"},
       [](Scene& s) { after(s, [](const fs::path& d) { fs::resize_file(d / kBlock, 0); }); }},
      {"one byte of a file is flipped",
       {"CB0103"},
       [](Scene& s) {
         after(s, [](const fs::path& d) {
           std::fstream file(d / kBlock, std::ios::in | std::ios::out | std::ios::binary);
           file.seekp(99);
           file.put('\x7f');
         });
       }},
      {"the digest of another file",
       {"CB0103"},
       [](Scene& s) {
         s.package.edit_document = [](Value& d) {
           auto& files = *d.find("files")->if_array();
           files[0].set("digest", *files[1].find("digest"));
         };
       }},
      {"a digest in upper case is equal but warned about",
       {"CB0109"},
       [](Scene& s) {
         s.package.edit_document = [](Value& d) {
           auto& file = (*d.find("files")->if_array())[0];
           std::string digest = *file.find("digest")->if_string();
           for (std::size_t i = 7; i < digest.size(); ++i) digest[i] = static_cast<char>(std::toupper(digest[i]));
           file.set("digest", digest);
         };
       }},
      {"a digest of 63 digits",
       {"CB0109"},
       [](Scene& s) {
         s.package.edit_document = [](Value& d) {
           (*d.find("files")->if_array())[0].set("digest", "sha256:" + std::string(63, 'a'));
         };
       },
       {"CB0103"}},
      {"a digest of zeros",
       {"CB0109"},
       [](Scene& s) {
         s.package.edit_document = [](Value& d) {
           (*d.find("files")->if_array())[0].set("digest", "sha256:" + std::string(64, '0'));
         };
       },
       {"CB0103"}},
      {"an md5 digest in the provenance",
       {"CB0109"},
       [](Scene& s) {
         s.package.edit_document = [](Value& d) { d.find("provenance")->set("config_digest", "md5:1"); };
       }},
      {"an unlisted file",
       {"CB0104"},
       [](Scene& s) { after(s, [](const fs::path& d) { put(d / "params/old.bin", "x"); }); }},
      {"an unlisted readme and licence are fine",
       {},
       [](Scene& s) {
         after(s, [](const fs::path& d) {
           put(d / "README.md", "x");
           put(d / "LICENSE", "x");
         });
       }},
      {"an unlisted link",
       {"CB0104"},
       [](Scene& s) { after(s, [](const fs::path& d) { fs::create_symlink("/etc/passwd", d / "p"); }); }},
      {"a path above the package", {"CB0105"}, [](Scene& s) { escape(s, "../blk0.bin"); }},
      {"a path through a folder and out", {"CB0105"}, [](Scene& s) { escape(s, "params/../../blk0.bin"); }},
      {"an absolute path", {"CB0105"}, [](Scene& s) { escape(s, "/etc/passwd"); }},
      {"a drive letter", {"CB0105"}, [](Scene& s) { escape(s, "C:blk0.bin"); }},
      {"a backslash", {"CB0105"}, [](Scene& s) { escape(s, "params\\..\\b"); }},
      {"a home folder", {"CB0105"}, [](Scene& s) { escape(s, "~/blk0.bin"); }},
      {"a NUL byte in a path", {"CB0105"}, [](Scene& s) { escape(s, std::string("a\0b", 3)); }},
      {"a symbolic link as a file",
       {"CB0105"},
       [](Scene& s) {
         after(s, [](const fs::path& d) {
           fs::rename(d / kBlock, d.parent_path() / "blk0.bin");
           fs::create_symlink(d.parent_path() / "blk0.bin", d / kBlock);
         });
       }},
      {"a symbolic link as a folder",
       {"CB0104", "CB0105"},
       [](Scene& s) {
         after(s, [](const fs::path& d) {
           fs::rename(d / "params", d.parent_path() / "params");
           fs::create_symlink(d.parent_path() / "params", d / "params");
         });
       }},
      {"dots inside a name are fine", {}, [](Scene& s) { move_block(s, "a..b.bin"); }},
      {"three dots are a name", {}, [](Scene& s) { move_block(s, ".../blk0.bin"); }},
      {"paths that differ in case only",
       {"CB0106"},
       [](Scene& s) {
         s.package.files["params/BLK0.bin"] = "x";
         s.package.description.files.push_back(extra("twin", "params/BLK0.bin", "param"));
       }},
      {"one path listed twice",
       {"CB0106"},
       [](Scene& s) { s.package.description.files.push_back(extra("twin", kBlock, "param")); }},
      {"a file listed below a file",
       {"CB0101", "CB0106"},
       [](Scene& s) {
         auto below = extra("below", "params/blk0.bin/x", "param");
         below.size = 1;
         below.digest = "sha256:" + std::string(64, 'a');
         s.package.description.files.push_back(below);
       }},
      {"similar names are fine",
       {},
       [](Scene& s) {
         s.package.files["params/blk1.bin"] = "x";
         s.package.description.files.push_back(extra("blk1", "params/blk1.bin", "param"));
       }},
      {"an empty parameter file with the hash of nothing",
       {"CB0108"},
       [](Scene& s) {
         s.package.files["params/blk1.bin"] = "";
         s.package.description.files.push_back(extra("blk1", "params/blk1.bin", "param"));
       }},
      {"an empty log is fine",
       {},
       [](Scene& s) {
         s.package.files["build.log"] = "";
         s.package.description.files.push_back(extra("log", "build.log", "log"));
       }},
  };
}

}  // namespace calkit::lint
