// Every op in its text form, read, printed and read again; also in the generic form, which does not go through the op's own syntax.
// RUN: fathom-opt %s -split-input-file | fathom-opt -split-input-file | FileCheck %s
// RUN: fathom-opt %s -split-input-file -mlir-print-op-generic | fathom-opt -split-input-file | FileCheck %s

// CHECK-LABEL: @unary
func.func @unary(%x: tensor<2x3xf32>, %b: tensor<2x3xi1>, %i: tensor<2x3xi32>) {
  // CHECK: graph.Abs(
  %abs = graph.Abs(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Acos(
  %acos = graph.Acos(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Acosh(
  %acosh = graph.Acosh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Asin(
  %asin = graph.Asin(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Asinh(
  %asinh = graph.Asinh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Atan(
  %atan = graph.Atan(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Atanh(
  %atanh = graph.Atanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Ceil(
  %ceil = graph.Ceil(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Cos(
  %cos = graph.Cos(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Cosh(
  %cosh = graph.Cosh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Erf(
  %erf = graph.Erf(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Exp(
  %exp = graph.Exp(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Floor(
  %floor = graph.Floor(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.HardSwish(
  %hardswish = graph.HardSwish(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Log(
  %log = graph.Log(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Mish(
  %mish = graph.Mish(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Neg(
  %neg = graph.Neg(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Reciprocal(
  %reciprocal = graph.Reciprocal(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Relu(
  %relu = graph.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Round(
  %round = graph.Round(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Sigmoid(
  %sigmoid = graph.Sigmoid(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Sign(
  %sign = graph.Sign(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Sin(
  %sin = graph.Sin(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Sinh(
  %sinh = graph.Sinh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Softplus(
  %softplus = graph.Softplus(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Softsign(
  %softsign = graph.Softsign(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Sqrt(
  %sqrt = graph.Sqrt(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Tan(
  %tan = graph.Tan(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Tanh(
  %tanh = graph.Tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Celu(
  %celu = graph.Celu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Elu(
  %elu = graph.Elu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Gelu(
  %gelu = graph.Gelu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.HardSigmoid(
  %hardsigmoid = graph.HardSigmoid(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.LeakyRelu(
  %leakyrelu = graph.LeakyRelu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Selu(
  %selu = graph.Selu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Shrink(
  %shrink = graph.Shrink(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Swish(
  %swish = graph.Swish(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.ThresholdedRelu(
  %thresholdedrelu = graph.ThresholdedRelu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Gelu(
  %attributes = graph.Gelu(%x) {approximate = "tanh"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.LeakyRelu(
  %alpha = graph.LeakyRelu(%x) {alpha = 2.000000e-01 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Not(
  %not = graph.Not(%b) : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: graph.BitwiseNot(
  %bitwisenot = graph.BitwiseNot(%i) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: graph.IsNaN(
  %isnan = graph.IsNaN(%x) : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.IsInf(
  %isinf = graph.IsInf(%x) {detect_negative = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xi1>
  return
}

// -----

// CHECK-LABEL: @binary
func.func @binary(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %i: tensor<2x3xi64>, %j: tensor<2x1xi64>, %u: tensor<3xui8>, %b: tensor<2x3xi1>, %s: tensor<f32>, %z: tensor<i8>, %q: tensor<2x3xi8>) {
  %none = graph.None
  // CHECK: graph.Add(
  %add = graph.Add(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Sub(
  %sub = graph.Sub(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Mul(
  %mul = graph.Mul(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Div(
  %div = graph.Div(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Max(
  %max = graph.Max(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Min(
  %min = graph.Min(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Pow(
  %pow = graph.Pow(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.PRelu(
  %prelu = graph.PRelu(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Mod(
  %mod = graph.Mod(%x, %y) {fmod = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Mod(
  %intmod = graph.Mod(%i, %j) : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x3xi64>
  // CHECK: graph.BitShift(
  %bitshift = graph.BitShift(%u, %u) {direction = "LEFT"} : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  // CHECK: graph.BitwiseAnd(
  %bitwiseand = graph.BitwiseAnd(%i, %j) : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x3xi64>
  // CHECK: graph.BitwiseOr(
  %bitwiseor = graph.BitwiseOr(%i, %j) : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x3xi64>
  // CHECK: graph.BitwiseXor(
  %bitwisexor = graph.BitwiseXor(%i, %j) : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x3xi64>
  // CHECK: graph.And(
  %and = graph.And(%b, %b) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: graph.Or(
  %or = graph.Or(%b, %b) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: graph.Xor(
  %xor = graph.Xor(%b, %b) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: graph.Equal(
  %equal = graph.Equal(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.Greater(
  %greater = graph.Greater(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.GreaterOrEqual(
  %greaterorequal = graph.GreaterOrEqual(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.Less(
  %less = graph.Less(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.LessOrEqual(
  %lessorequal = graph.LessOrEqual(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.Where(
  %where = graph.Where(%b, %x, %y) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.Clip(
  %clip = graph.Clip(%x, %none, %s) : (tensor<2x3xf32>, none, tensor<f32>) -> tensor<2x3xf32>
  // CHECK: graph.Cast(
  %cast = graph.Cast(%x) {to = bf16} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  // CHECK: graph.QuantizeLinear(
  %quantize = graph.QuantizeLinear(%x, %s, %z) : (tensor<2x3xf32>, tensor<f32>, tensor<i8>) -> tensor<2x3xi8>
  // CHECK: graph.QuantizeLinear(
  %quantizeu8 = graph.QuantizeLinear(%x, %s, %none) : (tensor<2x3xf32>, tensor<f32>, none) -> tensor<2x3xui8>
  // CHECK: graph.DequantizeLinear(
  %dequantize = graph.DequantizeLinear(%q, %s, %z) : (tensor<2x3xi8>, tensor<f32>, tensor<i8>) -> tensor<2x3xf32>
  return
}

// -----

// CHECK-LABEL: @reduction
func.func @reduction(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>) {
  %none = graph.None
  %axes = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  // CHECK: graph.ReduceL1(
  %reducel1 = graph.ReduceL1(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  // CHECK: graph.ReduceL2(
  %reducel2 = graph.ReduceL2(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  // CHECK: graph.ReduceLogSum(
  %reducelogsum = graph.ReduceLogSum(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  // CHECK: graph.ReduceLogSumExp(
  %reducelogsumexp = graph.ReduceLogSumExp(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  // CHECK: graph.ReduceMax(
  %reducemax = graph.ReduceMax(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  // CHECK: graph.ReduceMean(
  %reducemean = graph.ReduceMean(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  // CHECK: graph.ReduceMin(
  %reducemin = graph.ReduceMin(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  // CHECK: graph.ReduceProd(
  %reduceprod = graph.ReduceProd(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  // CHECK: graph.ReduceSum(
  %reducesum = graph.ReduceSum(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  // CHECK: graph.ReduceSumSquare(
  %reducesumsquare = graph.ReduceSumSquare(%x, %axes) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  // CHECK: graph.ReduceSum(
  %all = graph.ReduceSum(%x, %none) {keepdims = 0 : i64} : (tensor<2x3x4xf32>, none) -> tensor<f32>
  // CHECK: graph.ReduceSum(
  %noop = graph.ReduceSum(%x, %none) {noop_with_empty_axes = 1 : i64} : (tensor<2x3x4xf32>, none) -> tensor<2x3x4xf32>
  // CHECK: graph.ArgMax(
  %argmax = graph.ArgMax(%x) {axis = 1 : i64, keepdims = 0 : i64} : (tensor<2x3x4xf32>) -> tensor<2x4xi64>
  // CHECK: graph.ArgMin(
  %argmin = graph.ArgMin(%x) : (tensor<2x3x4xf32>) -> tensor<1x3x4xi64>
  // CHECK: graph.Softmax(
  %softmax = graph.Softmax(%x) {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.LogSoftmax(
  %logsoftmax = graph.LogSoftmax(%x) {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.Hardmax(
  %hardmax = graph.Hardmax(%x) {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.LayerNormalization(
  %layernorm:3 = graph.LayerNormalization(%x, %d, %none) : (tensor<2x3x4xf32>, tensor<4xf32>, none) -> (tensor<2x3x4xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  // CHECK: graph.RMSNormalization(
  %rmsnorm = graph.RMSNormalization(%x, %d) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.BatchNormalization(
  %batchnorm = graph.BatchNormalization(%x, %c, %c, %c, %c) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.BatchNormalization(
  %training:3 = graph.BatchNormalization(%x, %c, %c, %c, %c) {training_mode = 1 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: graph.InstanceNormalization(
  %instancenorm = graph.InstanceNormalization(%x, %c, %c) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.GroupNormalization(
  %groupnorm = graph.GroupNormalization(%x, %c, %c) {num_groups = 3 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.LRN(
  %lrn = graph.LRN(%x) {size = 3 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

// CHECK-LABEL: @contraction
func.func @contraction(%x: tensor<1x8x10x10xf32>, %w: tensor<16x4x3x3xf32>, %t: tensor<8x4x3x3xf32>, %b: tensor<16xf32>, %m: tensor<5x6xf32>, %n: tensor<2x6x7xf32>) {
  %none = graph.None
  // CHECK: graph.MatMul(
  %matmul = graph.MatMul(%m, %n) : (tensor<5x6xf32>, tensor<2x6x7xf32>) -> tensor<2x5x7xf32>
  // CHECK: graph.Gemm(
  %gemm = graph.Gemm(%m, %m, %none) {alpha = 5.000000e-01 : f32, transB = 1 : i64} : (tensor<5x6xf32>, tensor<5x6xf32>, none) -> tensor<5x5xf32>
  // CHECK: graph.Conv(
  %conv = graph.Conv(%x, %w, %b) {group = 2 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x8x10x10xf32>, tensor<16x4x3x3xf32>, tensor<16xf32>) -> tensor<1x16x5x5xf32>
  // CHECK: graph.ConvTranspose(
  %transposed = graph.ConvTranspose(%x, %t, %none) {strides = array<i64: 2, 2>} : (tensor<1x8x10x10xf32>, tensor<8x4x3x3xf32>, none) -> tensor<1x4x21x21xf32>
  // CHECK: graph.AveragePool(
  %averagepool = graph.AveragePool(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x8x10x10xf32>) -> tensor<1x8x5x5xf32>
  // CHECK: graph.LpPool(
  %lppool = graph.LpPool(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x8x10x10xf32>) -> tensor<1x8x5x5xf32>
  // CHECK: graph.MaxPool(
  %maxpool = graph.MaxPool(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x8x10x10xf32>) -> tensor<1x8x5x5xf32>
  // CHECK: graph.MaxPool(
  %indices:2 = graph.MaxPool(%x) {kernel_shape = array<i64: 2, 2>} : (tensor<1x8x10x10xf32>) -> (tensor<1x8x9x9xf32>, tensor<1x8x9x9xi64>)
  // CHECK: graph.GlobalAveragePool(
  %globalaveragepool = graph.GlobalAveragePool(%x) : (tensor<1x8x10x10xf32>) -> tensor<1x8x1x1xf32>
  // CHECK: graph.GlobalLpPool(
  %globallppool = graph.GlobalLpPool(%x) : (tensor<1x8x10x10xf32>) -> tensor<1x8x1x1xf32>
  // CHECK: graph.GlobalMaxPool(
  %globalmaxpool = graph.GlobalMaxPool(%x) : (tensor<1x8x10x10xf32>) -> tensor<1x8x1x1xf32>
  return
}

// -----

// CHECK-LABEL: @movement
func.func @movement(%x: tensor<2x3x4xf32>, %v: tensor<6xf32>, %i: tensor<2x2xi64>, %j: tensor<2x3x4xi64>, %u: tensor<2x2x3x4xf32>, %f: tensor<1x8x4x4xf32>, %m: tensor<3x3xf32>, %l: tensor<3xi64>, %p: tensor<2xf32>, %un: tensor<2x4xf32>, %ij: tensor<2x2xi64>) {
  // CHECK: graph.None
  %none = graph.None
  // CHECK: graph.Constant dense<[2, -1]> : tensor<2xi64> as tensor<2xi64>
  %to = graph.Constant dense<[2, -1]> : tensor<2xi64> as tensor<2xi64>
  %one = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %end = graph.Constant dense<9223372036854775807> : tensor<1xi64> as tensor<1xi64>
  %repeats = graph.Constant dense<[1, 2, 3]> : tensor<3xi64> as tensor<3xi64>
  %scales = graph.Constant dense<[2.0, 1.5]> : tensor<2xf32> as tensor<2xf32>
  %s = graph.Constant dense<0.0> : tensor<f32> as tensor<f32>
  %first = graph.Constant dense<0> : tensor<i64> as tensor<i64>
  %last = graph.Constant dense<8> : tensor<i64> as tensor<i64>
  %step = graph.Constant dense<2> : tensor<i64> as tensor<i64>
  // CHECK: graph.Identity(
  %identity = graph.Identity(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.Relayout(
  %relayout = graph.Relayout(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32, #graph.enc<order = [0, 2, 1]>>
  // CHECK: graph.Shape(
  %shape = graph.Shape(%x) {end = -1 : i64, start = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<1xi64>
  // CHECK: graph.Size(
  %size = graph.Size(%x) : (tensor<2x3x4xf32>) -> tensor<i64>
  // CHECK: graph.Reshape(
  %reshape = graph.Reshape(%x, %to) : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2x12xf32>
  // CHECK: graph.Flatten(
  %flatten = graph.Flatten(%x) {axis = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  // CHECK: graph.Unsqueeze(
  %unsqueeze = graph.Unsqueeze(%x, %one) : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x3x4xf32>
  // CHECK: graph.Squeeze(
  %squeeze = graph.Squeeze(%unsqueeze, %none) : (tensor<2x1x3x4xf32>, none) -> tensor<2x3x4xf32>
  // CHECK: graph.Transpose(
  %transpose = graph.Transpose(%x) {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  // CHECK: graph.Expand(
  %expand = graph.Expand(%s, %repeats) : (tensor<f32>, tensor<3xi64>) -> tensor<1x2x3xf32>
  // CHECK: graph.Tile(
  %tile = graph.Tile(%x, %repeats) : (tensor<2x3x4xf32>, tensor<3xi64>) -> tensor<2x6x12xf32>
  // CHECK: graph.Concat(
  %concat = graph.Concat(%x, %x) {axis = -1 : i64} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  // CHECK: graph.Slice(
  %slice = graph.Slice(%x, %one, %end, %one, %none) : (tensor<2x3x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2x2x4xf32>
  // CHECK: graph.Split(
  %split:2 = graph.Split(%v, %none) {num_outputs = 2 : i64} : (tensor<6xf32>, none) -> (tensor<3xf32>, tensor<3xf32>)
  // CHECK: graph.Pad(
  %pad = graph.Pad(%v, %to, %s, %none) : (tensor<6xf32>, tensor<2xi64>, tensor<f32>, none) -> tensor<7xf32>
  // CHECK: graph.ConstantOfShape(
  %constantofshape = graph.ConstantOfShape(%repeats) {value = dense<7> : tensor<1xi32>} : (tensor<3xi64>) -> tensor<1x2x3xi32>
  // CHECK: graph.Range(
  %range = graph.Range(%first, %last, %step) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xi64>
  // CHECK: graph.EyeLike(
  %eyelike = graph.EyeLike(%m) {dtype = i64, k = 1 : i64} : (tensor<3x3xf32>) -> tensor<3x3xi64>
  // CHECK: graph.Trilu(
  %trilu = graph.Trilu(%m, %first) {upper = 0 : i64} : (tensor<3x3xf32>, tensor<i64>) -> tensor<3x3xf32>
  // CHECK: graph.DepthToSpace(
  %depthtospace = graph.DepthToSpace(%f) {blocksize = 2 : i64, mode = "CRD"} : (tensor<1x8x4x4xf32>) -> tensor<1x2x8x8xf32>
  // CHECK: graph.SpaceToDepth(
  %spacetodepth = graph.SpaceToDepth(%f) {blocksize = 2 : i64} : (tensor<1x8x4x4xf32>) -> tensor<1x32x2x2xf32>
  // CHECK: graph.ReverseSequence(
  %reverse = graph.ReverseSequence(%x, %l) : (tensor<2x3x4xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
  // CHECK: graph.Resize(
  %resize = graph.Resize(%m, %none, %scales, %none) {mode = "linear"} : (tensor<3x3xf32>, none, tensor<2xf32>, none) -> tensor<6x4xf32>
  // CHECK: graph.Gather(
  %gather = graph.Gather(%x, %i) {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x2xi64>) -> tensor<2x2x2x4xf32>
  // CHECK: graph.GatherElements(
  %gatherelements = graph.GatherElements(%x, %j) {axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<2x3x4xi64>) -> tensor<2x3x4xf32>
  // CHECK: graph.GatherND(
  %gathernd = graph.GatherND(%x, %ij) : (tensor<2x3x4xf32>, tensor<2x2xi64>) -> tensor<2x4xf32>
  // CHECK: graph.ScatterElements(
  %scatterelements = graph.ScatterElements(%x, %j, %x) {reduction = "add"} : (tensor<2x3x4xf32>, tensor<2x3x4xi64>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.ScatterND(
  %scatternd = graph.ScatterND(%x, %ij, %un) : (tensor<2x3x4xf32>, tensor<2x2xi64>, tensor<2x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.OneHot(
  %onehot = graph.OneHot(%i, %last, %p) : (tensor<2x2xi64>, tensor<i64>, tensor<2xf32>) -> tensor<2x2x8xf32>
  // CHECK: graph.CumSum(
  %cumsum = graph.CumSum(%x, %first) {reverse = 1 : i64} : (tensor<2x3x4xf32>, tensor<i64>) -> tensor<2x3x4xf32>
  // CHECK: graph.TopK(
  %topk:2 = graph.TopK(%x, %one) {largest = 0 : i64} : (tensor<2x3x4xf32>, tensor<1xi64>) -> (tensor<2x3x1xf32>, tensor<2x3x1xi64>)
  return
}
