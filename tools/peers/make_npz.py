#!/usr/bin/env python3
"""Writes tests/data/npz from NumPy (and ml_dtypes for BF16): files to read, and numbers to agree with.

  build/peers/bin/python tools/peers/make_npz.py tests/data/npz
"""
import sys

import ml_dtypes
import numpy as np

out = sys.argv[1]
rng = np.random.default_rng(20260802)

kinds = [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.bool_]
members = {np.dtype(k).name: (np.arange(6).reshape(2, 3) % 2 if k is np.bool_ else np.arange(6).reshape(2, 3)).astype(k) for k in kinds}
members |= {"scalar": np.float32(2.5), "empty": np.zeros((0, 4), np.int64), "rank8": np.arange(2, dtype=np.float32).reshape(1, 1, 1, 2, 1, 1, 1, 1),
            "a/slash": np.array([-1], np.int64)}
np.savez(f"{out}/kinds.npz", **members)
np.savez_compressed(f"{out}/compressed.npz", x=np.zeros(64, np.float32))
np.savez(f"{out}/big_endian.npz", x=np.arange(3, dtype=">f4"))
np.savez(f"{out}/fortran.npz", x=np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)))
np.savez(f"{out}/bf16_lost.npz", x=np.arange(3).astype(ml_dtypes.bfloat16))
np.savez(f"{out}/object.npz", x=np.array([{"a": 1}], dtype=object))
np.savez(f"{out}/rank9.npz", x=np.zeros((1,) * 9, np.float32))

# Rounding: random bit patterns, ties, subnormals, overflow to infinity.
bits = rng.integers(0, 2**32, 3000, dtype=np.uint32)
ties = (rng.integers(0, 2**16, 500, dtype=np.uint32) << 16) | 0x8000
half_range = rng.normal(0, 1, 1000).astype(np.float32) * np.float32(2.0) ** rng.integers(-28, 17, 1000)
x = np.concatenate([bits.view(np.float32), ties.view(np.float32), half_range.astype(np.float32),
                    np.array([65504, 65519.996, 65520, 65536, 2**-24, 2**-25, 2**-25 * 1.0001, 0, -0.0], np.float32)])
x = x[~np.isnan(x)]
with np.errstate(over="ignore"):
    np.savez(f"{out}/rounding.npz", x=x, f16_bits=x.astype(np.float16).view(np.uint16), bf16_bits=x.astype(ml_dtypes.bfloat16).view(np.uint16))

want = rng.normal(0, 3, 777).astype(np.float32)
got = (want + rng.normal(0, 1e-3, 777)).astype(np.float32)
a, b = got.astype(np.float64), want.astype(np.float64)
np.savez(f"{out}/metrics.npz", got=got, want=want, max_abs=np.abs(a - b).max(), max_abs_index=np.int64(np.abs(a - b).argmax()),
         nmse=((a - b) ** 2).sum() / (b**2).sum(), cosine=a @ b / np.linalg.norm(a) / np.linalg.norm(b),
         top20=np.argsort(-got, kind="stable")[:20])
