#!/usr/bin/env python3
"""What other checkers say to the same bad inputs, as a table: docs/side-by-side.md.

usage: side_by_side.py CALKIT >docs/side-by-side.md

Needs eu-elflint (Debian package elfutils) and the packages of tools/peers/side_by_side.txt. Each peer gets each file that
it claims to read, in a process of its own with 8 GiB of address space and 60 s. "accepts" means: exit 0 and no word of an
error or a warning.
"""
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = ROOT / "tests" / "data" / "hostile"
PYTHON = sys.executable

READ = {
    "onnx.checker": "import onnx, sys; onnx.checker.check_model(sys.argv[1])",
    "safetensors": "import safetensors, sys\n"
                   "with safetensors.safe_open(sys.argv[1], 'np') as f:\n  [f.get_tensor(k) for k in f.keys()]",
    "numpy": "import numpy, sys\nx = numpy.load(sys.argv[1])\n"
             "[x[k] for k in x.files] if hasattr(x, 'files') else x",
}
READS = {
    "safetensors": ["safetensors", "modelaudit"],
    "json": ["modelaudit"],
    "yaml": ["modelaudit"],
    "onnx": ["onnx.checker", "modelaudit"],
    "npy": ["numpy", "modelaudit"],
    "npz": ["numpy", "modelaudit"],
    "tar": ["modelaudit"],
    "elf": ["eu-elflint"],
}
PEERS = ["eu-elflint", "onnx.checker", "safetensors", "numpy", "modelaudit"]


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def run(argv, cwd=None):
    try:
        return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=60,
                              preexec_fn=limited)
    except subprocess.TimeoutExpired:
        return None


def peer_says(peer, file, folder):
    if peer == "eu-elflint":
        done = run(["eu-elflint", "--gnu-ld", file], folder)
        accepted = done is not None and done.returncode == 0
    else:
        done = run([PYTHON, "-c", READ[peer], file], folder)
        accepted = done is not None and done.returncode == 0
        if done is not None and ("Unable to allocate" in done.stderr or "MemoryError" in done.stderr):
            return "tries to allocate it"
    if done is None:
        return "hangs"
    if done.returncode < 0:
        return f"dies (signal {-done.returncode})"
    return "accepts" if accepted else "refuses"


