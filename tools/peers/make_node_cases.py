#!/usr/bin/env python3
"""Operator goldens for tests/unit/exec: ONNX's own node test cases (models, inputs, outputs) in one npz.

  build/peers/bin/python tools/peers/make_node_cases.py tests/data/operators/node_cases.npz

Members: <case>/model (the bytes of the .onnx), <case>/in/<input>, <case>/out/<output>. Needs onnx==1.23.2.
Taken are the cases of the operators calkit runs, in element types it has, up to 64 KiB a case.
"""
import io
import sys
import zipfile

import numpy as np
from onnx.backend.test.case.node import collect_testcases

OPERATORS = """Add And Attention Cast Concat Constant ConstantOfShape Cos Div Equal Exp Expand Gather GatherND Gemm Greater
GreaterOrEqual Identity Less LessOrEqual MatMul Mul Neg NonZero Not Or Pow RMSNormalization Range ReduceSum Reshape
RotaryEmbedding ScatterND Shape Sigmoid Sin Slice Softmax Sqrt Squeeze Sub TopK Transpose Unsqueeze Where""".split()
TYPES = {"float32", "int64", "int32", "bool"}
LIMIT = 64 << 10


def usable(case):
    graph = case.model.graph
    if len(graph.node) != 1 or graph.node[0].op_type not in OPERATORS or "_expanded" in case.name:
        return False
    inputs, outputs = case.data_sets[0]
    arrays = list(inputs) + list(outputs)
    if not all(isinstance(a, np.ndarray) or np.isscalar(a) for a in arrays):
        return False
    arrays = [np.asarray(a) for a in arrays]
    return all(a.dtype.name in TYPES for a in arrays) and sum(a.nbytes for a in arrays) <= LIMIT


def main():
    members, seen = [], set()
    for case in sorted(collect_testcases(None), key=lambda c: c.name):
        if case.name in seen or not usable(case):
            continue
        seen.add(case.name)
        inputs, outputs = case.data_sets[0]
        for opset in case.model.opset_import:  # And, Or and Not have not changed since: calkit starts at 13
            opset.version = max(opset.version, 13)
        members.append((f"{case.name}/model", np.frombuffer(case.model.SerializeToString(), np.uint8)))
        names = [i.name for i in case.model.graph.input if i.name]
        members += [(f"{case.name}/in/{n}", np.asarray(a)) for n, a in zip(names, inputs)]
        members += [(f"{case.name}/out/{o.name}", np.asarray(a)) for o, a in zip(case.model.graph.output, outputs)]
    with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_STORED) as z:
        for name, array in members:
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array).reshape(array.shape), version=(1, 0))
            z.writestr(zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0)), buffer.getvalue())
    print(len(seen), "cases")


if __name__ == "__main__":
    main()
