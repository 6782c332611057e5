#!/usr/bin/env python3
"""Holds onnx-fuse against ONNX Runtime: check_fusion.py CALKIT PROJECT

Exports of several families are fused by `calkit onnx-fuse`, in F32 and with W8A8 projections. What it wrote must pass ONNX's full check (weights
included) and give ONNX Runtime, which runs the functions of the fused operators, the outputs of the graph before. Each golden of an operator is run again:
ONNX Runtime's answer on the same operands must be calkit's kernel's. fusion.json must keep to its schema. One line a check; exit 1 if one fails, 3 if a peer is missing.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
    import numpy as np
    import onnx
    from onnx_runs import feeds, nmse, session
except ImportError as problem:
    print(f"no verdict: {problem}; tools/peers/setup makes the environment", file=sys.stderr)
    sys.exit(3)

MODELS = ["qwen3-qknorm", "qwen2-bias-tied-v4", "llama-gqa-rope3", "qwen3moe-e8k2"]
GRAPH_LIMIT, KERNEL_LIMIT = 1e-12, 1e-10
failures = 0


def report(passed, text):
    global failures
    failures += not passed
    print(("ok    " if passed else "FAIL  ") + text, flush=True)


def calkit_run(calkit, *words):
    done = subprocess.run([calkit, *map(str, words), "--evidence", "none"], capture_output=True, text=True)
    report(done.returncode == 0, f"{' '.join(map(str, words[:1]))} {pathlib.Path(words[1]).name}: exit {done.returncode} {done.stderr.strip()}")
    return done.returncode == 0


def check_graph(name, raw, fused):
    onnx.checker.check_model(str(fused), full_check=True)
    before, after = session(raw), session(fused)
    given = feeds(before)
    wanted = [value.name for value in before.get_outputs()]
    worst = max(nmse(a, b) for a, b in zip(before.run(wanted, given), after.run(wanted, given)))
    report(worst <= GRAPH_LIMIT, f"{name} {raw.stem}: ONNX Runtime before and after, NMSE {worst:.2g}")


def one_call(model, node, operands):
    """The call alone, its computed operands as inputs."""
    signature = next(f for f in model.functions if f.name == node.op_type)
    known = {tensor.name: tensor for tensor in model.graph.initializer}
    inputs, constants, given = [], {}, {}
    for parameter, value in zip(signature.input, node.input):
        if value in known:
            constants[value] = known[value]
            continue
        array = operands[f"in.{parameter}"]
        if value not in given:
            inputs.append(onnx.helper.make_tensor_value_info(value, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        given[value] = array
    outputs = [onnx.helper.make_empty_tensor_value_info(value) for value in node.output]
    graph = onnx.helper.make_graph([node], node.op_type, inputs, outputs, list(constants.values()))
    made = onnx.helper.make_model(graph, opset_imports=model.opset_import, functions=model.functions, ir_version=model.ir_version)
    return onnx.shape_inference.infer_shapes(made), given, list(signature.output)


def check_kernels(name, folder, graph):
    model = onnx.load(str(folder / graph["file"]))
    for kernel in graph["kernels"]:
        node = next(n for n in model.graph.node if n.name == kernel["node"] and n.op_type == kernel["kernel"])
        operands = np.load(folder / kernel["golden"])
        made, given, results = one_call(model, node, operands)
        answers = session(made.SerializeToString()).run(None, given)
        for result, answer in zip(results, answers):
            distance = nmse(answer, operands[f"kernel.{result}"])
            exact = answer.dtype == np.int64
            report(distance <= (0 if exact else KERNEL_LIMIT), f"{name} {kernel['kernel']}.{result}: ONNX Runtime on the golden, NMSE {distance:.2g}")


def check(calkit, name, source, out, schema, raw, *more):
    if not calkit_run(calkit, "onnx-fuse", source, "--out", out, "--prompts", "2", "--repeats", "0", *more):
        return
    written = json.loads((out / "fusion.json").read_text())
    try:
        jsonschema.validate(written, schema)
    except jsonschema.ValidationError as problem:
        report(False, f"{name}: fusion.json: {problem.message}")
    for graph in written["graphs"]:
        if raw:
            check_graph(name, raw / graph["file"], out / graph["file"])
        check_kernels(name, out, graph)


def main():
    calkit, project = sys.argv[1], pathlib.Path(sys.argv[2])
    schema = json.loads((project / "manifests/schemas/onnx-fuse.schema.json").read_text())
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        for name in MODELS:
            raw = work / name
            if not calkit_run(calkit, "onnx-export", project / "tests/data/models" / name, "--out", raw):
                continue
            check(calkit, name, raw, work / f"{name}-fused", schema, raw)
            # The quantised graph before its fusions: what no fusion takes.
            plain = work / f"{name}-plain"
            check(calkit, f"{name} w8a8", raw, work / f"{name}-w8a8", schema, None, "--quantize", "w8a8", "--top-k", "7")
            if calkit_run(calkit, "onnx-fuse", raw, "--out", plain, "--quantize", "w8a8", "--only", "swiglu-down-residual", "--prompts", "2"):
                for graph in ("prefill", "decode"):
                    check(calkit, f"{name} after w8a8", plain / f"{graph}.onnx", work / f"{name}-{graph}", schema, plain)
    print(f"{'fail' if failures else 'pass'}: {failures} checks failed")
    sys.exit(1 if failures else 0)


main()