def modelaudit_says(files):
    """One scan of all scenes, as it takes seconds to start: the gravest word about each file."""
    said = {}
    with tempfile.TemporaryDirectory() as scratch:
        for i, file in enumerate(files):
            place = Path(scratch) / f"scene{i:03}"
            place.mkdir()
            scene(file.parent.name, file, place)
        done = subprocess.run([str(Path(PYTHON).parent / "modelaudit"), "scan", "--format", "json", scratch],
                              capture_output=True, text=True, timeout=600)
        for issue in json.loads(done.stdout)["issues"]:
            for i, file in enumerate(files):
                if f"/scene{i:03}/inner/{file.name}" in (issue.get("location") or ""):
                    grave = issue["severity"] in ("warning", "critical")
                    said[file] = "refuses" if grave or said.get(file) == "refuses" else "a note"
    return {file: said.get(file, "accepts") for file in files}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def package(folder, role, content):
    """The good package with one file of that role replaced, listed as it is now and sealed again."""
    shutil.copytree(ROOT / "tests/data/packages/board.calbin", folder / "p")
    place = folder / "p" / "calbin.json"
    description = json.loads(place.read_text(), parse_float=lambda t: int(float(t)) if float(t) % 1 == 0 else float(t))
    entry = next(f for f in description["files"] if f["role"] == role)
    (folder / "p" / entry["path"]).write_bytes(content)
    entry["size"], entry["digest"] = len(content), digest(content)
    del description["seal"]
    text = json.dumps(description, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    description["seal"] = digest(text.encode())
    place.write_text(json.dumps(description, indent=2, sort_keys=True) + "\n")


def calkit_command(family, file, folder):
    if family == "safetensors":
        shutil.copytree(ROOT / "tests/data/models/tiny-dense", folder / "m")
        for old in (folder / "m").glob("*.safetensors*"):
            old.unlink()
        shutil.copy(file, folder / "m" / "model.safetensors")
        return ["triage", "m"]
    if family == "onnx":
        return ["onnx-inventory", file.name]
    if family == "tar":
        return ["calbin-lint", file.name]
    if family == "yaml":
        return ["manifest", "check", file.name]
    if family == "json":
        shutil.copytree(ROOT / "tests/data/packages/mini.calbin", folder / "p")
        shutil.copy(file, folder / "p" / "calbin.json")
    elif family == "npy":
        with zipfile.ZipFile(folder / "a.npz", "w") as archive:
            archive.write(file, "a.npy")
        package(folder, "golden", (folder / "a.npz").read_bytes())
    else:
        package(folder, "ccu-elf" if family == "elf" else "golden", file.read_bytes())
    return ["calbin-lint", "p"]


def calkit_says(calkit, family, file, folder):
    command = calkit_command(family, file, folder)
    done = run([calkit, *command, "--evidence", "none"], folder)
    if done is None or done.returncode < 0:
        return "FAULT"
    if done.returncode == 0:
        return "accepts"
    rules = sorted({word for line in done.stdout.splitlines() if "error[CB" in line or "warning[CB" in line
                    for word in [line[line.index("[CB") + 1:line.index("[CB") + 7]]})
    return "refuses: " + ", ".join(rules) if rules else f"refuses (exit {done.returncode})"


def scene(family, file, folder):
    """The file and what lies around it."""
    inner = folder / "inner"
    inner.mkdir()
    shutil.copy(file, inner / file.name)
    if family == "onnx":
        (folder / "secret.bin").write_bytes(b"\0" * 8)
        (inner / "w.bin").write_bytes(b"\0" * 8)
        (inner / "sub").mkdir()
        os.symlink("../secret.bin", inner / "link.bin")
        os.link(folder / "secret.bin", inner / "hard.bin")
    return inner


def main():
    calkit = os.path.abspath(sys.argv[1])
    print("# The same bad inputs, side by side\n")
    print("Made by `tools/peers/side_by_side.py` over the files of `tests/data/hostile` with the versions of")
    print("`tools/peers/side_by_side.txt` and eu-elflint 0.188. A peer is asked only about formats it claims to read. `-`: not its")
    print("format. modelaudit looks for attacks, not for meaning: `accepts` is then what its job lets one expect; `a note`: it")
    print("says something about the file, below a warning. calkit sees an array or an ELF image in the place of a good package's.\n")
    print("| input | calkit | " + " | ".join(PEERS) + " |")
    print("|---|---|" + "---|" * len(PEERS))
    accepted = dict.fromkeys(PEERS, 0)
    asked = dict.fromkeys(PEERS, 0)
    own = 0
    files = sorted((f for f in HOSTILE.glob("*/*.*") if f.name[0].isdigit() and "50-good" not in f.name),
                   key=lambda f: (f.name.split("-")[0], f.name))
    audited = modelaudit_says([f for f in files if "modelaudit" in READS[f.parent.name]])
    for file in files:
        family = file.parent.name
        row = []
        for peer in PEERS:
            if peer not in READS[family]:
                row.append("-")
                continue
            if peer == "modelaudit":
                said = audited[file]
            else:
                with tempfile.TemporaryDirectory() as scratch:
                    said = peer_says(peer, file.name, scene(family, file, Path(scratch)))
            asked[peer] += 1
            accepted[peer] += said == "accepts"
            row.append(f"**{said}**" if said not in ("refuses",) else said)
        with tempfile.TemporaryDirectory() as scratch:
            said = calkit_says(calkit, family, file, scene(family, file, Path(scratch)))
        own += said == "accepts"
        print(f"| {file.name} | {said} | " + " | ".join(row) + " |")
    print(f"| accepted | {own} of {len(files)} | " + " | ".join(f"{accepted[p]} of {asked[p]}" for p in PEERS) + " |")


if __name__ == "__main__":
    main()
