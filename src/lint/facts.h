#pragma once
/// What the rules look at, gathered once: the description as far as it could be read, the state of each listed file,
/// the op lists, the service manifest and the device profile.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calkit/base/tree.h"
#include "calkit/calbin/dialect.h"
#include "calkit/calbin/iomap.h"
#include "calkit/calbin/oplist.h"
#include "calkit/calbin/reading.h"
#include "calkit/lint/lint.h"
#include "calkit/manifest/baseline_facts.h"

namespace calkit::lint {

inline constexpr const char* kDescriptionFile = "calbin.json";

enum class FileState { kPresent, kMissing, kNotRegular, kUnsafePath, kUnreadable };
struct FileFacts {
  FileState state = FileState::kMissing;
  std::string why;          ///< of all states but kPresent and kMissing
  std::uint64_t bytes = 0;  ///< as found, when present
  std::uint64_t links = 1;  ///< names it has on its file system
};

/// A JSON file that a submodel has for one chip.
struct ListedDocument {
  std::size_t submodel = 0;  ///< index in the description
  std::int64_t chip = 0;
  std::string path, role;  ///< of the file; the path is relative to the package
  Value document;
  ReadProblem problem = ReadProblem::kNone;  ///< what the reader of JSON refused
  std::string error;                         ///< why it is unreadable; empty when the file is absent
};
struct OpListFacts : ListedDocument {
  std::optional<calbin::OpList> oplist;  ///< nullopt: absent or unreadable
};
struct IoMapFacts : ListedDocument {
  std::optional<calbin::IoMap> map;  ///< nullopt: absent or unreadable
};

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Index = std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>>;

struct Facts {
  Inputs inputs;
  manifest::DeviceProfile profile;
  const manifest::SupportMatrix* support = nullptr;  ///< the caller's, or the one built into the library
  std::optional<manifest::BaselineFacts> baseline;   ///< nullopt: none was given
  std::shared_ptr<const FileTree> tree;
  TreeDigests digests;                         ///< of every regular file; empty when calbin.json could not be read
  std::string digest;                          ///< of calbin.json
  std::string file = kDescriptionFile;         ///< the producer's description
  std::optional<calbin::Canonical> canonical;  ///< how it was translated; its document is the next member
  std::optional<Value> document;               ///< in the canonical form
  std::optional<Error> unreadable;             ///< why there is no document
  calbin::Reading reading;
  bool schema_known = false;
  std::vector<FileFacts> files;    ///< one per entry of the description
  Index file_index, region_index;  ///< id -> place; the first of twins
  std::vector<OpListFacts> oplists;
  std::vector<IoMapFacts> iomaps;

  const calbin::Description& description() const { return reading.description; }
  /// The bytes of a listed file by its path.
  Result<std::shared_ptr<const MappedFile>> map(const std::string& path) const { return tree->map(path); }
};
/// `inputs` must outlive the facts.
Result<Facts> gather(const Inputs& inputs);

/// Why a listed path may not be opened: what the library refuses, and what other systems read as leaving the folder.
std::string path_problem(std::string_view path);

}  // namespace calkit::lint
