#!/usr/bin/env python3
"""Writes tests/data/tokenizers/cases.jsonl: small tokenizers that use one feature each, with what Hugging Face tokenizers makes of a
few texts. A line is {name, changes, texts: [{text, ids, ids_special, text_decoded, text_skip_special}]}; `changes` replaces members
of tests/data/tokenizers/base.json, which is written too.
usage: make_tokenizer_cases.py tests/data/tokenizers
"""
import copy
import json
import os
import sys

import tokenizers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CASED = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEP = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
PLAIN = ["", "a", " ", "low lower lowest", "It's 2024, they'LL pay 1,234.50!", "caf\u00e9 cafe\u0301 na\u00efve", "  two  spaces \n\n x\t",
         "a-b--c", "-a-", "--", "\u4e2d\u6587 \u0661\u0662 \u00bd\u2167", "Stra\u00dfe STRASSE HelloWorld fooBar", "x\u0000y\u0085z\u2028w",
         "\U0001f469\u200d\U0001f52c ok", "'\u017f 'S '\u017fx", "low\u180elow", "\U0001e5d0\U00016d40 new letters"]


def symbols():
    printable = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    table, extra = {}, 0
    for b in range(256):
        if b in printable:
            table[b] = chr(b)
        else:
            table[b] = chr(256 + extra)
            extra += 1
    return table


def base():
    table = symbols()
    vocab = {table[b]: b for b in range(256)}
    merges = []
    for a, b in [("l", "o"), ("lo", "w"), ("e", "r"), ("\u0120", "low"), ("low", "er"), ("e", "s"), ("es", "t"), ("-", "-"), ("\u0120", "\u0120"),
                 ("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc"), ("1", "2"), ("2", "3")]:
        merges.append([a, b])
        vocab.setdefault(a + b, len(vocab))
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": QWEN}, "behavior": "Isolated",
                                                                     "invert": False}, BYTE_LEVEL]},
            "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": merges}}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps) + [BYTE_LEVEL]}


def added(*tokens):
    """Ids as the peer gives them: those of the vocabulary, then on from its end in order."""
    vocab, out = base()["model"]["vocab"], []
    next_id = len(vocab)
    for content, flags in tokens:
        token = {"id": vocab.get(content, next_id), "content": content, "single_word": False, "lstrip": False, "rstrip": False,
                 "normalized": False, "special": False}
        next_id += content not in vocab
        token.update({flag: True for flag in flags.split()})
        out.append(token)
    return out


