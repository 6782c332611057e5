#!/usr/bin/env python3
"""Compares calkit's tokenizer with Hugging Face tokenizers, live: every tokenizer of the test data (and those given), over the
bundled prompt suite, a list of hostile strings, and seeded mixtures of their characters.
usage: check_tokenizer.py CALKIT_TOKENIZE SOURCE_DIR [TOKENIZER_JSON ...]
"""
import glob
import json
import os
import random
import subprocess
import sys

import tokenizers

MIXTURES = 2000


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


def check(binary, path, texts):
    peer = tokenizers.Tokenizer.from_file(path)
    peer.no_truncation()
    peer.no_padding()
    requests = [{"text": text, "add_special_tokens": special} for text in texts for special in (False, True)]
    answer = subprocess.run([binary, path], input="".join(json.dumps(r) + "\n" for r in requests).encode(),
                            stdout=subprocess.PIPE, check=False)
    if answer.returncode != 0:
        return ["%s: exit code %d" % (path, answer.returncode)]
    ours = [json.loads(line) for line in answer.stdout.decode().split("\n") if line]
    if len(ours) != len(requests):
        return ["%s: %d answers to %d requests" % (path, len(ours), len(requests))]
    faults = []
    for request, got in zip(requests, ours):
        ids = peer.encode(request["text"], add_special_tokens=request["add_special_tokens"]).ids
        want = {"ids": ids, "text": peer.decode(ids, skip_special_tokens=False), "text_skip_special": peer.decode(ids)}
        for key in want:
            if got[key] != want[key]:
                faults.append("%s: %r, special tokens %s: %s %r, peer %r" % (
                    path, request["text"][:60], request["add_special_tokens"], key, got[key][:40], want[key][:40]))
    print("%s: %d encodings and decodings, %d differ" % (path, len(requests), len(faults)))
    return faults


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    binary, root = sys.argv[1:3]
    texts = [p["text"] for p in read_lines(os.path.join(root, "manifests/prompts/suite.jsonl"))]
    texts += [s["text"] for s in read_lines(os.path.join(root, "tests/data/tokenizers/strings.jsonl"))]
    texts += list(mixtures(texts))
    paths = sys.argv[3:] or sorted(glob.glob(os.path.join(root, "tests/data/models/*/tokenizer.json"))
                                   + glob.glob(os.path.join(root, "tests/data/tokenizers/*.json")))
    faults = [fault for path in paths for fault in check(binary, path, texts)]
    for fault in faults[:20]:
        print(fault)
    if faults or not paths:
        sys.exit("fail: %d differences to tokenizers %s" % (len(faults), tokenizers.__version__))
    print("pass: %d tokenizers, %d texts, no difference to tokenizers %s" % (len(paths), len(texts), tokenizers.__version__))


main()
