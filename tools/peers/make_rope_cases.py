#!/usr/bin/env python3
"""Inverse frequencies and attention factors of Transformers for many RoPE blocks.

  python3 tools/peers/make_rope_cases.py tests/data/rope_cases.json

Needs torch==2.13.0 and transformers==5.24.0. Written for Transformers 5.24.0 on a CPU.
"""
import json
import sys

import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

L3 = dict(rope_type="llama3", low_freq_factor=1.0, high_freq_factor=4.0)
Y = dict(rope_type="yarn")
# head_dim, max_position_embeddings, rope_theta, block
CASES = [
    (128, 40960, 1e6, dict(rope_type="default")),
    (64, 2048, 10000.0, dict(rope_type="default")),
    (8, 512, 5e6, dict(rope_type="default")),
    (128, 16384, 10000.0, dict(rope_type="linear", factor=4.0)),
    (32, 4096, 500000.0, dict(rope_type="linear", factor=2.5)),
    (128, 8192, 10000.0, dict(rope_type="dynamic", factor=2.0)),
    (64, 4096, 1e6, dict(rope_type="dynamic", factor=2.3)),
    (128, 131072, 500000.0, dict(L3, factor=8.0, original_max_position_embeddings=8192)),
    (64, 131072, 500000.0, dict(L3, factor=32.0, original_max_position_embeddings=8192)),
    (32, 4352, 500000.0, dict(L3, factor=8.0, original_max_position_embeddings=256)),
    (8, 1024, 500000.0, dict(L3, factor=32.0, original_max_position_embeddings=256)),
    (128, 8192, 10000.0, dict(L3, factor=3.0, low_freq_factor=0.7, high_freq_factor=5.3, original_max_position_embeddings=1000)),
    (128, 131072, 1e6, dict(Y, factor=4.0, original_max_position_embeddings=32768)),
    (128, 40960, 1e6, dict(Y, factor=4.0, original_max_position_embeddings=32768)),
    (64, 131072, 10000.0, dict(Y, factor=32.0, original_max_position_embeddings=4096)),
    (64, 131072, 10000.0, dict(Y, factor=32.0, original_max_position_embeddings=4096, truncate=False)),
    (16, 128, 10000.0, dict(Y, factor=4.0, original_max_position_embeddings=32)),
    (8, 512, 10000.0, dict(Y, factor=4.0, original_max_position_embeddings=128)),
    (64, 163840, 10000.0, dict(Y, factor=40.0, original_max_position_embeddings=4096, mscale=1.0, mscale_all_dim=1.0)),
    (64, 163840, 10000.0, dict(Y, factor=40.0, original_max_position_embeddings=4096, mscale=0.707, mscale_all_dim=1.2)),
    (64, 163840, 10000.0, dict(Y, factor=40.0, original_max_position_embeddings=4096, mscale=0.707)),
    (64, 16384, 10000.0, dict(Y, factor=8.0, original_max_position_embeddings=2048, attention_factor=1.25)),
    (64, 16384, 10000.0, dict(Y, factor=8.0, original_max_position_embeddings=2048, beta_fast=16.0, beta_slow=2.0)),
    (64, 16384, 10000.0, dict(Y, factor=8.0)),
    (64, 16384, 10000.0, dict(Y, factor=1.0, original_max_position_embeddings=16384)),
    (4, 64, 100.0, dict(Y, factor=2.0, original_max_position_embeddings=4)),
    (32, 4096, 10000.0, dict(Y, factor=2.0, original_max_position_embeddings=2048, beta_fast=7.0, beta_slow=7.0)),
]

out = []
for width, positions, theta, block in CASES:
    heads = 2
    config = LlamaConfig(hidden_size=heads * width, num_attention_heads=heads, head_dim=width, num_hidden_layers=1,
                         intermediate_size=8, vocab_size=8, max_position_embeddings=positions, rope_theta=theta,
                         rope_parameters=dict(block, rope_theta=theta))
    rotary = LlamaRotaryEmbedding(config)
    assert rotary.inv_freq.dtype == torch.float32 and rotary.rope_type == block["rope_type"]
    out.append({
        "config": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": heads * width, "head_dim": width,
            "num_attention_heads": heads, "num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 8,
            "max_position_embeddings": positions, "rope_theta": theta, "rope_scaling": block},
        "attention_factor": float(rotary.attention_scaling),
        "inv_freq": [float(x) for x in rotary.inv_freq],
    })
with open(sys.argv[1], "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(case) for case in out) + "\n]\n")
