#!/usr/bin/env python3
"""Holds onnx-reduce against ONNX Runtime and ONNX's checker: check_reduce.py CALKIT PROJECT

Faults are planted in a graph of 557 nodes that another exporter wrote; this file, called with WAY and GRAPH, is the command that sees them.
What is left must have the nodes of the fault and no others, be valid by onnx.checker where the whole graph is, and still fail; reduce.json
must keep to its schema. One line a check; exit 1 if one fails, 3 if a peer is missing.
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
    import onnxruntime
except ImportError as problem:
    print(f"no verdict: {problem}; tools/peers/setup makes the environment", file=sys.stderr)
    sys.exit(3)

SEEN = 9
AXIS_OF_FAULT = 1
TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(bool)": np.bool_}
failures = 0


def report(passed, text):
    global failures
    failures += not passed
    print(("ok    " if passed else "FAIL  ") + text, flush=True)


def answers(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    run = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    draw, feed = np.random.default_rng(3), {}
    for value in run.get_inputs():
        shape = [extent if isinstance(extent, int) else 1 if axis == 0 else 6 for axis, extent in enumerate(value.shape)]
        kind = TYPES[value.type]
        feed[value.name] = (draw.standard_normal(shape) if kind is np.float32 else draw.integers(0, 6, shape)).astype(kind)
    return run.run(None, feed)


def sees_another_answer(model):
    """The planted axis changes what ONNX Runtime answers."""
    repaired = onnx.ModelProto()
    repaired.CopyFrom(model)
    for node in repaired.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Softmax" and attribute.name == "axis" and attribute.i == AXIS_OF_FAULT:
                attribute.i = -1
    return any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(answers(model), answers(repaired)))


def sees_refusal(model):
    try:
        onnx.checker.check_model(model)
        return False
    except onnx.checker.ValidationError as problem:
        return "Unrecognized attribute: beta" in str(problem)


def sees_runtime_refusal(model):
    try:
        answers(model)
        return False
    except Exception as problem:  # onnxruntime raises its own types
        return "com.example" in str(problem)


def sees_pair(model):
    """A fault of two nodes: a Sigmoid whose answer goes into a Mul twice over."""
    makers = {output: node for node in model.graph.node for output in node.output}
    return any(node.op_type == "Mul" and any(name in makers and makers[name].op_type == "Sigmoid" for name in node.input)
               for node in model.graph.node)


WAYS = {"answer": sees_another_answer, "checker": sees_refusal, "runtime": sees_runtime_refusal, "pair": sees_pair}


def plant(way, model):
    node = [n for n in model.graph.node if n.op_type == "Softmax"][1]
    if way == "answer":
        node.attribute[0].i = AXIS_OF_FAULT
    if way == "checker":
        node.attribute.append(onnx.helper.make_attribute("beta", 2))
    if way == "runtime":
        node.op_type, node.domain = "Odd", "com.example"
        del node.attribute[:]
        model.opset_import.append(onnx.helper.make_opsetid("com.example", 1))


def check(calkit, project, schema, way, wanted, valid):
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        model = onnx.load(str(project / "tests/data/onnx/micro-prefill-ts17/model.onnx"))
        plant(way, model)
        onnx.save(model, str(work / "whole.onnx"))
        done = subprocess.run([calkit, "onnx-reduce", str(work / "whole.onnx"), "--out", str(work / "small"), "--evidence", "none",
                               "--check", f"'{sys.executable}' '{pathlib.Path(__file__).resolve()}' {way} {{}}"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return report(False, f"{way}: exit {done.returncode}: {done.stdout}{done.stderr}")
        written = json.loads((work / "small/reduce.json").read_text())
        jsonschema.validate(written, schema)
        small = onnx.load(str(work / "small/reduced.onnx"))
        ops = sorted(node.op_type for node in small.graph.node)
        report(ops in wanted and len(model.graph.node) >= 300,
               f"{way}: {len(model.graph.node)} nodes -> {' '.join(ops)} in {written['checks']} checks")
        report(WAYS[way](small), f"{way}: what is left still fails")
        report(written["valid"] == valid, f"{way}: the record says {'valid' if valid else 'not valid'}")
        if valid:
            onnx.checker.check_model(str(work / "small/reduced.onnx"), full_check=True)


def main():
    if sys.argv[1] in WAYS:
        sys.exit(SEEN if WAYS[sys.argv[1]](onnx.load(sys.argv[2])) else 0)
    calkit, project = sys.argv[1], pathlib.Path(sys.argv[2])
    schema = json.loads((project / "manifests/schemas/onnx-reduce.schema.json").read_text())
    check(calkit, project, schema, "answer", [["Softmax"]], True)
    check(calkit, project, schema, "checker", [["Softmax"], ["Size", "Softmax"]], False)
    check(calkit, project, schema, "runtime", [["Odd"], ["Odd", "Size"]], True)
    check(calkit, project, schema, "pair", [["Mul", "Sigmoid"]], True)
    print(f"{'fail' if failures else 'pass'}: {failures} checks failed")
    sys.exit(1 if failures else 0)


main()
