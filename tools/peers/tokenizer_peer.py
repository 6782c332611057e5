"""Holds calkit's tokenizer against Hugging Face tokenizers: ids with and without special tokens, texts decoded from them and from ids at
random, and streams of ids."""
import json
import random
import subprocess

import tokenizers
from tokenizers.decoders import DecodeStream

STREAMS = 300  # texts a tokenizer whose streams are compared step by step; the peer's streams are slow


def random_ids(peer, count, seed):
    """Ids that no text has: cut characters, byte tokens, special tokens and ids without an entry in any order."""
    rng = random.Random(seed)
    size = max(peer.get_vocab().values()) + 3
    low = min(size, 300)
    specials = sorted(peer.get_added_tokens_decoder()) or [0]
    for _ in range(count):
        yield [rng.choice(specials) if rng.random() < 0.1 else rng.randrange(low if rng.random() < 0.5 else size) for _ in range(rng.randint(0, 12))]


def peer_answer(peer, request):
    if "ids" in request:
        ids = request["ids"]
    else:
        try:
            ids = peer.encode(request["text"], add_special_tokens=request["add_special_tokens"]).ids
        except Exception as error:  # a text that the tokenizer has no tokens for
            return {"error": str(error)}
    return {"ids": ids, "text": peer.decode(ids, skip_special_tokens=False), "text_skip_special": peer.decode(ids, skip_special_tokens=True)}


def stream_faults(peer, got):
    """Ours and the peer's stream have to agree as far as both have come; ours may lag where later ids still change the text. Where they do
    change it, the peer's stream goes wrong or gives up, and nothing is compared."""
    stream, told, steps = DecodeStream(skip_special_tokens=False), "", []
    for token in got["ids"]:
        try:
            told += stream.step(peer, token) or ""
        except Exception:
            return []
        steps.append(told)
    if not got["text"].startswith(told):
        return []
    ours = ""
    for told, part in zip(steps, got["parts"]):
        ours += part
        if not told.startswith(ours) and not ours.startswith(told):
            return ["stream: ours %r, peer %r" % (ours[-40:], told[-40:])]
    return []


def differences(request, got, want):
    if "error" in want or "error" in got:
        return [] if ("error" in want) == ("error" in got) else ["ours %r, peer %r" % (got.get("error", "ids"), want.get("error", "ids"))]
    faults = ["%s %r, peer %r" % (key, got[key][:60], want[key][:60]) for key in want if got[key] != want[key]]
    for parts, text in (("parts", "text"), ("parts_skip_special", "text_skip_special")):
        if "".join(got[parts]) != got[text]:
            faults.append("the %s joined are not the text" % parts)
    return faults


def compare(binary, path, texts, seed=7):
    """(number of comparisons, list of faults)"""
    peer = tokenizers.Tokenizer.from_file(path)
    peer.no_truncation()
    peer.no_padding()
    requests = [{"text": text, "add_special_tokens": special} for text in texts for special in (False, True)]
    requests += [{"ids": ids} for ids in random_ids(peer, len(texts), seed)]
    answer = subprocess.run([binary, path], input="".join(json.dumps(r) + "\n" for r in requests).encode(), stdout=subprocess.PIPE, check=False)
    if answer.returncode != 0:
        return 0, ["%s: exit code %d" % (path, answer.returncode)]
    ours = [json.loads(line) for line in answer.stdout.decode().split("\n") if line]
    if len(ours) != len(requests):
        return 0, ["%s: %d answers to %d requests" % (path, len(ours), len(requests))]
    faults = []
    streams = random.Random(seed).sample(range(len(requests)), min(STREAMS, len(requests)))
    for i, (request, got) in enumerate(zip(requests, ours)):
        found = differences(request, got, peer_answer(peer, request))
        faults += ["%s: %s: %s" % (path, str(request)[:120], fault) for fault in found]
    for i in streams:
        if "error" not in ours[i] and len(ours[i]["ids"]) < 400:
            faults += ["%s: %s: %s" % (path, str(requests[i])[:120], fault) for fault in stream_faults(peer, ours[i])]
    return len(requests), faults
