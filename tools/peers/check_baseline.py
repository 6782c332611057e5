"""check_baseline.py CALKIT ROOT: a frozen baseline as others see it.

Every document of one holds against its JSON schema (jsonschema), NumPy reads its arrays and finds the figures of `compare` itself,
sha256sum accepts its list, a store of two freezes keeps what they share once, and a freeze that is killed again and again ends
with the bytes of one that was left alone."""
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

import jsonschema
import numpy

CALKIT, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
MODEL = ROOT / "tests/data/models/qwen3-trained"
failures = []


def check(good, text):
    if not good:
        failures.append(text)


def calkit(folder, *args, code=0):
    done = subprocess.run([CALKIT, *args, "--evidence", "none"], cwd=folder, capture_output=True, text=True)
    check(done.returncode == code, f"calkit {' '.join(args)}: exit {done.returncode}, wanted {code}: {done.stderr[:300]}")
    return done.stdout


def validator(kind):
    schema = json.loads((ROOT / f"manifests/schemas/{kind}.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def fits(kind, document, where):
    errors = [f"{where}: {e.json_path}: {e.message}"[:200] for e in validator(kind).iter_errors(document)]
    failures.extend(errors)
    # A document that lacks a key or has another one is none.
    if isinstance(document, dict):
        for key in document:
            fewer = {k: v for k, v in document.items() if k != key}
            if key in validator(kind).schema.get("required", []):
                check(list(validator(kind).iter_errors(fewer)), f"{kind}: the schema does not miss {key}")


def lines(path):
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def documents(base):
    fits("model-source", json.loads((base / "model-source/manifest.json").read_text()), base)
    fits("coverage", json.loads((base / "reference/coverage.json").read_text()), base)
    fits("noise", json.loads((base / "reference/noise.json").read_text()), base)
    for kind, name in (("prompt", "prompts.jsonl"), ("greedy-line", "greedy_tokens.jsonl")):
        for line in lines(base / "reference" / name):
            fits(kind, line, f"{base}/{name}")
    done = subprocess.run(["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"], cwd=base, capture_output=True, text=True)
    check(done.returncode == 0, f"sha256sum: {done.stderr}")


def arrays(base, dtype):
    vocab = json.loads((base / "model-source/manifest.json").read_text())["spec"]["vocab"]
    ids, logits = numpy.load(base / "reference/token_ids.npz"), numpy.load(base / f"reference/logits_{dtype}.npz")
    greedy = {line["id"]: line for line in lines(base / "reference/greedy_tokens.jsonl")}
    prompts = lines(base / "reference/prompts.jsonl")
    check(ids.files == [p["id"] for p in prompts], f"{base}: members of token_ids.npz")
    for name in ids.files:
        check(ids[name].dtype == numpy.int64 and ids[name].ndim == 1, f"{base}: ids of {name}")
        if not len(ids[name]):
            check(name not in logits.files and name not in greedy, f"{base}: an answer without tokens: {name}")
            continue
        row = logits[name]
        check(row.dtype == numpy.float32 and row.shape == (vocab,), f"{base}: logits of {name}")
        if dtype == "bf16":
            check(not (row.view(numpy.uint32) & 0xFFFF).any(), f"{base}: {name} holds numbers that no bf16 has")
        top = numpy.argsort(-row, kind="stable")[:20]
        check(greedy[name]["steps"][0]["top_ids"] == top.tolist(), f"{base}: order of {name}")
        check(greedy[name]["steps"][0]["top_logits"] == [float(str(v)) for v in row[top]], f"{base}: logits of {name}")
    for name in numpy.load(base / "reference/probes.npz").values():
        check(numpy.isfinite(name).all(), f"{base}: probes")
    return ids, logits


def hostile(folder):
    """Arrays that crashed, bombed or fooled other readers, in the place of a baseline's own and sealed again: findings, no more."""
    subprocess.run(["cp", "-r", "fp32", "bad"], cwd=folder, check=True)
    target = folder / "bad/reference/token_ids.npz"
    sources = sorted((ROOT / "tests/data/hostile/npz").iterdir()) + sorted((ROOT / "tests/data/hostile/npy").iterdir())
    sources += [ROOT / f"tests/data/npz/{name}.npz" for name in ("big_endian", "bf16_lost", "compressed", "fortran", "object", "rank9")]
    for source in sources:
        if source.suffix == ".npy":
            with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
                archive.write(source, "a.npy")
        else:
            target.write_bytes(source.read_bytes())
        seal = "find . -type f ! -name SHA256SUMS -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum > SHA256SUMS"
        subprocess.run(seal, cwd=folder / "bad", shell=True, check=True)
        found = calkit(folder, "freeze-baseline", "verify", "bad", code=1)
        check(found.count("found:") == 1 and "token_ids.npz" in found, f"{source.name}: {found}")
    print(f"{len(sources)} hostile arrays")


def softmax(row):
    e = numpy.exp(row - row.max())
    return e / e.sum()


def compared(folder):
    """Two references that differ: fp32 of the model, and the same with noise on the logits, against NumPy's own figures."""
    subprocess.run(["cp", "-r", "fp32", "moved"], cwd=folder, check=True)
    path = folder / "moved/reference/logits_fp32.npz"
    want = dict(numpy.load(folder / "fp32/reference/logits_fp32.npz"))
    rng = numpy.random.default_rng(7)
    got = {k: (v + rng.normal(0, 0.05, v.shape).astype(numpy.float32)) for k, v in want.items()}
    numpy.savez(path, **got)
    report = json.loads(calkit(folder, "freeze-baseline", "compare", "moved", "fp32", "--json", code=1))
    fits("baseline-compare", report, "compare")
    for row in report["prompts"]:
        if row["id"] not in want:
            continue
        a, b = got[row["id"]].astype(float), want[row["id"]].astype(float)
        p, q = softmax(b), softmax(a)
        figures = {
            "nmse": ((a - b) ** 2).sum() / (b**2).sum(),
            "max_abs": abs(a - b).max(),
            "cosine": a @ b / numpy.sqrt((a @ a) * (b @ b)),
            "kl": (p * numpy.log(p / q)).sum(),
            "top_20_overlap": len(set(numpy.argsort(-a, kind="stable")[:20]) & set(numpy.argsort(-b, kind="stable")[:20])) / 20,
        }
        for key, value in figures.items():
            check(abs(row[key] - value) <= 1e-5 * max(abs(value), 1e-6), f"compare: {row['id']}: {key} {row[key]}, NumPy {value}")
        check(row["max_abs_index"] == int(abs(a - b).argmax()), f"compare: {row['id']}: max_abs_index")
    diff = json.loads(calkit(folder, "freeze-baseline", "diff", "fp32", "moved", "--json", code=1))
    fits("baseline-diff", diff, "diff")
    check(diff["files"]["changed"] == ["reference/logits_fp32.npz"], f"diff: {diff['files']}")
    check({p["id"] for p in diff["prompts"]["changed"]} == set(want), "diff: prompts")
    calkit(folder, "freeze-baseline", "verify", "moved", code=1)


def stored(folder):
    for name in ("fp32", "bf16"):
        calkit(folder, "freeze-baseline", "keep", name, "--store", "store")
    sums = [line.split("  ") for name in ("fp32", "bf16") for line in (folder / name / "SHA256SUMS").read_text().splitlines()]
    blobs = sorted(p.name for p in (folder / "store/blobs/sha256").iterdir())
    check(blobs == sorted({digest for digest, _ in sums}) and len(blobs) < len(sums), "store: each content once")
    calkit(folder, "freeze-baseline", "verify", "store")
    digest = subprocess.run(["sha256sum", "bf16/SHA256SUMS"], cwd=folder, capture_output=True, text=True).stdout[:12]
    calkit(folder, "freeze-baseline", "restore", digest, "--store", "store", "--out", "back")
    check(subprocess.run(["diff", "-r", "bf16", "back"], cwd=folder).returncode == 0, "store: not the bytes that were kept")
    blob = folder / "store/blobs/sha256" / blobs[0]
    blob.write_bytes(blob.read_bytes() + b"x")
    calkit(folder, "freeze-baseline", "verify", "store", code=1)


def killed(folder, options):
    """SIGKILL and SIGINT at seeded moments; each run goes on where the last one was cut."""
    rng = random.Random(11)
    command = [CALKIT, "freeze-baseline", "model", str(MODEL), "--out", "cut", *options, "--evidence", "none"]
    cuts = most = 0
    for attempt in range(200):
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, 0.25 + 0.02 * attempt))
        if process.poll() is None:
            process.send_signal(rng.choice([signal.SIGKILL, signal.SIGINT]))
        if process.wait() == 0:
            break
        cuts += 1
        kept = len(list(folder.glob(".cut.calkit-work/*/*.npz")))
        check(kept >= most or (folder / "cut").exists(), f"{kept} answers were kept, {most} before")
        most = max(most, kept)
        if (folder / "cut").exists():  # cut behind the last rename
            break
    check(cuts >= 1 and most >= 1, f"{cuts} cuts, {most} answers kept")
    calkit(folder, *command[1:-2])
    check(subprocess.run(["diff", "-r", "fp32", "cut"], cwd=folder).returncode == 0, "a resumed freeze has other bytes")
    check(not list(folder.glob(".cut.*")), f"left behind: {list(folder.glob('.cut.*'))}")
    print(f"{cuts} cuts, {most} answers kept")


