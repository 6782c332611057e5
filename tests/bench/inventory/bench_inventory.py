#!/usr/bin/env python3
"""onnx-inventory of a 2.4 GB model beside the tools of the field, each a process of its own, taking turns.

  tools/peers/setup && tools/peers/setup_inventory
  build/peers/bin/python tests/bench/inventory/bench_inventory.py CALKIT WORK [--turns 5] [--timeout 300]

WORK keeps a random checkpoint of Qwen3-0.6B's shape (1.2 GB) and its F32 export (2.4 GB) for the next run. Prints a line for each tool:
the best wall time and the peak memory of its turns, or how it ended; then one JSON line. Bars for calkit: 0.4 s and 60 MB. The evidence
record is off: its hash of all weights is another command's work (sha256sum takes as long)."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PEERS = ROOT / "build/peers-inventory/bin"
MB = 1 << 20
COUNT = ("import onnx, collections, sys; m = onnx.load(sys.argv[1], load_external_data={}); "
         "print(collections.Counter(n.op_type for n in m.graph.node))")
INFER = "import onnx, sys; m = onnx.shape_inference.infer_shapes_path(sys.argv[1], sys.argv[2], data_prop=True)"
TOOL = ("import onnx_tool, sys; m = onnx_tool.Model(sys.argv[1]); m.graph.shape_infer({'token_ids': onnx_tool.create_ndarray_int64((1, 512)), "
        "'position_ids': onnx_tool.create_ndarray_int64((1, 512)), 'last_index': onnx_tool.create_ndarray_int64((1,))}); m.graph.profile(); "
        "m.graph.print_node_map()")


def tools(calkit, graph, work):
    python = [PEERS / "python", "-c"]
    return {
        "calkit onnx-inventory": [calkit, "onnx-inventory", graph, "--evidence", "none"],
        "calkit onnx-inventory --json": [calkit, "onnx-inventory", graph, "--evidence", "none", "--json"],
        "calkit ... --output html=": [calkit, "onnx-inventory", graph, "--evidence", "none", "--output", f"html={work / 'page.html'}"],
        "onnx, count alone": [*python, COUNT.format(False), graph],
        "onnx, count, with weights": [*python, COUNT.format(True), graph],
        "onnx, infer_shapes_path": [*python, INFER, graph, graph.parent / "inferred.onnx"],
        "onnxslim --inspect": [PEERS / "onnxslim", "--inspect", graph],
        "onnx-tool profile": [*python, TOOL, graph],
        "polygraphy inspect model": [PEERS / "polygraphy", "inspect", "model", graph],
        "polygraphy ... --show layers": [PEERS / "polygraphy", "inspect", "model", graph, "--show", "layers"],
    }


def run(command, timeout):
    """Wall seconds, peak memory, how it ended, its output. The peak is the largest process of the tree."""
    start = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        text, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return timeout, 0, "no end", ""
    return time.perf_counter() - start, 0, "" if process.returncode == 0 else f"exit {process.returncode}", text


def measured(command, timeout):
    """run() in a child, so that the peak memory of one tool is not that of another."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        import resource
        seconds, _, end, text = run(command, timeout)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        os.write(write, json.dumps([seconds, peak, end, text[-2000:]]).encode()[:60000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = json.loads(pipe.read())
    os.waitpid(child, 0)
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("calkit", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--timeout", type=int, default=300)
    options = parser.parse_args()
    model, export = options.work / "shaped", options.work / "onnx-f32"
    if not (model / "model.safetensors").exists():
        subprocess.run([ROOT / "build/peers/bin/python", ROOT / "tools/peers/make_shaped_checkpoint.py", model], check=True)
    if not (export / "prefill.onnx").exists():
        subprocess.run([options.calkit, "onnx-export", model, "--out", export, "--evidence", "none"], check=True, stdout=sys.stderr)
    graph = export / "prefill.onnx"
    size = sum(f.stat().st_size for f in (graph, export / "weights.bin"))
    best, failed = {}, {}
    for turn in range(options.turns):
        for name, command in tools(options.calkit, graph, options.work).items():
            if name in failed or (turn > 1 and best.get(name, (0, 0))[0] > 20):
                continue  # it ended badly, or is slow enough that two turns will do
            seconds, peak, end, text = measured(command, options.timeout)
            if end:
                failed[name] = (end, seconds, peak, (text.strip().splitlines() or [""])[-1][:160])
                continue
            old = best.get(name, (1e9, 0))
            best[name] = (min(old[0], seconds), max(old[1], peak))
    print(f"{size / 1e9:.2f} GB, {options.turns} turns")
    for name in tools(options.calkit, graph, options.work):
        if name in failed:
            end, seconds, peak, line = failed[name]
            print(f"{name:32} {end} after {seconds:.1f} s, {peak / MB:.0f} MB: {line}")
        else:
            print(f"{name:32} {best[name][0]:7.3f} s  {best[name][1] / MB:7.0f} MB")
    seconds, peak = best.get("calkit onnx-inventory", (1e9, 1e18))
    print(json.dumps({"bench": "inventory", "bytes": size, "calkit_s": round(seconds, 3), "bar_s": 0.4, "peak_mb": round(peak / MB, 1), "bar_mb": 60,
                      "others_s": {n: round(b[0], 3) for n, b in best.items() if not n.startswith("calkit")},
                      "failed": {n: f[0] for n, f in failed.items()}}))
    return 0 if seconds <= 0.4 and peak <= 60 * MB else 1


if __name__ == "__main__":
    sys.exit(main())
