#!/usr/bin/env python3
"""ONNX's own node and simple-model cases through calkit's executor.

  build/peers/bin/python tools/peers/check_onnx_nodes.py CALKIT_ONNX_CASES [-v]

Cases are generated here, from the onnx package. One whose operators are all on the claim list has to pass, with the
tolerances that it states, or be named below with the reason why calkit refuses it; refusing has to be an error, not an
answer. A case with element types or value kinds that calkit does not have has to be refused as well. Prints the counts.
"""
import collections
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx

from npz_cases import read_npz, write_npz

warnings.filterwarnings("ignore")
from onnx.backend.test.case.model import collect_testcases as model_cases  # noqa: E402
from onnx.backend.test.case.node import collect_testcases as node_cases  # noqa: E402

# Name pattern -> why.
REFUSED = {
    r"test_dropout_.*training|test_training_dropout": "Dropout in training: random",
}
DTYPES = {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
          "uint64", "bool"}


def operators(graph, functions, found):
    for node in graph:
        if (node.domain, node.op_type) in functions:
            continue
        found.add(f"{node.domain or 'ai.onnx'}:{node.op_type}")
        for attribute in node.attribute:
            for inner in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                operators(inner.node, functions, found)
    return found


def unclaimed(model, claims):
    functions = {(f.domain, f.name) for f in model.functions}
    found = operators(model.graph.node, functions, set())
    for function in model.functions:
        operators(function.node, functions, found)
    version = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    return sorted(o for o in found if o not in claims or claims[o] > version)


def array_of(value):
    """The array of a value, or None for one that is no tensor."""
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.ndarray) or np.isscalar(value) else None


def foreign_values(case):
    """Types of inputs, outputs and constants that calkit has no element type for."""
    out = set()
    inputs, outputs = case.data_sets[0]
    for value in list(inputs) + list(outputs):
        array = array_of(value)
        if array is None:
            out.add(type(value).__name__)
        elif array.dtype.name not in DTYPES:
            out.add(array.dtype.name)
    for info in list(case.model.graph.input) + list(case.model.graph.output):
        if not info.type.HasField("tensor_type"):
            out.add(info.type.WhichOneof("value") or "none")
    return out


def member(prefix, name, array):
    if array.dtype.name == "bfloat16":
        return f"{prefix}/bf16/{name}", array.view(np.uint16)
    return f"{prefix}/x/{name}", array


def write(cases, path):
    members = {}
    for case in cases.values():
        members[f"{case.name}/model"] = np.frombuffer(case.model.SerializeToString(), np.uint8)
        names = [i.name for i in case.model.graph.input if i.name]
        for name, value in zip(names, case.data_sets[0][0]):
            array = array_of(value)
            if array is not None and array.dtype.name in DTYPES:
                key, array = member(f"{case.name}/in", name, array)
                members[key] = array
        for position, info in enumerate(case.model.graph.output):
            members[f"{case.name}/out/{position:02}/{info.name}"] = np.zeros(0, np.uint8)
    write_npz(path, members)


def differs(case, position, dtype, got):
    want = array_of(case.data_sets[0][1][position])
    if want.dtype.name == "bfloat16":
        import ml_dtypes

        got = got.view(ml_dtypes.bfloat16)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if want.dtype.kind in "iub":
        return "" if np.array_equal(got, want) else f"{np.count_nonzero(got != want)} of {want.size} differ"
    wide = [a.astype(np.float64) for a in (got, want)]
    rtol = max(case.rtol, {"bfloat16": 0.016, "float16": 2e-3}.get(want.dtype.name, 0))
    try:
        np.testing.assert_allclose(*wide, rtol=rtol, atol=case.atol)
    except AssertionError as problem:
        return re.sub(r"\s+", " ", str(problem))[:200]
    return ""


def main():
    runner, verbose = sys.argv[1], "-v" in sys.argv
    listed = subprocess.run([runner, "--claims"], check=True, capture_output=True, text=True).stdout.splitlines()
    claims = {line.split("|")[0]: int(line.split("|")[1]) for line in listed}
    cases, outside, kinds = {}, collections.Counter(), {}
    for case in list(node_cases(None)) + [c for c in model_cases() if c.model is not None]:
        lacking = unclaimed(case.model, claims)
        if lacking:
            outside.update(lacking)
            continue
        if not case.data_sets:
            continue
        cases[case.name] = case
        kinds[case.name] = foreign_values(case)
    with tempfile.TemporaryDirectory() as scratch:
        write(cases, f"{scratch}/in.npz")
        done = subprocess.run([runner, f"{scratch}/in.npz", f"{scratch}/out.npz"], capture_output=True, text=True)
        if done.returncode:
            print(f"the runner ended with {done.returncode}; last case {done.stderr.splitlines()[-1:]}")
            return 1
        got = read_npz(f"{scratch}/out.npz")
    answers = collections.defaultdict(dict)
    for name, array in got.items():
        case, kind, *rest = name.split("/")
        if kind == "error":
            answers[case]["error"] = bytes(array).decode()
        else:
            answers[case][int(rest[0])] = (rest[1], array)
    passed, refused, foreign, failed = 0, collections.Counter(), collections.Counter(), []
    for name, case in cases.items():
        answer = answers[name]
        reason = next((why for pattern, why in REFUSED.items() if re.search(pattern, name)), None)
        if kinds[name] or reason:
            if "error" not in answer:
                failed.append(f"{name}: answered, though {reason or kinds[name]}")
            (foreign if kinds[name] else refused)[reason or ", ".join(sorted(kinds[name]))] += 1
            continue
        if "error" in answer:
            failed.append(f"{name}: {answer['error']}")
            continue
        problems = [f"output {i}: {d}" for i in range(len(case.model.graph.output))
                    if (d := differs(case, i, *answer[i]))]
        if problems:
            failed.append(f"{name}: {'; '.join(problems)}")
        else:
            passed += 1
    if verbose:
        print("operators not claimed:", ", ".join(f"{o} {n}" for o, n in sorted(outside.items())))
    for table, title in ((refused, "refused"), (foreign, "element types and kinds that calkit has not")):
        for why, count in sorted(table.items()):
            print(f"{title}: {count} {why}")
    for line in failed:
        print(line)
    print(f"{len(claims)} operators claimed; {len(cases)} cases of them: {passed} passed, {sum(refused.values())} refused by "
          f"name, {sum(foreign.values())} of other types, {len(failed)} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
