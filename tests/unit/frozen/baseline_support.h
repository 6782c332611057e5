#pragma once
// A frozen baseline of the bundled model, made once from the peer's goldens, and copies of it to spoil.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "calkit/base/hash.h"
#include "calkit/frozen/writer.h"
#include "calkit/hf/checkpoint.h"
#include "calkit/hf/tokenizer.h"
#include "frozen_answers.h"
#include "scratch_dir.h"

namespace calkit::frozen {

using testing_support::no_noise;
using testing_support::ScratchDir;
namespace fs = std::filesystem;

inline fs::path data_dir() {
  return CALKIT_TEST_DATA;
}
inline fs::path tiny_model() {
  return data_dir() / "models/tiny-dense";
}
inline fs::path tiny_golden() {
  return data_dir() / "golden/tiny-dense";
}

template <class T>
T or_die(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().message;
    std::abort();
  }
  return std::move(result).value();
}
inline void or_die(const Status& status) {
  ASSERT_TRUE(status.ok()) << status.error().message;
}

/// The first `count` prompts of the peer with tokens, and one without.
inline Reference small_reference(std::size_t count = 12) {
  Reference all = or_die(read_reference(tiny_golden(), "fp32"));
  Reference out;
  out.dtype = all.dtype;
  for (const ReferenceItem& item : all.items)
    if (item.ids.size() < 200 && out.items.size() < count) out.items.push_back(item);
  return out;
}

inline const ModelSource& tiny_source() {
  static const ModelSource source = or_die(describe_model_source(tiny_model(), SourceOptions{}));
  return source;
}

inline testing_support::Probes some_probes(const Reference& reference) {
  return testing_support::zero_probes(reference, tiny_source().spec);
}

inline void write_answers(const fs::path& dir, const Reference& reference) {
  or_die(write_reference(dir, reference, some_probes(reference), no_noise(reference)));
}

inline void write_baseline(const fs::path& dir, const Reference& reference) {
  or_die(write_model_source(dir, tiny_model(), tiny_source()));
  write_answers(dir, reference);
  or_die(seal(dir));
}

inline std::vector<std::string> findings_of(const fs::path& dir) {
  return or_die(verify(dir)).findings;
}

}  // namespace calkit::frozen
