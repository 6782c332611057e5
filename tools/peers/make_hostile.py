#!/usr/bin/env python3
"""Writes the hostile inputs of tests/data/hostile: one small file for each way that a model file has fooled a reader.

usage: make_hostile.py OUT

Everything is made by hand, byte by byte, because writers of the formats refuse to make most of it. The names begin with
the number of the row in tests/data/hostile/README.md, which says what each one is and what calkit answers.
"""
import io
import json
import struct
import sys
import tarfile
import zipfile
from pathlib import Path


def safetensors(header, data=b"", length=None):
    raw = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors_files():
    one = {"w": tensor("F32", [2], 0, 8)}
    yield "01-length-2p64m1", safetensors(b"{}", length=2**64 - 1)
    yield "01-length-2p63", safetensors(b"{}", length=2**63)
    yield "02-header-past-end", safetensors(one, b"\0" * 8, length=4096)
    yield "02-empty", b""
    yield "02-seven-bytes", b"\x02\0\0\0\0\0\0"
    yield "03-header-of-100000001", safetensors(b"{}", length=100_000_001)
    twice = b'{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    yield "04-duplicate-name", safetensors(twice, b"\0" * 4)
    yield "05-duplicate-by-escape", safetensors(twice.replace(b'},"w"', b'},"\\u0077"'), b"\0" * 4)
    yield "06-overlap", safetensors({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [2], 4, 12)}, b"\0" * 12)
    yield "06-same-range", safetensors({"k": tensor("F32", [2], 0, 8), "v": tensor("F32", [2], 0, 8)}, b"\0" * 8)
    yield "07-hole", safetensors({"a": tensor("F32", [1], 0, 4), "b": tensor("F32", [1], 8, 12)}, b"\0" * 12)
    yield "07-trailing", safetensors(one, b"\0" * 8 + b"PK\x03\x04 and so on")
    yield "08-empty-inside", safetensors({"a": tensor("F32", [2], 0, 8), "z": tensor("F32", [0], 4, 4)}, b"\0" * 8)
    yield "09-shape-over-4-bytes", safetensors({"w": tensor("F32", [1000, 1000], 0, 4)}, b"\0" * 4)
    yield "10-product-wraps", safetensors({"w": tensor("F32", [2**32, 2**32], 0, 0)})
    yield "10-bytes-wrap", safetensors({"w": tensor("F32", [2**62, 4], 0, 0)})
    yield "11-unknown-dtype", safetensors({"w": tensor("F99", [2], 0, 8)}, b"\0" * 8)
    for name, text in [("1.0", "1.0"), ("minus", "-1"), ("exponent", "1e0"), ("true", "true")]:
        raw = b'{"w":{"dtype":"U8","shape":[%s],"data_offsets":[0,1]}}' % text.encode()
        yield f"12-shape-{name}", safetensors(raw, b"\0")
    yield "13-blank-first", safetensors(b"  " + json.dumps(one).encode(), b"\0" * 8)
    yield "13-extra-member", safetensors({"w": {**one["w"], "more": 1}}, b"\0" * 8)
    yield "14-name-leaves", safetensors({"../../etc/x": one["w"]}, b"\0" * 8)
    yield "14-name-control", safetensors({"a\x01b": one["w"]}, b"\0" * 8)


def json_files():
    yield "15-deep", b"[" * 100_000
    yield "16-2p64", b'{"schema": 18446744073709551616}'
    yield "17-minus-one", b'{"schema": -1}'
    yield "18-fraction", b'{"schema": 4096.7}'
    yield "18-1e30", b'{"schema": 1e30}'
    yield "19-nan", b'{"schema": NaN}'
    yield "19-infinity", b'{"schema": Infinity}'
    yield "19-1e400", b'{"schema": 1e400}'
    yield "26-bad-utf8", b'{"schema": 1, "package": "\xff\xfe"}'
    yield "26-surrogate", b'{"schema": 1, "package": "\\ud800"}'


