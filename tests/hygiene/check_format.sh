#!/bin/sh
# check_format.sh CLANG_FORMAT ROOT: every C++ file of ours is as clang-format writes it.
set -eu
cd "$2"
find include src tools tests -name '*.h' -o -name '*.cpp' -o -name '*.c' | sort | xargs "$1" --dry-run --Werror
