#!/usr/bin/env python3
"""What Transformers answers to a list of prompts, as a dump that `calkit freeze-baseline reference --dump` takes over.

transformers_dump.py MODEL_DIR PROMPTS.jsonl OUT [--dtype fp32|bf16] [--steps 16] [--threads 1]
    PROMPTS.jsonl: {id, kind?, text, add_special_tokens?} a line, as docs/formats/reference.md has it; a frozen baseline's
    reference/prompts.jsonl is one. Weights stay on this machine, nothing is fetched. Needs torch, transformers and numpy
    (tools/peers/setup_heavy).
OUT holds prompts.jsonl, token_ids.jsonl, logits_<dtype>.npz, greedy_<dtype>.jsonl and meta.json with all versions.
"""
import argparse
import json
import pathlib
import platform

import numpy as np
import torch
import transformers

TOP = 20


def read_prompts(path):
    with open(path, encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def greedy_step(logits):
    """Largest first, equal logits by smaller id."""
    order = np.lexsort((np.arange(len(logits)), -logits))[:TOP]
    top = logits[order]
    return {"token": int(order[0]), "margin": float(np.float64(top[0]) - np.float64(top[1])),
            "top_ids": [int(i) for i in order], "top_logits": [float(v) for v in top]}


@torch.no_grad()
def answer(model, ids, steps):
    out = model(torch.tensor([ids]), use_cache=True, logits_to_keep=1)
    last, run = None, []
    for step in range(steps):
        logits = out.logits[0, -1].float().numpy()
        last = logits if last is None else last
        run.append(greedy_step(logits))
        if step + 1 < steps:
            out = model(torch.tensor([[run[-1]["token"]]]), past_key_values=out.past_key_values, use_cache=True)
    return last, run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("prompts")
    parser.add_argument("out")
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    out = pathlib.Path(args.out)
    out.mkdir(parents=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(args.model, local_files_only=True)
    dtype = torch.float32 if args.dtype == "fp32" else torch.bfloat16
    model = transformers.AutoModelForCausalLM.from_pretrained(args.model, dtype=dtype, attn_implementation="eager",
                                                              local_files_only=True).eval()
    prompts = [p for p in read_prompts(args.prompts) if "text" in p]
    logits, ids_lines, greedy_lines = {}, [], []
    for prompt in prompts:
        ids = tokenizer(prompt["text"], add_special_tokens=prompt.get("add_special_tokens", True))["input_ids"]
        ids_lines.append({"id": prompt["id"], "run_ids": ids})
        if not ids:
            continue
        logits[prompt["id"]], steps = answer(model, ids, args.steps)
        tokens = [s["token"] for s in steps]
        greedy_lines.append({"id": prompt["id"], "tokens": tokens, "text": tokenizer.decode(tokens), "steps": steps})

    def lines(name, items):
        with open(out / name, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(item, ensure_ascii=False) + "\n" for item in items)

    lines("prompts.jsonl", prompts)
    lines("token_ids.jsonl", ids_lines)
    lines(f"greedy_{args.dtype}.jsonl", greedy_lines)
    np.savez(out / f"logits_{args.dtype}.npz", **logits)
    meta = {"tool": "transformers_dump.py", "model": pathlib.Path(args.model).name, "dtype": args.dtype,
            "attention": "eager", "threads": args.threads, "steps": args.steps, "python": platform.python_version(),
            "torch": torch.__version__, "transformers": transformers.__version__, "numpy": np.__version__}
    (out / "meta.json").write_text(json.dumps(meta, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