GOOD_YAML = """schema: 1
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


def yaml_files():
    def with_context(text):
        return GOOD_YAML.replace("context: 64", f"context: {text}").encode()

    yield "20-duplicate-key", (GOOD_YAML + "context: 128\n").encode()
    for name, text in [("octal", "010"), ("hex", "0x10"), ("plus", "+5"), ("no", "no"), ("float", "1.10"),
                       ("quoted", "'64'"), ("nan", ".nan"), ("exponent", "1e3")]:
        yield f"21-{name}", with_context(text)
    bomb = 'a: &a ["x","x","x","x","x","x","x","x","x"]\n'
    for this, last in zip("bcdefghi", "abcdefgh"):
        bomb += f"{this}: &{this} [" + ",".join([f"*{last}"] * 9) + "]\n"
    yield "22-alias-bomb", bomb.encode()
    yield "23-recursive-alias", b"a: &x [*x]\n"
    yield "24-deep-flow", b"a: " + b"[" * 100_000
    yield "25-second-document", (GOOD_YAML + "---\n" + GOOD_YAML).encode()
    yield "25-tag", with_context("!!python/object:os.system 64")
    yield "25-merge-key", (GOOD_YAML.replace("models: {", "models: {<<: {prefill: other}, ")).encode()
    yield "26-bad-utf8", GOOD_YAML.replace("qwen3", "qwen\udcff").encode("utf-8", "surrogateescape")


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, payload):
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def onnx_model(entries, dims=(2,)):
    """y = w + x, w kept outside: `entries` are the external_data pairs."""
    external = b"".join(field(13, field(1, k) + field(2, v)) for k, v in entries)
    weight = b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, b"w") + external + field(14, 1)

    def value_info(name):
        shape = b"".join(field(1, field(1, d)) for d in dims)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    node = field(1, b"w") + field(1, b"x") + field(2, b"y") + field(3, b"n") + field(4, b"Add")
    graph = (field(1, node) + field(2, b"g") + field(5, weight) + field(11, value_info(b"x")) +
             field(12, value_info(b"y")))
    return field(1, 10) + field(7, graph) + field(8, field(1, b"") + field(2, 21))


def onnx_files():
    def at(location, *more):
        return onnx_model([(b"location", location), *more])

    yield "27-parent", at(b"../secret.bin")
    yield "27-absolute", at(b"/etc/hostname")
    yield "28-nested-parent", at(b"sub/../../secret.bin")
    yield "29-link", at(b"link.bin")
    yield "30-hard-link", at(b"hard.bin")
    yield "31-nul", at(b"w.bin\0.txt")
    yield "31-backslash", at(b"..\\secret.bin")
    yield "31-empty", at(b"")
    for name, pairs in [("offset-past-end", [(b"offset", b"4096")]), ("length-past-end", [(b"length", b"4096")]),
                        ("offset-negative", [(b"offset", b"-16")]), ("offset-2p63", [(b"offset", b"9223372036854775808")]),
                        ("offset-abc", [(b"offset", b"abc")]), ("length-short", [(b"length", b"4")])]:
        yield f"32-{name}", at(b"w.bin", *pairs)
    yield "32-no-length-short-file", onnx_model([(b"location", b"w.bin")], dims=(64,))


def npy(header, data=b"", length=None, version=1):
    raw = header.encode() if isinstance(header, str) else header
    size = struct.pack("<H" if version == 1 else "<I", len(raw) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + raw + data


def npy_header(descr="'<f4'", order="False", shape="(2,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def npy_files():
    yield "38-header-of-4-gib", npy(npy_header(), b"\0" * 8, length=2**32 - 1, version=2)
    yield "39-32-gib-of-nothing", npy(npy_header("'<f8'", shape="(65536, 65536)"))
    yield "40-objects", npy(npy_header("'|O'", shape="(1,)"), b"\x80\x04N.")
    yield "41-code", npy("__import__('os').system('true')\n")
    yield "41-5000-parens", npy("(" * 5000 + ")" * 5000 + "\n")
    yield "41-40-dims", npy(npy_header(shape="(" + "1," * 40 + ")"), b"\0" * 4)
    yield "42-big-endian", npy(npy_header("'>f4'"), b"\0" * 8)
    yield "42-duplicate-key", npy(npy_header()[:-3] + "'shape': (1,), }\n", b"\0" * 8)
    yield "42-trailing", npy(npy_header(), b"\0" * 12)


GOOD_NPY = npy(npy_header(), b"\0" * 8)


def zipped(members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return out.getvalue()


def npz_files():
    import warnings

    warnings.simplefilter("ignore")  # about the member that is there twice
    good = zipped([("a.npy", GOOD_NPY)])
    yield "34-parent-member", zipped([("../../evil.npy", GOOD_NPY)])
    yield "35-two-members", zipped([("a.npy", GOOD_NPY), ("a.npy", npy(npy_header(), b"\1" * 8))])
    big = npy(npy_header(shape="(4000000,)"), b"\0" * 16_000_000)
    yield "36-bomb", zipped([("a.npy", big)], zipfile.ZIP_DEFLATED)
    data = good.index(GOOD_NPY)
    yield "37-crc", good[:data + len(GOOD_NPY) - 1] + b"\x7f" + good[data + len(GOOD_NPY):]
    yield "37-other-local-name", good.replace(b"a.npy", b"b.npy", 1)
    yield "37-prefix", b"#!/bin/sh\n" + good
    yield "37-suffix", good + b"more"
    yield "37-truncated", good[:-20]


def tar_files():
    def tarred(*members):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, kind, payload in members:
                info = tarfile.TarInfo(name)
                info.type = kind
                if kind == tarfile.REGTYPE:
                    info.size = len(payload)
                    archive.addfile(info, io.BytesIO(payload))
                else:
                    info.linkname = payload
                    archive.addfile(info)
        return out.getvalue()

    file, link = tarfile.REGTYPE, tarfile.SYMTYPE
    yield "34-parent", tarred(("calbin.json", file, b"{}"), ("../evil", file, b"x"))
    yield "34-absolute", tarred(("calbin.json", file, b"{}"), ("/tmp/evil", file, b"x"))
    yield "34-link-then-file", tarred(("d", link, "/tmp"), ("d/evil", file, b"x"), ("calbin.json", file, b"{}"))
    yield "34-twice", tarred(("calbin.json", file, b"{}"), ("calbin.json", file, b'{"schema": 1}'))
    yield "34-truncated", tarred(("calbin.json", file, b"{}" * 600))[:1400]


def elf(machine=243, bits=2, order=1, phoff=64, phentsize=56, phnum=1, shoff=0, shentsize=64, shnum=0, shstrndx=0,
        flags=5):
    ident = b"\x7fELF" + bytes([bits, order, 1, 0]) + b"\0" * 8
    header = ident + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0x1000, phoff, shoff, flags, 64, phentsize, phnum,
                                 shentsize, shnum, shstrndx)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x1000, 0x1000, 120, 120, 8)
    return header + segment


def elf_files():
    yield "50-machine", elf(machine=62, flags=0)
    yield "50-class", elf(bits=1)
    yield "50-endian", elf(order=2)
    yield "50-forty-bytes", elf()[:40]
    yield "50-phoff-wraps", elf(phoff=2**64 - 56)
    yield "50-shnum-65535", elf(shoff=64, shnum=65535)
    yield "50-shentsize-4096", elf(shoff=64, shentsize=4096, shnum=1)


FAMILIES = [("safetensors", safetensors_files), ("json", json_files), ("yaml", yaml_files), ("onnx", onnx_files),
            ("npy", npy_files), ("npz", npz_files), ("tar", tar_files), ("elf", elf_files)]


def main():
    out = Path(sys.argv[1])
    for suffix, files in FAMILIES:
        folder = out / suffix
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files():
            (folder / f"{name}.{suffix}").write_bytes(content)
    (out / "onnx" / "w.bin").write_bytes(b"\0" * 8)
    (out / "elf" / "50-good.elf").write_bytes(elf())


if __name__ == "__main__":
    main()
