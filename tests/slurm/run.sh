#!/bin/sh
# run.sh CALKIT ROOT: tools/slurm/freeze on a real Slurm that this test starts. The merged baseline has the bytes of one that was
# frozen without shards; a shard that fails keeps the merge from running, and the next run freezes that one alone.
set -eu
calkit=$1 root=$2
# Slurm insists on a host name that resolves. Where this one does not, the test gets one of its own, seen by nobody else.
if ! getent hosts "$(hostname -s)" > /dev/null; then
  [ "$(id -u)" -eq 0 ] && new=-u || new=-ru
  exec unshare $new sh -c 'hostname localhost && exec sh "$0" "$@"' "$0" "$@"
fi
dir=$(mktemp -d)
. "$root/tests/slurm/cluster.sh"
trap 'cluster_stop; rm -rf "$dir"' EXIT
cluster_start "$dir/cluster"
cd "$dir"
export CALKIT="$calkit" WAIT=1 OMP_NUM_THREADS=1
model=$root/tests/data/models/qwen3-trained
head -n 8 "$root/tests/data/golden/qwen3-trained/prompts.jsonl" > prompts.jsonl
options="--prompts $dir/prompts.jsonl --steps 4 --context 256 --kv-dtype f32"
"$calkit" freeze-baseline model "$model" --out whole $options --evidence none > /dev/null

# shellcheck disable=SC2086 # options are words
"$root/tools/slurm/freeze" "$model" merged 3 $options
diff -r whole merged
"$calkit" freeze-baseline verify merged --evidence none > /dev/null

# A shard that cannot be written: the merge must not run, and the next run does the rest.
mkdir -p cut.shards/2 && echo other > cut.shards/2/file
if "$root/tools/slurm/freeze" "$model" cut 3 $options > first.log 2>&1; then
  echo "a failed shard was not noticed" >&2 && exit 1
fi
grep -q 'shard-2.log' first.log
test ! -e cut
rm -r cut.shards/2
"$root/tools/slurm/freeze" "$model" cut 3 $options > second.log
grep -q 'tasks 2$' second.log
diff -r whole cut
