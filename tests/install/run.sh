#!/bin/sh
# run.sh SOURCE BUILD: installs the build into an empty prefix, builds a program against it with find_package, and runs it.
set -eu
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$2" --prefix "$prefix/calkit" >"$prefix/log" 2>&1 || { cat "$prefix/log"; exit 1; }
cmake -G Ninja -S "$1/tests/install" -B "$prefix/build" -DCMAKE_PREFIX_PATH="$prefix/calkit" >>"$prefix/log" 2>&1 || { cat "$prefix/log"; exit 1; }
cmake --build "$prefix/build" >>"$prefix/log" 2>&1 || { cat "$prefix/log"; exit 1; }
answer=$("$prefix/build/consumer" "$1/tests/data/models/tiny-dense")
[ "$answer" = "qwen3, 5 layers" ] || { echo "the consumer printed: $answer"; exit 1; }
"$prefix/calkit/bin/calkit" --version
