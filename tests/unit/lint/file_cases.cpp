/// Family 01.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "calkit/calbin/reading.h"
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

/// Puts an archive in place of the folder, after `edit` has seen the folder.
void archive(Scene& s, const std::string& commands, std::function<void(const fs::path&)> edit = {}) {
  after(s, [commands, edit](const fs::path& dir) {
    if (edit) edit(dir);
    const std::string in = "exec >/dev/null 2>&1; cd '" + dir.parent_path().string() + "' && ";
    EXPECT_EQ(std::system((in + commands).c_str()), 0) << commands;
    fs::remove_all(dir);
    fs::rename(dir.parent_path() / "archive", dir);
  });
}
const char* const kTar = "tar -cf archive mini.calbin";
const char* const kTarZst = "tar -c mini.calbin | zstd -q -o archive";

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
       {"CB0107"},
       [](Scene& s) {
         after(s, [](const fs::path& d) {
           fs::remove(d / kBlock);
           fs::create_directory(d / kBlock);
         });
       },
       {"CB0103"}},
      {"a FIFO lies where a file is due",
       {"CB0107"},
       [](Scene& s) {
         after(s, [](const fs::path& d) {
           fs::remove(d / kBlock);
           EXPECT_EQ(::mkfifo((d / kBlock).c_str(), 0600), 0);
         });
       },
       {"CB0103"}},
      {"a listed FIFO in a tar",
       {"CB0107"},
       [](Scene& s) {
         archive(s, kTar, [](const fs::path& d) {
           fs::remove(d / kBlock);
           EXPECT_EQ(::mkfifo((d / kBlock).c_str(), 0600), 0);
         });
       },
       {"CB0103"}},
      {"a listed file has a second name outside the package",
       {"CB0107"},
       [](Scene& s) {
         after(s, [](const fs::path& d) { fs::create_hard_link(d / kBlock, d.parent_path() / "other.bin"); });
       }},
      {"CB0107 near: the same bytes copied to another name outside the package",
       {},
       [](Scene& s) { after(s, [](const fs::path& d) { fs::copy_file(d / kBlock, d.parent_path() / "other.bin"); }); }},
      {"a file grows while it is hashed",
       {"CB0110"},
       [](Scene& s) { s.while_hashing = [](const fs::path& d) { std::ofstream(d / kBlock, std::ios::app) << "x"; }; },
       {"CB0103"}},
      {"a file is cut while it is hashed",
       {"CB0110"},
       [](Scene& s) { s.while_hashing = [](const fs::path& d) { fs::resize_file(d / kBlock, 100); }; },
       {"CB0103"}},
      {"a file is replaced by its copy while it is hashed",
       {"CB0110"},
       [](Scene& s) {
         s.while_hashing = [](const fs::path& d) {
           fs::copy_file(d / kBlock, d / "copy");
           fs::rename(d / "copy", d / kBlock);
         };
       },
       {"CB0103"}},
      {"CB0110 near: a file is written again before the run, with the same bytes",
       {},
       [](Scene& s) {
         after(s, [](const fs::path& d) {
           fs::copy_file(d / kBlock, d.parent_path() / "copy");
           fs::copy_file(d.parent_path() / "copy", d / kBlock, fs::copy_options::overwrite_existing);
         });
       }},
      {"the description is edited and not sealed again",
       {"CB0103"},
       [](Scene& s) {
         s.package.reseal = false;
         s.package.edit_document = [](Value& d) {
           d.set("seal", calbin::seal_of(d));
           d.set("x-note", "added later");
         };
       }},
      {"CB0103 near: the description is edited and sealed again",
       {},
       [](Scene& s) { s.package.edit_document = [](Value& d) { d.set("x-note", "added before"); }; }},
      {"CB0103 near: white space around the sealed description changes",
       {},
       [](Scene& s) {
         s.package.reseal = false;
         s.package.edit_document = [](Value& d) { d.set("seal", calbin::seal_of(d)); };
         s.package.edit_text = [](std::string& text) { text = "\n" + text + "\n"; };
       }},
      {"CB0104 near: the package as a tar", {}, [](Scene& s) { archive(s, kTar); }},
      {"CB0104 near: the package as a packed tar", {}, [](Scene& s) { archive(s, kTarZst); }},
      {"CB0105 near: the package as a tar of '.'",
       {},
       [](Scene& s) { archive(s, "tar -C mini.calbin --format=ustar -cf archive ."); }},
      {"an unlisted file in a packed tar",
       {"CB0104"},
       [](Scene& s) { archive(s, kTarZst, [](const fs::path& d) { put(d / "params/old.bin", "x"); }); }},
      {"one byte of a file in a packed tar is flipped",
       {"CB0103"},
       [](Scene& s) {
         archive(s, kTarZst, [](const fs::path& d) {
           std::fstream file(d / kBlock, std::ios::in | std::ios::out | std::ios::binary);
           file.seekp(99);
           file.put('\x7f');
         });
       }},
      {"a listed file is a symbolic link in a tar",
       {"CB0105"},
       [](Scene& s) {
         archive(s, kTar, [](const fs::path& d) {
           fs::remove(d / kBlock);
           fs::create_symlink("/etc/passwd", d / kBlock);
         });
       }},
      {"a member of a tar that leaves the package",
       {"CB0105"},
       [](Scene& s) { archive(s, "cd mini.calbin && echo x > ../evil && tar -P -cf ../archive * ../evil"); }},
      {"a file of a tar that lies behind a link of the tar",
       {"CB0104", "CB0105"},
       [](Scene& s) {
         archive(s,
                 "ln -s /tmp mini.calbin/d && tar -cf archive mini.calbin && rm mini.calbin/d && mkdir mini.calbin/d"
                 " && echo x >mini.calbin/d/evil && tar -rf archive mini.calbin/d/evil");
       }},
      {"an absolute member of a tar",
       {"CB0105"},
       [](Scene& s) {
         archive(
             s,
             "cd mini.calbin && echo x > ../evil && tar -P --transform 's,^../evil,/evil,' -cf ../archive * ../evil");
       }},
      {"a tar that holds one path twice",
       {"CB0106"},
       [](Scene& s) { archive(s, "tar -cf archive mini.calbin && tar -rf archive mini.calbin/params/blk0.bin"); }},
      {"an unlisted file that differs from a listed one in case only",
       {"CB0104", "CB0106"},
       [](Scene& s) {
         archive(s, kTar, [](const fs::path& d) {
           fs::create_directory(d / "Params");
           put(d / "Params/blk0.bin", "x");
         });
       }},
      {"an unlisted member below the description",
       {"CB0104", "CB0106"},
       [](Scene& s) {
         archive(
             s,
             "tar -cf archive mini.calbin && mkdir -p o/mini.calbin/calbin.json && : >o/mini.calbin/calbin.json/x && "
             "tar -rf archive -C o mini.calbin/calbin.json/x");
       }},
      {"an unlisted file named as the folder of listed ones",
       {"CB0104", "CB0106"},
       [](Scene& s) { archive(s, kTar, [](const fs::path& d) { put(d / "PARAMS", "x"); }); }},
      {"CB0106 near: an unlisted file in a folder that differs in case",
       {"CB0104"},
       [](Scene& s) {
         archive(s, kTar, [](const fs::path& d) {
           fs::create_directory(d / "Params");
           put(d / "Params/other.bin", "x");
         });
       }},
      {"paths that differ in Unicode composition only",
       {"CB0106"},
       [](Scene& s) {
         for (const char* path : {"params/\xC3\xA4.bin", "params/a\xCC\x88.bin"}) {
           s.package.files[path] = "x";
           s.package.description.files.push_back(extra(path, path, "log"));
         }
       }},
      {"CB0106 near: a letter with and without its mark",
       {},
       [](Scene& s) {
         for (const char* path : {"params/\xC3\xA4.bin", "params/a.bin"}) {
           s.package.files[path] = "x";
           s.package.description.files.push_back(extra(path, path, "log"));
         }
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
         s.package.description.files.push_back(extra("twin", "params/BLK0.bin", "log"));
       }},
      {"one path listed twice",
       {"CB0106"},
       [](Scene& s) { s.package.description.files.push_back(extra("twin", kBlock, "log")); }},
      {"a file listed below a file",
       {"CB0101", "CB0106"},
       [](Scene& s) {
         auto below = extra("below", "params/blk0.bin/x", "log");
         below.size = 1;
         below.digest = "sha256:" + std::string(64, 'a');
         s.package.description.files.push_back(below);
       }},
      {"similar names are fine",
       {},
       [](Scene& s) {
         s.package.files["params/blk1.bin"] = "x";
         s.package.description.files.push_back(extra("blk1", "params/blk1.bin", "log"));
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
