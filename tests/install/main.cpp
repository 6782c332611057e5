// A program of an installed user: reads a config through the library.
#include <cstdio>

#include "calkit/hf/spec.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto spec = calkit::hf::read_spec(argv[1]);
  if (!spec.ok()) return std::fprintf(stderr, "%s\n", spec.error().message.c_str()), 1;
  std::printf("%s, %lld layers\n", spec->model_type.c_str(), static_cast<long long>(spec->layers));
  return 0;
}
