#!/usr/bin/env python3
"""Exported graphs (torch.onnx, Optimum) against the outputs ONNX Runtime gave for them.

  build/peers/bin/python tools/peers/check_onnx_exports.py CALKIT_ONNX_CASES FOLDER

FOLDER/NAME/ holds model.onnx and io.npz with SHAPE/in/INPUT and SHAPE/out/OUTPUT. FP32 within NMSE 1e-9 and 1e-3;
FP16 within NMSE 1e-4 and 0.05: ONNX Runtime and we round at other places.
The small ones run as a unit test, too (tests/data/operators).
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from npz_cases import read_npz, write_npz

LIMITS = {"float32": (1e-9, 1e-3), "float16": (1e-4, 0.05)}


def load(folder):
    members = {}
    for path in sorted(folder.glob("*/model.onnx")):
        for name, array in np.load(path.parent / "io.npz").items():
            shape, kind, value = name.split("/", 2)
            if kind != "ref":
                members[(path, shape, kind, value)] = array
    return members


def main():
    runner, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    members, wanted, given = load(folder), {}, {}
    for (path, shape, kind, value), array in members.items():
        case = f"{path.parent.name}@{shape}"
        given[f"{case}/path"] = np.frombuffer(str(path).encode(), np.uint8)
        if kind == "in":
            given[f"{case}/in/x/{value}"] = array
        else:
            at = f"{case}/out/{sum(k.startswith(case + '/') for k in wanted):02}"
            wanted[at] = array
            given[f"{at}/{value}"] = np.zeros(0, np.uint8)
    with tempfile.TemporaryDirectory() as scratch:
        write_npz(f"{scratch}/in.npz", given)
        subprocess.run([runner, f"{scratch}/in.npz", f"{scratch}/out.npz"], check=True, stderr=subprocess.DEVNULL)
        got = read_npz(f"{scratch}/out.npz")
    failed = [f"{n[:-6]}: {bytes(a).decode()}" for n, a in got.items() if n.endswith("/error")]
    made = {n.rsplit("/", 1)[0]: a for n, a in got.items() if not n.endswith("/error")}
    worst = {}
    for at, want in wanted.items():
        case = at.split("/")[0]
        if at not in made:
            continue
        have = made[at]
        if have.shape != want.shape or have.dtype != want.dtype:
            failed.append(f"{at}: {have.dtype} {have.shape} instead of {want.dtype} {want.shape}")
            continue
        if not want.size:
            continue
        a, b = have.astype(np.float64), want.astype(np.float64)
        nmse, largest = ((a - b) ** 2).sum() / max((b ** 2).sum(), 1e-300), abs(a - b).max()
        name = case.split("@")[0]
        old = worst.get(name, (0, 0, 0))
        worst[name] = (max(old[0], nmse), max(old[1], largest), old[2] + 1)
        limit = LIMITS[want.dtype.name]
        if not (nmse <= limit[0] and largest <= limit[1]):
            failed.append(f"{at}: NMSE {nmse:.2e}, largest difference {largest:.2e}")
    for name, (nmse, largest, count) in sorted(worst.items()):
        print(f"{name:28} {count:4} outputs, NMSE {nmse:.1e}, largest difference {largest:.1e}")
    for line in failed[:40]:
        print(line)
    print(f"{len(wanted)} outputs of {len({p for p, *_ in members})} graphs, {len(failed)} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
