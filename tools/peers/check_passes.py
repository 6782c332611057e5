#!/usr/bin/env python3
"""Holds calkit's passes against ONNX Runtime: check_passes.py CALKIT PROJECT

Each graph of other exporters in tests/data/onnx and the exports of two models are normalised by `calkit onnx-normalize`, the foreign ones
also into other opsets. What it wrote must pass ONNX's full check, give ONNX Runtime's outputs of the raw graph on inputs drawn here, and
stay the same when it is normalised again; passes.json must keep to its schema. One line a check; exit 1 if one fails, 3 if a peer is missing.
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

FOREIGN = {"micro-prefill-ts17": [None, 18, 21], "micro-prefill-dynamo23": [None], "micro-decode-external": [None, 21],
           "micro-decode-fp16": [None]}
MODELS = ["qwen3-qknorm", "qwen3moe-e8k2"]
failures = 0


def report(passed, text):
    global failures
    failures += not passed
    print(("ok    " if passed else "FAIL  ") + text, flush=True)


def worst(raw, clean):
    """The largest NMSE of any output in ONNX Runtime."""
    first, second = session(raw), session(clean)
    given = feeds(first)
    if [value.name for value in first.get_outputs()] != [value.name for value in second.get_outputs()]:
        return float("inf")
    out = 0.0
    for a, b in zip(first.run(None, given), second.run(None, given)):
        out = max(out, nmse(a, b))
    return out


def normalize(calkit, source, out, *more):
    done = subprocess.run([calkit, "onnx-normalize", str(source), "--out", str(out), "--prompts", "2", "--evidence", "none", *more],
                          capture_output=True, text=True)
    if done.returncode != 0:
        report(False, f"{source.name} {' '.join(more)}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.returncode == 0


def check(calkit, name, source, out, schema, *more):
    if not normalize(calkit, source, out, *more):
        return
    limit = 1e-6 if "fp16" in name else 1e-12
    written = json.loads((out / "passes.json").read_text())
    try:
        jsonschema.validate(written, schema)
    except jsonschema.ValidationError as problem:
        report(False, f"{name}: passes.json: {problem.message}")
    for graph in written["graphs"]:
        clean = out / graph["normalized"]
        onnx.checker.check_model(str(clean), full_check=True)
        distance = worst(out / graph["raw"], clean)
        counts = [len(onnx.load(str(out / graph[side]), load_external_data=False).graph.node) for side in ("raw", "normalized")]
        report(distance <= limit, f"{name} {graph['name']} opset {graph['opset'][0]} -> {graph['opset'][1]}: {counts[0]} -> {counts[1]} nodes, "
                                  f"ONNX Runtime NMSE {distance:.2g}")
        again = out.with_name(out.name + "-again")
        if len(written["graphs"]) == 1 and normalize(calkit, clean, again):
            second = json.loads((again / "passes.json").read_text())["graphs"][0]
            report(second["normalized_sha256"] == graph["normalized_sha256"], f"{name}: normalised again, the same bytes")


def check_described(calkit, project, work, schema):
    """An operator of nobody's domain, run by the body of its description: ONNX Runtime computes what the description says."""
    if not normalize(calkit, project / "tests/data/operators/custom/gate.onnx", work / "gate", "--operators", str(project / "manifests/operators/example.yaml")):
        return
    written = json.loads((work / "gate/passes.json").read_text())
    jsonschema.validate(written, schema)
    onnx.checker.check_model(str(work / "gate/normalized/gate.onnx"), full_check=True)
    x = np.random.default_rng(5).standard_normal((2, 3, 8)).astype(np.float32)
    got = session(work / "gate/normalized/gate.onnx").run(None, {"x": x})[0]
    wanted = np.abs(-x / (1 + np.exp(x)) * x)
    report(np.allclose(got, wanted, atol=1e-6) and written["graphs"][0]["custom_operators"][0]["op"] == "com.example:Gate",
           f"described operator: ONNX Runtime within {np.abs(got - wanted).max():.2g} of what the description says")


def main():
    calkit, project = sys.argv[1], pathlib.Path(sys.argv[2])
    data = project / "tests/data"
    schema = json.loads((project / "manifests/schemas/onnx-passes.schema.json").read_text())
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        for name, opsets in FOREIGN.items():
            for opset in opsets:
                more = [] if opset is None else ["--opset", str(opset)]
                check(calkit, name, data / "onnx" / name / "model.onnx", work / f"{name}-{opset}", schema, *more)
        for name in MODELS:
            subprocess.run([calkit, "onnx-export", str(data / "models" / name), "--out", str(work / name), "--evidence", "none"],
                           check=True, stdout=subprocess.DEVNULL)
            check(calkit, name, work / name, work / f"{name}-clean", schema)
        check_described(calkit, project, work, schema)
    print(f"{'fail' if failures else 'pass'}: {failures} checks failed")
    sys.exit(1 if failures else 0)


main()