SERVICE = """schema: 1
architecture: qwen3
calbin_version: 1.0.0
runtime_abi: 0.7.6
context: 64
batch: 1
vocab: 32
models: {prefill: mini-prefill, decode: mini-decode}
tensors: {token: "inputs[0]", position: "inputs[1]", logits: "outputs[0]"}
csr: {current: "cur_seq_len[0]", past_current: "past_kv_cur_seq_len[0]"}
"""


def others(folder):
    """Baselines of a product, of a peer's dump and of a service."""
    (folder / "s.yaml").write_text(SERVICE)
    calkit(folder, "freeze-baseline", "product", str(ROOT / "tests/data/packages/mini.calbin"), "--service", "s.yaml", "--out", "product",
           "--prompt-lengths", "4", "--output-lengths", "1,2", "--concurrency", "1")
    fits("product-baseline", json.loads((folder / "product/product.json").read_text()), "product.json")
    golden = ROOT / "tests/data/golden/qwen3-trained"
    calkit(folder, "freeze-baseline", "reference", "--dump", str(golden), "--dtype", "fp32", "--out", "dump")
    fits("reference-source", json.loads((folder / "dump/reference/source.json").read_text()), "source.json")
    served = (golden / "prompts.jsonl").read_text().splitlines()[:4]
    (folder / "served.jsonl").write_text("\n".join(served + [json.dumps({"id": "else", "text": "something else"})]) + "\n")
    calkit(folder, "freeze-baseline", "model", str(ROOT / "tests/data/models/qwen3-trained"), "--out", "served", "--prompts", "served.jsonl",
           "--noise", "0")
    server = subprocess.Popen([sys.executable, str(ROOT / "tests/support/fake_openai.py"), str(golden), str(folder / "port"), "60"])
    try:
        for _ in range(200):
            if (folder / "port").exists():
                break
            time.sleep(0.05)
        calkit(folder, "freeze-baseline", "reference", "--server", f"http://127.0.0.1:{(folder / 'port').read_text()}", "--baseline", "served",
               "--out", "service")
    finally:
        server.kill()
    fits("reference-source", json.loads((folder / "service/reference/source.json").read_text()), "source.json")
    kept = lines(folder / "service/reference/texts.jsonl")
    check([line for line in kept if "refused" in line] and len(kept) == 4, f"texts: {kept}")
    for line in kept:
        fits("text-line", line, "texts.jsonl")
    fits("compare-texts", json.loads(calkit(folder, "freeze-baseline", "compare", "served", "service", "--json")), "compare of texts")


