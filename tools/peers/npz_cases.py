"""npz files as calkit reads and writes them: stored, one .npy a member, any member name."""
import io
import zipfile

import numpy as np


def write_npz(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        for name, array in members.items():
            buffer = io.BytesIO()
            array = np.asarray(array)
            np.lib.format.write_array(buffer, np.ascontiguousarray(array).reshape(array.shape), version=(1, 0))
            z.writestr(zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0)), buffer.getvalue())


def read_npz(path):
    with zipfile.ZipFile(path) as z:
        return {n.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(z.read(n))) for n in z.namelist()}
