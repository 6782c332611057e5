#!/usr/bin/env python3
"""Holds calkit's ONNX work against peers: check_onnx.py CALKIT DATA

CALKIT is the binary, DATA the folder tests/data. For each golden model the exported graphs must pass ONNX's full check,
give Transformers' logits in ONNX Runtime (prefill, and decode token by token), and be counted by `calkit onnx-inventory`
as the Python package onnx counts them. One line a check; exit 1 if one fails, 3 if a peer is missing.
Needs: pip install onnx==1.23.2 onnxruntime==1.32.0 numpy
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as problem:
    print(f"no verdict: {problem}; pip install onnx==1.23.2 onnxruntime==1.32.0 numpy", file=sys.stderr)
    sys.exit(3)

FAMILIES = {"llama", "llama llama3", "mistral", "qwen2", "qwen3", "qwen3_moe"}  # rope scaling behind the architecture
NMSE, MAX_ABS, MARGIN = 1e-9, 1e-3, 1e-3
CHAIN_STEPS = 15
LONG = 300  # longer prompts are prefilled, but their decode chain adds nothing

failures = 0


def report(passed, text):
    global failures
    failures += not passed
    print(("ok    " if passed else "FAIL  ") + text, flush=True)


def calkit(binary, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"calkit {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr}")
    return done


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


class Distance:
    """The worst NMSE and max abs over many vectors."""

    def __init__(self):
        self.nmse = self.max_abs = 0.0
        self.count = 0

    def add(self, got, want):
        got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
        if not np.isfinite(got).all():
            self.nmse = self.max_abs = float("inf")
            return
        self.nmse = max(self.nmse, float(((got - want) ** 2).sum() / (want**2).sum()))
        self.max_abs = max(self.max_abs, float(np.abs(got - want).max()))
        self.count += 1

    def good(self):
        return self.count > 0 and self.nmse <= NMSE and self.max_abs <= MAX_ABS

    def __str__(self):
        return f"{self.count} vectors, NMSE {self.nmse:.2e}, max abs {self.max_abs:.2e}"


class Pair:
    """Both graphs in ONNX Runtime, one thread."""

    def __init__(self, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        make = lambda name: onnxruntime.InferenceSession(
            folder / name, options, providers=["CPUExecutionProvider"])
        self.prefill_session, self.decode_session = make("prefill.onnx"), make("decode.onnx")
        self.cache_names = [o.name for o in self.prefill_session.get_outputs()][1:]

    def prefill(self, rows):
        """rows: lists of ids, padded on the right. Returns logits [B, V] and the cache."""
        length = max(map(len, rows))
        tokens = np.zeros((len(rows), length), np.int64)
        for at, row in enumerate(rows):
            tokens[at, : len(row)] = row
        positions = np.tile(np.arange(length, dtype=np.int64), (len(rows), 1))
        last = np.array([len(row) - 1 for row in rows], np.int64)
        logits, *cache = self.prefill_session.run(
            None, {"token_ids": tokens, "position_ids": positions, "last_index": last})
        return logits, cache

    def decode(self, token, position, cache):
        feed = {"token_ids": np.array([[token]], np.int64), "position_ids": np.array([[position]], np.int64)}
        for name, value in zip(self.cache_names, cache):
            feed[name.replace("present_", "past_")] = value
        logits, *cache = self.decode_session.run(None, feed)
        return logits[0], cache


def check_logits(name, pair, golden):
    ids, logits = np.load(golden / "token_ids.npz"), np.load(golden / "logits_fp32.npz")
    distance = Distance()
    for prompt in logits.files:
        distance.add(pair.prefill([ids[prompt]])[0][0], logits[prompt])
    report(distance.good(), f"{name}: prefill against Transformers: {distance}")
    short = [p for p in logits.files if len(ids[p]) <= LONG][:6]
    batch, distance = pair.prefill([ids[p] for p in short])[0], Distance()
    for row, prompt in enumerate(short):
        distance.add(batch[row], logits[prompt])
    report(distance.good(), f"{name}: one padded batch against Transformers: {distance}")


def check_chain(name, pair, golden):
    ids = np.load(golden / "token_ids.npz")
    tops, same = Distance(), Distance()
    compared = excused = wrong = 0
    for row in lines(golden / "greedy_fp32.jsonl"):
        prompt = ids[row["id"]]
        if len(prompt) == 0 or len(prompt) > LONG:
            continue
        logits, cache = pair.prefill([prompt])
        logits = logits[0]
        for step, want in enumerate(row["steps"][: CHAIN_STEPS + 1]):
            tops.add(logits[want["top_ids"]], want["top_logits"])
            compared += 1
            if int(logits.argmax()) != want["token"]:
                excused += want["margin"] <= MARGIN
                wrong += want["margin"] > MARGIN
            if step < CHAIN_STEPS:
                logits, cache = pair.decode(want["token"], len(prompt) + step, cache)
        longer = list(prompt) + row["tokens"][:CHAIN_STEPS]
        full, full_cache = pair.prefill([longer])
        same.add(logits, full[0])
        for got, expected in zip(cache, full_cache):
            same.add(got, expected)
    report(tops.good(), f"{name}: decode chains, top-20 logits against Transformers: {tops}")
    report(wrong == 0 and compared > 0 and excused <= compared / 100,
           f"{name}: greedy tokens along the reference: {compared} steps, {wrong} wrong, {excused} excused")
    report(same.good(), f"{name}: decode after prefill equals the longer prefill, logits and cache: {same}")


def op_counts(path):
    counts = collections.Counter()

    def walk(nodes):
        for node in nodes:
            domain = node.domain if node.domain not in ("", "ai.onnx") else "ai.onnx"
            counts[f"{domain}:{node.op_type}"] += 1
            for attribute in node.attribute:
                for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                    walk(graph.node)

    model = onnx.load(path, load_external_data=False)
    walk(model.graph.node)
    for function in model.functions:
        walk(function.node)
    return dict(counts)


def check_inventory(binary, name, path):
    document = json.loads(calkit(binary, "onnx-inventory", path, "--json", "--evidence", "none").stdout)
    want = op_counts(path)
    report(document["op_counts"] == want, f"{name}: {sum(want.values())} nodes counted as python onnx counts them")


def check_model(binary, data, name, scratch):
    for dtype in ("fp32", "bf16"):
        folder = scratch / f"{name}-{dtype}"
        done = calkit(binary, "onnx-export", data / "models" / name, "--out", folder, "--dtype", dtype,
                      "--evidence", "none")
        if done.returncode != 0:
            report(False, f"{name}: export in {dtype}: {done.stdout}")
            return
        for graph in ("prefill.onnx", "decode.onnx"):
            try:
                onnx.checker.check_model(str(folder / graph), full_check=True)
                report(True, f"{name} {dtype}: {graph} passes onnx.checker's full check")
            except Exception as problem:  # the checker raises several unrelated types
                report(False, f"{name} {dtype}: {graph}: {problem}")
            check_inventory(binary, f"{name} {dtype} {graph}", folder / graph)
    golden = data / "golden" / name
    pair = Pair(scratch / f"{name}-fp32")
    check_logits(name, pair, golden)
    check_chain(name, pair, golden)


def check_families(data, models):
    """Every family, with and without tied embeddings, is among the models: what is not there is not proven."""
    seen, ties = set(), set()
    for name in models:
        config = json.loads((data / "models" / name / "config.json").read_text())
        rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
        kind = rope.get("rope_type", "default")
        seen.add(config["model_type"] + ("" if kind == "default" else f" {kind}"))
        ties.add(bool(config.get("tie_word_embeddings")))
    report(seen >= FAMILIES and ties == {True, False}, f"{len(models)} models, tied and untied, of {', '.join(sorted(seen))}")


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    binary, data = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        models = sorted(path.name for path in (data / "golden").iterdir())
        check_families(data, models)
        for name in models:
            check_model(binary, data, name, pathlib.Path(scratch))
    for path in sorted((data / "onnx").glob("*/model.onnx")):
        check_inventory(binary, path.parent.name, path)
    print(f"{'pass' if failures == 0 else 'fail'}: {failures} checks failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
