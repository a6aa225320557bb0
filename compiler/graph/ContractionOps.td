// Matrix products, convolutions and pooling.
include "GraphBase.td"

def MatMulOp : Graph_ShapedOp<"MatMul", [Graph_Anchor]> { let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs); }
def StrassenOp : Graph_ShapedOp<"Strassen", [Graph_Anchor, Graph_Internal]> {
  let summary = "a product along an axis in quarters by Strassen's method: weight has four to seven factors of the right side, [factors, K / 2, N / 2]";
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$weight, Graph_Optional:$bias, Graph_Int:$axis);
  let extraClassDeclaration = [{
    // Whether it is a convolution with windows of one pixel, and not a product of matrices.
    bool isOfPixels() { return int64_t(getAxis()) != getType().getRank() - 1; }
  }];
}
def GemmOp : Graph_ShapedOp<"Gemm"> {
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs, Graph_Optional:$bias, DefaultValuedAttr<F32Attr, "1.0">:$alpha,
      DefaultValuedAttr<F32Attr, "1.0">:$beta, DefaultValuedAttr<Graph_Int, "0">:$transA, DefaultValuedAttr<Graph_Int, "0">:$transB);
}

class Graph_WindowOp<string name, dag operands, dag attributes = (ins), list<Trait> traits = []>
    : Graph_ShapedOp<name, !listconcat(traits, [Graph_Windowed])> {
  let arguments = !con(operands, (ins DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad, OptionalAttr<DenseI64ArrayAttr>:$dilations,
      OptionalAttr<DenseI64ArrayAttr>:$kernel_shape, OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides), attributes);
}
class Graph_Window<string name, dag operands, dag attributes = (ins), list<Trait> traits = []>
    : Graph_WindowOp<name, operands, attributes, !listconcat(traits, [Graph_Anchor])>;
class Graph_Pool<string name, dag attributes> : Graph_Window<name, (ins Graph_Tensor:$input), attributes, [Graph_Pooling]>;
def ConvOp : Graph_Window<"Conv", (ins Graph_Tensor:$input, Graph_Tensor:$weight, Graph_Optional:$bias), (ins DefaultValuedAttr<Graph_Int, "1">:$group)>;
def WinogradConvOp : Graph_ShapedOp<"WinogradConv", [Graph_Anchor, Graph_Internal]> {
  let summary = "a convolution with windows of 3 x 3, computed in tiles of tile x tile pixels: weight is the transformed one, [(tile + 2)^2, C / group, K]";
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$weight, Graph_Optional:$bias, DenseI64ArrayAttr:$pads, Graph_Int:$tile,
      DefaultValuedAttr<Graph_Int, "1">:$group);
}
def ConvTransposeOp : Graph_Window<"ConvTranspose", (ins Graph_Tensor:$input, Graph_Tensor:$weight, Graph_Optional:$bias),
    (ins DefaultValuedAttr<Graph_Int, "1">:$group, OptionalAttr<DenseI64ArrayAttr>:$output_padding, OptionalAttr<DenseI64ArrayAttr>:$output_shape)>;
def AveragePoolOp : Graph_Pool<"AveragePool",
    (ins DefaultValuedAttr<Graph_Int, "0">:$ceil_mode, DefaultValuedAttr<Graph_Int, "0">:$count_include_pad)>;
def LpPoolOp : Graph_Pool<"LpPool", (ins DefaultValuedAttr<Graph_Int, "0">:$ceil_mode, DefaultValuedAttr<Graph_Int, "2">:$p)>;
def MaxPoolOp : Graph_Pool<"MaxPool", (ins DefaultValuedAttr<Graph_Int, "0">:$ceil_mode, DefaultValuedAttr<Graph_Int, "0">:$storage_order)> {
  let summary = "the second result, where present, gives flat indices of the maxima";
  let results = (outs Graph_Tensor:$result, Optional<Graph_Tensor>:$indices);
}

class Graph_GlobalPool<string name, dag attributes = (ins)> : Graph_ShapedOp<name> { let arguments = !con((ins Graph_Tensor:$input), attributes); }
def GlobalAveragePoolOp : Graph_GlobalPool<"GlobalAveragePool">;
def GlobalLpPoolOp : Graph_GlobalPool<"GlobalLpPool", (ins DefaultValuedAttr<Graph_Int, "2">:$p)>;
def GlobalMaxPoolOp : Graph_GlobalPool<"GlobalMaxPool">;
