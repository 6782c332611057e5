#!/usr/bin/env python3
"""freeze-baseline beside Transformers: the same prompts, BF16, 16 greedy steps, two threads each, taking turns.

  tools/peers/setup && tools/peers/setup_heavy
  build/peers-heavy/bin/python tests/bench/freeze/bench_freeze.py CALKIT WORK [--prompts 120] [--turns 4] [--threads 2]

WORK keeps a checkpoint of Qwen3-0.6B's shape with random weights (1.2 GB) for the next run. Each turn is a part of the prompts:
first `calkit freeze-baseline model` on them, the whole process, then Transformers on the same ids, the answering alone (its
imports and loading are not counted). Prints a line for each turn and one JSON line: seconds, ratio (bar 2.5), calkit's peak
memory (bar: weights + 400 MB), and how many greedy tokens agree.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
MB = 1 << 20
WORDS = ("the river keeps its own time and nobody asks why stone light window engine measure kernel tensor answer small "
         "quiet market harbour signal number garden paper winter story bridge cloud table between under after").split()
EXTRA = ["", " ", "\n\n\t", "你好，世界。今天天气很好。", "مرحبا بالعالم", "Zażółć gęślą jaźń", "🙂🚀👩‍👩‍👧", "e\u0301a\u0308o\u0302",
         "for (int i = 0; i < n; ++i) sum += x[i] * y[i];", "3.14159 2718281828 0x7fff 1e-9", "<|im_start|>user\nhi<|im_end|>\n"]


def prompts(count):
    """Short and long texts of our own making: most of 5 to 60 words, some of one, a few of 250."""
    draw = random.Random(7)
    texts = list(EXTRA)
    while len(texts) < count:
        length = draw.choice([1, 5, 8, 12, 16, 24, 32, 48, 60]) if len(texts) % 20 else 250
        texts.append(" ".join(draw.choice(WORDS) for _ in range(length)))
    return [{"id": f"p{i:03d}", "text": text} for i, text in enumerate(texts[:count])]


def run(command):
    """Wall seconds, peak memory in bytes, and stdout of a process."""
    start = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}: {text}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024, text


def agreement(baseline, peer_rows):
    same = all_steps = 0
    with open(baseline, encoding="utf-8") as file:
        ours = {row["id"]: row["tokens"] for row in map(json.loads, filter(str.strip, file))}
    for row in peer_rows:
        for a, b in zip(ours[row["id"]], row["tokens"]):  # from the first difference on, the texts are others
            all_steps += 1
            same += a == b
            if a != b:
                break
    return same, all_steps


def turn(options, model, part, number):
    """One part of the prompts through both; (calkit's seconds, its peak, the peer's seconds, greedy agreement)."""
    work = options.work
    texts, out, peer = work / "prompts.jsonl", work / f"baseline-{number}", work / "peer.jsonl"
    texts.write_text("".join(json.dumps(p, ensure_ascii=False) + "\n" for p in part), encoding="utf-8")
    ours, peak, _ = run([options.calkit, "freeze-baseline", "model", model, "--out", out, "--prompts", texts, "--dtype",
                         "bf16", "--steps", "16", "--noise", "0", "--threads", options.threads, "--evidence", "none"])
    reference = out / "reference"
    _, _, text = run([sys.executable, ROOT / "tools/peers/transformers_freeze.py", model, reference / "token_ids.npz",
                      peer, "--threads", options.threads])
    told = json.loads(text.strip().splitlines()[-1])
    same = agreement(reference / "greedy_tokens.jsonl", map(json.loads, peer.read_text(encoding="utf-8").splitlines()))
    print(f"turn {number}: {len(part)} prompts, {told['tokens']} tokens: calkit {ours:.1f} s, Transformers "
          f"{told['answer_s']:.1f} s (+ {told['load_s']:.1f} s of loading)", file=sys.stderr, flush=True)
    return ours, peak, told["answer_s"], same


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("calkit", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--prompts", type=int, default=120)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    model = options.work / "shaped"
    if not (model / "model.safetensors").exists():
        subprocess.run([sys.executable, ROOT / "tools/peers/make_shaped_checkpoint.py", model], check=True)
    weights = (model / "model.safetensors").stat().st_size
    texts = prompts(options.prompts)
    results = [turn(options, model, texts[i :: options.turns], i + 1) for i in range(options.turns)]
    ours, theirs = sum(r[0] for r in results), sum(r[2] for r in results)
    peak = max(r[1] for r in results)
    same, steps = (sum(r[3][i] for r in results) for i in range(2))
    print(json.dumps({"bench": "freeze", "prompts": len(texts), "calkit_s": round(ours, 1), "transformers_s": round(theirs, 1),
                      "ratio": round(theirs / ours, 2), "ratio_bar": 2.5, "peak_mb": peak // MB,
                      "peak_bar_mb": weights // MB + 400, "greedy_same": same, "greedy_steps": steps,
                      "per_turn": [round(r[2] / r[0], 2) for r in results]}))
    return 0 if theirs >= 2.5 * ours and peak <= weights + 400 * MB else 1


if __name__ == "__main__":
    sys.exit(main())
