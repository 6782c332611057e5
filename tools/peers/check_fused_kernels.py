#!/usr/bin/env python3
"""Holds the kernels of calkit.fused against ONNX Runtime: check_fused_kernels.py CALKIT_FUSED_CASES

ONNX Runtime does not know the operators: it runs their functions, which every file brings. Each drawn F32 call has to pass ONNX's full check and give the answer of
calkit's kernel: integers alike, floats within NMSE 1e-10 (some are one sum that nearly cancels); an int8 of a value that was computed first may be one step away, where ONNX Runtime's value lies on the
other side of a half. Products of int8 are alike to the bit. One line an operator; exit 1 if one differs, 3 if a peer is missing.
"""
import collections
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx_runs import nmse, session
except ImportError as problem:
    print(f"no verdict: {problem}; tools/peers/setup makes the environment", file=sys.stderr)
    sys.exit(3)

LIMIT = 1e-10
EXACT = {"QuantizedLinear", "QuantizedLinearAdd", "QuantizedLinearAddAdd", "QuantizedLinearTopK", "QuantizePerToken", "Dispatch"}


def problem_of(op, want, got):
    """What is wrong with an answer, or None; and its distance."""
    if want.dtype != got.dtype or want.shape != got.shape:
        return f"{got.dtype} {got.shape} instead of {want.dtype} {want.shape}", 0.0
    if op in EXACT or want.dtype == np.int64:
        return (None if np.array_equal(want, got) else "not the same"), 0.0
    if want.dtype == np.int8:
        steps = np.abs(want.astype(int) - got.astype(int))
        return (None if steps.max(initial=0) <= 1 and np.mean(steps) < 0.01 else f"{steps.max()} steps away"), 0.0
    distance = nmse(want, got)
    return (None if distance <= LIMIT else f"NMSE {distance:.2g}"), distance


def main(binary):
    calls, wrong, worst = collections.Counter(), [], collections.defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        labels = subprocess.run([binary, folder], check=True, capture_output=True, text=True).stdout.splitlines()
        for number, label in enumerate(labels):
            op, file = label.split()[0], pathlib.Path(folder) / f"{number}.onnx"
            onnx.checker.check_model(str(file), full_check=True)
            arrays = np.load(file.with_suffix(".npz"))
            peer = session(file)
            names = [value.name for value in peer.get_outputs()]
            given = {value.name: arrays[f"in.{value.name}"] for value in peer.get_inputs()}
            for name, got in zip(names, peer.run(names, given)):
                problem, distance = problem_of(op, arrays[f"out.{name}"], got)
                worst[op] = max(worst[op], distance)
                if problem:
                    wrong.append(op)
                    print(f"FAIL  {label}: output {name}: {problem}")
            calls[op] += 1
    for op in sorted(calls):
        print(f"{'FAIL ' if op in wrong else 'ok   '} {op}: {calls[op]} calls, {'the same bits' if op in EXACT else f'NMSE {worst[op]:.2g}'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
