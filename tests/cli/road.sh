# Sourced by cases: `road` takes the demo model to a package, with two short prompts of its peer's goldens.
road() {
  head -n 3 $DATA/golden/tiny-dense/prompts.jsonl > prompts.jsonl
  calkit freeze-baseline model $DATA/models/tiny-dense --out base --prompts prompts.jsonl --steps 4 \
    --context 2048 --batch 1 --kv-dtype f32 --evidence ev > freeze.log
  calkit onnx-export $DATA/models/tiny-dense --out onnx --evidence ev > export.log
  calkit pack onnx --baseline base --out tiny-dense.calbin --slots 2 --evidence ev > pack.log
  cp $SRC/manifests/tiny-dense.yaml s.yaml
}
# `proven` adds the records that export asks for.
proven() {
  calkit calbin-lint tiny-dense.calbin --service s.yaml --evidence ev > lint.log
  calkit runner tiny-dense.calbin --service s.yaml --baseline base --evidence ev > runner.log
}
# `mini` is the smallest package that runs: 32 tokens of vocabulary, 16 of prefill, two KV slots.
mini() {
  cp -r $DATA/packages/mini.calbin p
  cat > s.yaml << 'YAML'
schema: 1
architecture: qwen3
calbin_version: 1.0.0
runtime_abi: 0.7.6
context: 64
batch: 1
vocab: 32
models: {prefill: mini-prefill, decode: mini-decode}
tensors: {token: "inputs[0]", position: "inputs[1]", logits: "outputs[0]"}
csr: {current: "cur_seq_len[0]", past_current: "past_kv_cur_seq_len[0]"}
YAML
}

# A completions service that answers as the peer of qwen3-trained did; its port is in `port`, its process in `pid`.
service() {
  python3 "$SRC/tests/support/fake_openai.py" "$DATA/golden/qwen3-trained" port > service.log 2>&1 &
  echo $! > pid
  for _ in $(seq 100); do test -s port && return 0; sleep 0.1; done
  cat service.log; return 1
}

# fits SCHEMA FILE: the document holds against manifests/schemas/SCHEMA.schema.json, as jsonschema reads it.
fits() {
  "$SRC/build/peers/bin/python" -c 'import json, sys, jsonschema
jsonschema.Draft7Validator(json.load(open(sys.argv[1]))).validate(json.load(open(sys.argv[2])))' "$SRC/manifests/schemas/$1.schema.json" "$2"
}
