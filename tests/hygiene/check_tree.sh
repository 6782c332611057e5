#!/bin/sh
# check_tree.sh ROOT: the top level is what the architecture says, data stays small, no module file is two modules in one coat.
set -eu
cd "$1"
bad=0
for entry in *; do
  case $entry in
  CMakeLists.txt | include | src | tools | tests | manifests | docs | third_party | README.md | CMakePresets.json | CHANGELOG.md | LICENSE) ;;
  build | evidence | demo-run) ;; # git ignores these
  *) echo "top level: $entry does not belong here" && bad=1 ;;
  esac
done
kilobytes=$(du -sk tests/data | cut -f1)
if [ "$kilobytes" -gt 46080 ]; then echo "tests/data: $kilobytes KiB, at most 46080 allowed" && bad=1; fi
for file in $(find src tools/calkit -name '*.cpp' -o -name '*.h'); do
  lines=$(wc -l <"$file")
  if [ "$lines" -gt 800 ]; then echo "$file: $lines lines, at most 800 allowed (tables belong in data files)" && bad=1; fi
done
for command in $(sed -n 's/^ *{"\([a-z-]*\)", .*/\1/p' tools/calkit/registrations.cpp); do
  if [ ! -f "docs/cli/$command.md" ]; then echo "docs/cli/$command.md is missing" && bad=1; fi
done
exit $bad
