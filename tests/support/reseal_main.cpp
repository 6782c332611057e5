/// calkit_reseal CALBIN_JSON: for cases that edit a description and mean the edit, not the broken seal.
#include <fstream>
#include <iostream>
#include <iterator>

#include "reseal.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: calkit_reseal CALBIN_JSON\n", 2;
  std::ifstream in(argv[1], std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!calkit::testing_support::reseal_text(text)) return std::cerr << argv[1] << ": no JSON document with a seal\n", 1;
  std::ofstream(argv[1], std::ios::binary) << text;
}
