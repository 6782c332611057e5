#!/usr/bin/env python3
"""Makes a checkpoint of Qwen3-0.6B's shape with random BF16 weights, for benches: sizes are real, answers mean nothing.

  build/peers/bin/python tools/peers/make_shaped_checkpoint.py OUT [--layers 28] [--seed 1]

OUT/{config.json, generation_config.json, model.safetensors, tokenizer.json, tokenizer_config.json}. The tokenizer is that of
tests/data/models/tiny-dense; the vocabulary is padded to 151936 rows. Equal arguments give equal bytes. Needs NumPy.
"""
import argparse
import json
import pathlib
import shutil

import numpy as np

TOKENIZER = pathlib.Path(__file__).resolve().parents[2] / "tests/data/models/tiny-dense"
CHUNK = 1 << 22  # elements at a time


def config(layers):
    return {
        "architectures": ["Qwen3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 2040,
        "eos_token_id": 2042, "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024, "initializer_range": 0.02,
        "intermediate_size": 3072, "max_position_embeddings": 40960, "max_window_layers": layers, "model_type": "qwen3",
        "num_attention_heads": 16, "num_hidden_layers": layers, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
        "rope_scaling": None, "rope_theta": 1000000, "sliding_window": None, "tie_word_embeddings": True,
        "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": True, "use_sliding_window": False,
        "vocab_size": 151936,
    }


def tensors(c):
    hidden, ffn, d = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    q, kv = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
    out = {"model.embed_tokens.weight": (c["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for layer in range(c["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        out |= {p + "input_layernorm.weight": (hidden,), p + "post_attention_layernorm.weight": (hidden,),
                p + "self_attn.q_proj.weight": (q, hidden), p + "self_attn.k_proj.weight": (kv, hidden),
                p + "self_attn.v_proj.weight": (kv, hidden), p + "self_attn.o_proj.weight": (hidden, q),
                p + "self_attn.q_norm.weight": (d,), p + "self_attn.k_norm.weight": (d,),
                p + "mlp.gate_proj.weight": (ffn, hidden), p + "mlp.up_proj.weight": (ffn, hidden),
                p + "mlp.down_proj.weight": (hidden, ffn)}
    return dict(sorted(out.items()))


def to_bf16(values):
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def values(name, shape, random):
    count = int(np.prod(shape))
    if name.endswith("norm.weight"):
        yield np.ones(count, np.float32)
        return
    for begin in range(0, count, CHUNK):
        yield random.standard_normal(min(CHUNK, count - begin), np.float32) * np.float32(0.03)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=28)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    c = config(options.layers)
    (options.out / "config.json").write_text(json.dumps(c, indent=2) + "\n")
    (options.out / "generation_config.json").write_text(json.dumps({"eos_token_id": 2042}) + "\n")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(TOKENIZER / name, options.out / name)
    header, offset = {}, 0
    for name, shape in tensors(c).items():
        bytes_here = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + bytes_here]}
        offset += bytes_here
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    random = np.random.Generator(np.random.SFC64(options.seed))
    with open(options.out / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in tensors(c).items():
            for chunk in values(name, shape, random):
                file.write(to_bf16(chunk).tobytes())
    print(f"{options.out}: {offset} bytes of weights")


if __name__ == "__main__":
    main()
