#include "command.h"

int main(int argc, char** argv) {
  return calkit::cli::run_program(argc, argv);
}
