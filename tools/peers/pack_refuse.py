#!/usr/bin/env python3
"""Packs the cases of checkpoints to refuse or to accept (fixtures `refuse/`) into one archive for the tests.

  python3 tools/peers/pack_refuse.py FIXTURES/refuse tests/data/refuse.tar.zst

expect.json keeps case, group, expect, why and field. Needs the program zstd.
"""
import io
import json
import os
import subprocess
import sys
import tarfile

source, out = sys.argv[1:]
files = {}
for case in sorted(os.listdir(source)):
    folder = os.path.join(source, case)
    if not os.path.isdir(folder):
        continue
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        if name == "expect.json":
            full = json.loads(data)
            data = json.dumps({k: full[k] for k in ("case", "group", "expect", "why", "field")}, indent=1).encode() + b"\n"
        files[f"{case}/{name}"] = data

buffer = io.BytesIO()
with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
    for path in sorted(files):
        info = tarfile.TarInfo(path)
        info.size, info.mode = len(files[path]), 0o644
        tar.addfile(info, io.BytesIO(files[path]))
subprocess.run(["zstd", "-q", "-f", "--ultra", "-22", "--long=24", "-o", out, "-"], input=buffer.getvalue(), check=True)
print(len(files), "files,", len(buffer.getvalue()), "bytes,", os.path.getsize(out), "packed")
