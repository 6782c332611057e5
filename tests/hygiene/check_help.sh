#!/bin/sh
# check_help.sh CALKIT ROOT: docs/cli/<command>.md names exactly the options that `calkit <command> --help` has, subcommands included,
# and every help shows its examples first.
set -eu
calkit=$1
cd "$2"
bad=0
all=$("$calkit" --help | sed -n '/^Subcommands:/,$p' | sed -n 's/^  \([a-z-]*\) .*/\1/p')
[ "$(echo "$all" | wc -w)" -ge 11 ] || { echo "calkit --help lists too few commands: $all"; exit 1; }
for command in $all; do
  help=$("$calkit" "$command" --help)
  for sub in $(echo "$help" | sed -n '/^Subcommands:/,$p' | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
    help="$help
$("$calkit" "$command" "$sub" --help)"
  done
  case $(echo "$help" | sed -n '/^Examples:/,/^Usage:/p' | head -n 1) in
  Examples:) ;;
  *) echo "calkit $command --help does not show examples before the usage" && bad=1 ;;
  esac
  page=docs/cli/$command.md
  [ -f "$page" ] || { echo "$page is missing" && bad=1 && continue; }
  in_help=$(echo "$help" | grep -oE '^ +(-[a-z],)?--[a-z][a-z-]*' | grep -oE -e '--[a-z][a-z-]*' | sort -u)
  in_page=$(grep -oE -e '--[a-z][a-z-]*' "$page" | sort -u)
  for option in $in_help; do
    case $option in --help | --json | --evidence | --verbose) continue ;; esac # every command's; docs/cli/README.md
    echo "$in_page" | grep -qxe "$option" || { echo "$page does not name $option" && bad=1; }
  done
  for option in $in_page; do
    echo "$in_help" | grep -qxe "$option" && continue
    case $(for other in $all; do echo "$other"; done | while read -r other; do "$calkit" "$other" --help; done | grep -ce "$option" || true) in
    0) echo "$page names $option, which no command has" && bad=1 ;;
    esac
  done
done
exit $bad
