# Sourced by cases: graphs in onnx, a baseline of two short prompts in base. `inputs [BATCH [KV_DTYPE]]`
inputs() {
  head -n 2 $DATA/golden/tiny-dense/prompts.jsonl > prompts.jsonl
  calkit freeze-baseline model $DATA/models/tiny-dense --out base --prompts prompts.jsonl --steps 3 --evidence none \
    --context 2048 --batch ${1:-1} --kv-dtype ${2:-f32} > freeze.log
  calkit onnx-export $DATA/models/tiny-dense --out onnx --evidence none > export.log
}