def cases():
    n = len(base()["model"]["vocab"])
    nfc = {"type": "NFC"}
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            yield "split %s%s" % (behavior, " inverted" if invert else ""), {"pre_tokenizer": sequence(split("-", behavior, invert))}, []
    yield "split at a text", {"pre_tokenizer": sequence(split("a.b", "Isolated", False, "String"))}, ["xa.bxa+b", "a.ba.b"]
    yield "split with matches of nothing", {"pre_tokenizer": sequence(split("x*", "Isolated"))}, ["axxb", "xx", "\u4e2dx"]
    yield "split twice", {"pre_tokenizer": sequence(split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), split(DEEP))}, [
        "12345 \u4e2d\u6587a\u3042", "x=[1,2];"]
    yield "cased pattern, removed and inverted", {"pre_tokenizer": sequence(split(CASED, "Removed", True))}, ["HTTPServer's \u01c5x"]
    yield "lazy, possessive and bounded repeats", {"pre_tokenizer": sequence(split(r"a{2}|b{1,2}?|c++|\d{2,}|(?>x+)y?|(?<=z)z|(?<!q)w"))}, [
        "aaaa bbb ccc 12345 xxxy zzz ww qw"]
    yield "scripts and negated classes", {"pre_tokenizer": sequence(split(r"\p{Han}+|\p{Hiragana}+|\P{L}+|[^\S\n]+|[\w.]+|\W"))}, [
        "\u4e2d\u6587\u3072\u3089 a.b_c \n"]
    yield "digits one by one", {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": True}, split(QWEN))}, ["12 3\u00b2\u0663\u2167 \U00011de0"]
    yield "digits together", {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": False})}, ["a12b3 \u00b2"]
    yield "byte level alone", {"pre_tokenizer": dict(BYTE_LEVEL, use_regex=True)}, []
    yield "byte level with a prefix space", {"pre_tokenizer": dict(BYTE_LEVEL, use_regex=True, add_prefix_space=True),
                                            "added_tokens": added(("<x>", "special"))}, ["low<x>low <x> low", "<x>"]
    yield "prefix space behind a split", {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        split("-"), dict(BYTE_LEVEL, add_prefix_space=True)]}}, ["low-low"]
    yield "nfc", {"normalizer": {"type": "Sequence", "normalizers": [nfc]}}, ["e\u0301\u0323 \u212b \u1100\u1161\u11a8 \ufb01", "\u1e69 s\u0307\u0323", "a\u1dfa\u0301"]
    yield "longest added token wins", {"added_tokens": added(("<a>", "special"), ("<a><b>", ""), ("<b>", ""), ("low", ""))}, [
        "<a><b>", "<a><a><b><b>", "slow lower", "<a<b>"]
    yield "added tokens strip", {"added_tokens": added(("<l>", "lstrip"), ("<r>", "rstrip special"), ("<lr>", "lstrip rstrip"))}, [
        "a  <l>  b", "a  <r> \n b", " <lr>\u3000<lr> \u00a0x", "<r>  <l>", "<r> <r>\u0085<l>x", "  <r>  "]
    yield "added token as a single word", {"added_tokens": added(("ab", "single_word"), ("\u4e2d", "single_word"))}, [
        "ab", "ab abc cab", "(ab)", "ab_ ab1 ab\u0301 ab\u200d ab\u00e9 ab-ab", "\u4e2d \u4e2d\u6587 x\u4e2d", "ab\u00b2 ab\u00bd"]
    yield "normalised added tokens", {"normalizer": nfc, "added_tokens": added(("cafe\u0301", "normalized"), ("e\u0301", ""), ("<n>", "normalized special"))}, [
        "caf\u00e9 cafe\u0301", "e\u0301 \u00e9", "<n>caf\u00e9<n>", "xcafe\u0301\u0323"]
    yield "added tokens of the vocabulary", {"added_tokens": added(("low", "special"))}, [
        "low lower", "slow"]
    yield "template around the text", {"added_tokens": added(("<s>", "special"), ("</s>", "special")),
                                       "post_processor": {"type": "Sequence", "processors": [
                                           dict(BYTE_LEVEL), {"type": "TemplateProcessing",
                                                              "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                                                         {"SpecialToken": {"id": "two", "type_id": 0}}],
                                                              "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                                                              "special_tokens": {"<s>": {"id": "<s>", "ids": [n], "tokens": ["<s>"]},
                                                                                 "two": {"id": "two", "ids": [n + 1, n], "tokens": ["</s>", "<s>"]}}}]}}, [
        "<s>low</s>"]
    model = copy.deepcopy(base()["model"])
    model["ignore_merges"] = True
    model["vocab"]["xyz"] = n
    model["vocab"]["\u0120xyz"] = n + 1
    yield "whole words first", {"model": model}, ["xyz xyz xyzz", "abc", "lower"]
    model = copy.deepcopy(base()["model"])
    model["merges"] = ["%s %s" % tuple(m) for m in model["merges"]] + ["l o"]
    yield "merges as texts, one repeated", {"model": model}, ["low lower abc"]
    model = copy.deepcopy(base()["model"])
    for gone in "xyzé":
        model["vocab"].pop(gone, None)
    model["vocab"] = {token: i for i, token in enumerate(model["vocab"])}
    yield "bytes without a token", {"model": model}, ["xyz", "axbycz", "\u00e9"]
    yield "no decoder", {"decoder": None}, ["low \u4e2d"]
    yield from characters_and_scores()


