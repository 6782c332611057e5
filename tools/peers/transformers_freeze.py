#!/usr/bin/env python3
"""What freeze-baseline computes, done by Transformers: the peer of tests/bench/freeze.

  build/peers-heavy/bin/python tools/peers/transformers_freeze.py MODEL IDS.npz OUT.jsonl [--steps 16] [--threads 2]

IDS.npz has a member of int64 ids for each prompt (reference/token_ids.npz of a baseline). Each prompt is prefilled alone, then
decoded greedily with the model's own cache, in BF16; a line for each: id, tokens, the 20 largest logits of each step.
Prints one JSON line: seconds of loading, seconds of answering, prompts, tokens.
"""
import argparse
import json
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("ids")
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    import numpy as np
    import torch
    import transformers

    torch.set_num_threads(options.threads)
    start = time.perf_counter()
    model = transformers.AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.bfloat16)
    model.eval()
    loaded = time.perf_counter()
    ids = np.load(options.ids)
    tokens = 0
    with open(options.out, "w", encoding="utf-8") as out, torch.inference_mode():
        for name in ids.files:
            if ids[name].size == 0:
                continue
            tokens += int(ids[name].size)
            step = torch.from_numpy(ids[name].astype(np.int64))[None]
            past, row = None, {"id": name, "tokens": [], "steps": []}
            for _ in range(options.steps):
                answer = model(input_ids=step, past_key_values=past, use_cache=True, logits_to_keep=1)
                past, logits = answer.past_key_values, answer.logits[0, -1].float()
                top = torch.topk(logits, 20)
                step = top.indices[:1][None]
                row["tokens"].append(int(step))
                row["steps"].append({"top_ids": top.indices.tolist(), "top_logits": top.values.tolist()})
            out.write(json.dumps(row) + "\n")
    done = time.perf_counter()
    print(json.dumps({"load_s": loaded - start, "answer_s": done - loaded, "prompts": len(ids.files), "tokens": tokens,
                      "torch": torch.__version__, "transformers": transformers.__version__}))


if __name__ == "__main__":
    main()
