#!/usr/bin/env python3
"""Holds `calkit onnx-inventory` against the Python package onnx: check_inventory.py CALKIT ROOT

Every model that the package carries for its tests (light, simple, pytorch-converted, pytorch-operator) and every fixture of
tests/data/onnx: operator counts over all levels, functions, initialisers by type, graph inputs, shapes where onnx's own inference
states them; the document against manifests/schemas/onnx-inventory.schema.json. One line a group; exit 1 if something differs."""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
import onnx
import yaml
from onnx import TensorProto, helper

CALKIT, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
PACKAGE = pathlib.Path(onnx.__file__).parent / "backend/test/data"
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


def calkit(*arguments):
    return subprocess.run([CALKIT, "onnx-inventory", *map(str, arguments), "--evidence", "none"], capture_output=True, text=True, timeout=120)


def graphs_of(attribute):
    return ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs)


def facts(path):
    """What a plain walk with protobuf finds."""
    model = onnx.load(path, load_external_data=False)
    counts, types = collections.Counter(), collections.Counter()

    def nodes(items):
        for node in items:
            counts[f"{node.domain if node.domain not in ('', 'ai.onnx') else 'ai.onnx'}:{node.op_type}"] += 1
            for attribute in node.attribute:
                for inner in graphs_of(attribute):
                    graph(inner)

    def graph(item):
        nodes(item.node)
        for tensor in list(item.initializer) + [s.values for s in item.sparse_initializer]:
            types[TensorProto.DataType.Name(tensor.data_type)] += 1

    graph(model.graph)
    for function in model.functions:
        nodes(function.node)
    weights = {t.name for t in model.graph.initializer}
    inputs = [v.name for v in model.graph.input if v.name not in weights]
    return dict(counts), dict(types), inputs, [f"{f.domain}:{f.name}" for f in model.functions]


def check_files(name, paths):
    schema = jsonschema.Draft7Validator(json.loads((ROOT / "manifests/schemas/onnx-inventory.schema.json").read_text()))
    nodes = 0
    for path in paths:
        counts, types, inputs, functions = facts(path)
        done = calkit(path, "--json")
        check(done.returncode in (0, 1), f"{path}: exit {done.returncode} {done.stderr[:200]}")
        if done.returncode not in (0, 1):
            continue
        document = json.loads(done.stdout)
        graph = document["graphs"][0]
        for error in schema.iter_errors(document):
            failures.append(f"{path}: schema: {'/'.join(map(str, error.path))}: {error.message[:200]}")
        check(document["op_counts"] == counts, f"{path}: op_counts")
        check({t: s["count"] for t, s in graph["initializers"]["by_type"].items()} == types, f"{path}: initialisers {types}")
        check([v["name"] for v in graph["inputs"]] == inputs, f"{path}: inputs")
        check(graph["functions"] == functions, f"{path}: functions")
        check(sum(f["count"] for f in graph["families"]) == graph["nodes"] == sum(counts.values()), f"{path}: families do not add up")
        check(sum(graph["support"]["nodes"].values()) == graph["nodes"], f"{path}: verdicts do not add up")
        check(done.returncode == (graph["verdict"] == "fail"), f"{path}: exit code")
        nodes += graph["nodes"]
    print(f"{name}: {len(paths)} files, {nodes} nodes")


def full_check(path):
    try:
        onnx.checker.check_model(str(path), full_check=True)
        return True
    except Exception:  # the checker raises several unrelated types
        return False


def check_verdicts(paths):
    """What onnx's full check accepts has no error here."""
    accepted = [path for path in paths if full_check(path)]
    for path in accepted:
        done = calkit(path)
        check(done.returncode == 0, f"{path}: onnx accepts it: {done.stdout[-300:]}")
    print(f"verdicts: {len(accepted)} files that onnx's full check accepts")


def tensor(name, dims, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def made(folder):
    """Files with what the package's own lack: functions with attributes, sparse initialisers, old and new opsets, nesting."""
    out = []

    def save(name, model):
        onnx.save(model, folder / name)
        out.append(folder / name)

    for opset in range(7, 29):
        graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [tensor("x", ["N", 2])], [tensor("y", ["N", 2])])
        save(f"opset{opset}.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3 if opset < 9 else 10))
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0])
    sparse = helper.make_sparse_tensor(values, helper.make_tensor("w_i", TensorProto.INT64, [2], [0, 3]), [4])
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [tensor("x", [4])], [tensor("y", [4])],
                              sparse_initializer=[sparse])
    save("sparse.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    inner = helper.make_graph([helper.make_node("Relu", ["x"], ["r"])], "b", [], [tensor("r", None)])
    for _ in range(5):
        inner = helper.make_graph([helper.make_node("If", ["c"], ["r"], then_branch=inner, else_branch=inner)], "b", [], [tensor("r", None)])
    graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)], "g",
                              [tensor("x", ["N"]), tensor("c", [], TensorProto.BOOL)], [tensor("y", ["N"])])
    save("nested.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    body = [helper.make_node("LeakyRelu", ["a"], ["t"]), helper.make_node("Mul", ["t", "a"], ["b"])]
    body[0].attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    function = helper.make_function("my", "Leak", ["a"], ["b"], body, imports[:1], ["slope"])
    graph = helper.make_graph([helper.make_node("Leak", ["x"], ["t"], domain="my", slope=0.5), helper.make_node("Leak", ["t"], ["y"], domain="my", slope=0.1)],
                              "g", [tensor("x", ["N", 3])], [tensor("y", ["N", 3])])
    save("function.onnx", helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=9))
    return out


def check_support_schema():
    validator = jsonschema.Draft7Validator(json.loads((ROOT / "manifests/schemas/op-support.schema.json").read_text()))
    for path in sorted((ROOT / "manifests/support").glob("ops-*.yaml")):
        for error in validator.iter_errors(yaml.safe_load(path.read_text())):
            failures.append(f"{path.name}: {'/'.join(map(str, error.path))}: {error.message[:200]}")


package = {kind: sorted((PACKAGE / kind).rglob("*.onnx")) for kind in ("light", "simple", "pytorch-converted", "pytorch-operator")}
for kind, files in package.items():
    check_files(kind, files)
fixtures = sorted((ROOT / "tests/data/onnx").glob("*/model.onnx"))
check_files("fixtures", fixtures)
with tempfile.TemporaryDirectory() as scratch:
    ours = made(pathlib.Path(scratch))
    check_files("made here", ours)
    check_verdicts([path for files in package.values() for path in files] + ours + fixtures)
check_support_schema()
for failure in failures[:40]:
    print(failure)
sys.exit(1 if failures else 0)
