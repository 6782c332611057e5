"""Graphs in ONNX Runtime as their files say, on drawn inputs of one sequence; shared by the checks of passes and fusions."""
import numpy as np
import onnxruntime

TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(float16)": np.float16}
PAST, TOKENS = 5, 7


def session(model):
    """@param model a path, or the bytes of a model"""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # what the file says, nothing else
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"])


def feeds(run):
    """One sequence: TOKENS of a prompt, or one token after PAST."""
    draw = np.random.default_rng(7)
    inputs = run.get_inputs()
    past = PAST if any("past" in value.name for value in inputs) else 0
    new = 1 if past else TOKENS
    out = {}
    for value in inputs:
        name, kind = value.name, TYPES[value.type]
        if "mask" in name:
            out[name] = np.ones((1, past + new), kind)
        elif "pos" in name:
            out[name] = np.arange(past, past + new, dtype=kind)[None]
        elif name == "last_index":
            out[name] = np.array([new - 1], kind)
        elif "ids" in name:
            out[name] = draw.integers(0, 500, (1, new)).astype(kind)
        else:
            shape = [1] + [extent if isinstance(extent, int) else past for extent in value.shape[1:]]
            out[name] = draw.standard_normal(shape).astype(kind)
    return out


def nmse(want, got):
    """Infinite where a comparison says nothing: other shapes, numbers that are not finite, nothing but zeros."""
    want, got = want.astype(np.float64), got.astype(np.float64)
    if want.shape != got.shape or not np.isfinite(want).all() or not np.isfinite(got).all() or not (want != 0).any():
        return float("inf")
    return float(((want - got) ** 2).sum() / (want ** 2).sum())
