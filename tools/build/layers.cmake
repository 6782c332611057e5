# The modules from the bottom up. A line names the calkit modules that a module may use directly; it may also use whatever
# those use, and nothing else. A line may only name modules above it, so no cycle is possible.
# The test `hygiene.layers` reads this list and the #include lines; calkit_module() links from it.
set(CALKIT_MODULES
  "base:"
  "tensor: base"
  "manifest: base"
  "net: base"
  "measure: base"
  "jinja: base"
  "hf: tensor manifest jinja"
  "onnx: tensor"
  "calbin: tensor manifest"
  "gate: manifest"
  "frozen: hf"
  "model: hf onnx"
  "exec: onnx"
  "inventory: onnx manifest"
  "lint: calbin"
  "device: calbin"
  "bundle: gate"
  "report: gate measure"
  "emulator: exec calbin"
  "baseline: model exec frozen net"
  "passes: model exec frozen"
  "compile: model exec frozen calbin"
  "runner: device frozen measure"
  "load: device frozen measure"
)