def experts(folder):
    """A model with experts in BF16: router margins in the steps, and one that explains a step of the peer."""
    golden = ROOT / "tests/data/golden/qwen3moe-e8k2"
    calkit(folder, "freeze-baseline", "model", str(ROOT / "tests/data/models/qwen3moe-e8k2"), "--out", "experts", "--dtype", "bf16",
           "--prompts", str(golden / "prompts.jsonl"), "--noise", "2")
    documents(folder / "experts")
    steps = [step for line in lines(folder / "experts/reference/greedy_tokens.jsonl") for step in line["steps"]]
    check(steps and all("router_margin" in step for step in steps), "experts: router margins")
    report = json.loads(calkit(folder, "freeze-baseline", "compare", "experts", str(golden), "--dtype", "bf16", "--json"))
    fits("baseline-compare", report, "compare of experts")
    check(report["totals"]["steps_excused_by_router"] == 1, f"experts: {report['totals']}")


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        prompts = [line for line in (ROOT / "manifests/prompts/suite.jsonl").read_text().splitlines()
                   if json.loads(line)["kind"] in ("empty", "english", "chinese", "combining", "emoji", "length", "context_limit",
                                                   "special_tokens")]
        for line in map(json.loads, (ROOT / "manifests/prompts/suite.jsonl").read_text().splitlines()):
            fits("prompt", line, "suite.jsonl")
        (folder / "prompts.jsonl").write_text("\n".join(prompts) + "\n")
        options = ["--prompts", "prompts.jsonl", "--steps", "4"]
        for dtype in ("fp32", "bf16"):
            calkit(folder, "freeze-baseline", "model", str(MODEL), "--out", dtype, "--dtype", dtype, *options)
            documents(folder / dtype)
            ids, _ = arrays(folder / dtype, dtype)
            for name in ids.files:
                if name.startswith("tokens_"):
                    check(len(ids[name]) == int(name[7:]), f"{name} has {len(ids[name])} ids")
            refused = [p["id"] for p in json.loads((folder / dtype / "reference/coverage.json").read_text())["refused"]]
            check(refused[-3:] == ["context_limit_minus_1", "context_limit_exact", "context_limit_plus_1"], f"refused: {refused}")
        calkit(folder, "freeze-baseline", "model", str(MODEL), "--out", "shard", "--shard", "2/3", *options)
        fits("baseline-shard", json.loads((folder / "shard/shard.json").read_text()), "shard.json")
        hostile(folder)
        compared(folder)
        stored(folder)
        others(folder)
        experts(folder)
        killed(folder, options)
    for failure in failures[:20]:
        print(failure)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