def characters_and_scores():
    """Steps and models beyond the byte level."""
    mark, spaced = "\u2581", ["  a  b ", "low\u2581er", "\u2581", " ", "\ufb01 \u00c5\u0301 \u0130I\u1e9e \u1112\u1161\u11ab", "\u200bx\u0007y\t\ufeffz", "a.b,c\u3002d", "x\u00b2 12"]
    meta = {"type": "Metaspace", "replacement": mark, "prepend_scheme": "first", "split": True}
    vocab = ["<unk>", "<s>", "</s>", mark, "l", "o", "w", "e", "r", "a", "b", "c", "1", "2", " ", ".", "lo", "low", mark + "low", "er", "ab", mark + mark, "<0xE4>", "<0xB8>", "<0xAD>", "<0x0A>"]
    merges = [["l", "o"], ["lo", "w"], [mark, "low"], ["e", "r"], ["a", "b"], [mark, mark]]
    bpe = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": {t: i for i, t in enumerate(vocab)}, "merges": merges}
    unigram = {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [[t, -1.0 - 0.37 * len(t) - 0.01 * (i % 7)] for i, t in enumerate(vocab)]}
    spm = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": mark}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                                            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    plain = {"model": bpe, "pre_tokenizer": None, "decoder": spm, "added_tokens": [dict(t, id=i) for i, t in enumerate(added(("<unk>", "special"), ("<s>", "special")))]}
    llama = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": mark}, {"type": "Replace", "pattern": {"String": " "}, "content": mark}]}
    yield "as llama 2", dict(plain, normalizer=llama), spaced + ["<s>low<s> low"]
    yield "unknowns apart", dict(plain, model=dict(bpe, fuse_unk=False, byte_fallback=False)), spaced
    for scheme in ("always", "first", "never"):
        for cut in (True, False):
            yield "metaspace %s%s" % (scheme, "" if cut else ", not split"), dict(plain, pre_tokenizer=dict(meta, prepend_scheme=scheme, split=cut), decoder=dict(meta, prepend_scheme=scheme)), spaced + ["<s>low <s> low"]
    yield "unigram", dict(plain, model=unigram, pre_tokenizer=meta), spaced
    yield "unigram with byte tokens", dict(plain, model=dict(unigram, byte_fallback=True), normalizer=llama), spaced
    for kind in ("NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt"):
        yield "normalizer " + kind, {"normalizer": {"type": kind}}, spaced
    yield "normalizer Strip", {"normalizer": {"type": "Strip", "strip_left": True, "strip_right": True}}, spaced
    yield "normalizer Replace with a pattern", {"normalizer": {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}}, spaced
    for kind in ("Whitespace", "WhitespaceSplit", "Punctuation"):
        yield "pre-tokenizer " + kind, {"pre_tokenizer": sequence({"type": kind})}, spaced
    yield "byte level in front", {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [dict(BYTE_LEVEL, use_regex=True), {"type": "Digits", "individual_digits": True}]}}, spaced
    yield "cls and sep", dict(plain, post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True, "add_prefix_space": True}), spaced


def main():
    out = sys.argv[1]
    common = base()
    with open(os.path.join(out, "base.json"), "w", encoding="utf-8") as file:
        json.dump(common, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")
    with open(os.path.join(out, "cases.jsonl"), "w", encoding="utf-8") as file:
        for name, changes, texts in cases():
            peer = tokenizers.Tokenizer.from_str(json.dumps(dict(common, **changes)))
            answers = []
            for text in texts + PLAIN:
                ids = peer.encode(text, add_special_tokens=False).ids
                special = peer.encode(text, add_special_tokens=True).ids
                answers.append({"text": text, "ids": ids, "ids_special": special, "text_decoded": peer.decode(special, skip_special_tokens=False),
                                "text_skip_special": peer.decode(special)})
            file.write(json.dumps({"name": name, "changes": changes, "texts": answers}, separators=(",", ":")) + "\n")


main()
