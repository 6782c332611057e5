// What operators do, in one table. Costs are operations for each element, a transcendental function counted as one.
#include <unordered_map>

#include "fact.h"

namespace calkit::inventory {
namespace {

struct Row {
  Kind kind;
  int cost;
  const char* names;  // separated by blanks
};
constexpr Row kStandard[] = {
    {Kind::kView, 0,
     "Constant Dropout Flatten Identity Optional OptionalGetElement Reshape Shape Size Squeeze Unsqueeze"},
    {Kind::kMove, 0,
     "Cast CastLike CenterCropPad Compress Concat ConcatFromSequence ConstantOfShape DepthToSpace Expand EyeLike "
     "Gather "
     "GatherElements GatherND NonZero OneHot Pad Range ReverseSequence Scatter ScatterElements ScatterND SequenceAt "
     "SequenceConstruct SequenceEmpty SequenceInsert SequenceLength Slice SpaceToDepth Split SplitToSequence "
     "TensorScatter "
     "Tile Transpose Trilu Where BitCast"},
    {Kind::kMap, 1,
     "Abs Acos Add And Asin Atan BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Cos Cosh Div Elu Equal Erf "
     "Exp "
     "Floor Greater GreaterOrEqual IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mod Mul Neg Not Or Pow "
     "PRelu "
     "Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softsign Sqrt Sub Sum Tan Tanh ThresholdedRelu Xor"},
    {Kind::kMap, 2, "Celu HardSigmoid HardSwish Softplus Swish"},
    {Kind::kMap, 5, "Gelu Mish"},
    {Kind::kLike, 1, "Clip CumSum Hardmax"},
    {Kind::kLike, 2, "BatchNormalization DequantizeLinear QuantizeLinear"},
    {Kind::kLike, 3, "LpNormalization RotaryEmbedding"},
    {Kind::kLike, 4, "DynamicQuantizeLinear RMSNormalization"},
    {Kind::kLike, 5, "LogSoftmax Softmax"},
    {Kind::kLike, 7, "GroupNormalization InstanceNormalization LayerNormalization MeanVarianceNormalization"},
    {Kind::kReduce, 1,
     "ArgMax ArgMin GlobalAveragePool GlobalMaxPool ReduceL1 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum TopK"},
    {Kind::kReduce, 2, "ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare"},
    {Kind::kWindow, 1, "AveragePool LpPool MaxPool"},
    {Kind::kMatMul, 0, "MatMul MatMulInteger QLinearMatMul"},
    {Kind::kGemm, 0, "Gemm"},
    {Kind::kConv, 0, "Conv ConvInteger QLinearConv"},
    {Kind::kConvTranspose, 0, "ConvTranspose"},
    {Kind::kAttention, 0, "Attention"},
    {Kind::kRecurrent, 0, "GRU LSTM RNN"},
    {Kind::kControl, 0, "If Loop Scan SequenceMap"},
};
constexpr Row kMicrosoft[] = {
    {Kind::kLike, 4, "SimplifiedLayerNormalization SkipSimplifiedLayerNormalization"},
    {Kind::kLike, 3, "RotaryEmbedding"},
    {Kind::kMap, 2, "QuickGelu"},
};

using Table = std::unordered_map<std::string, Operator>;

void add(Table& table, const std::string& domain, const Row& row) {
  std::string_view names = row.names;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    table[domain + ":" + std::string(names.substr(0, end))] = {row.kind, row.cost, row.kind != Kind::kControl};
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

Table make_table() {
  Table table;
  for (const Row& row : kStandard) add(table, "ai.onnx", row);
  for (const Row& row : kMicrosoft) add(table, "com.microsoft", row);
  add(table, "ai.onnx", {Kind::kLike, 4, "SimplifiedLayerNormalization"});  // ONNX Runtime's, kept in this domain
  return table;
}

}  // namespace

const Operator& operator_of(std::string_view op) {
  static const Table table = make_table();
  static const Operator none;
  const auto found = table.find(std::string(op));
  return found == table.end() ? none : found->second;
}

bool is_float(onnx::ElementType type) {
  return type == 1 || type == 10 || type == 11 || (type >= 14 && type <= 20) || type == 23 || type == 24;
}

}  // namespace calkit::inventory
