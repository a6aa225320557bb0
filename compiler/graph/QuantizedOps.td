// Ops over quantised numbers as ONNX has them, but that scales and zero points are already shaped to broadcast against their numbers.
// DecomposeQuantized expresses them by others where no kernel takes them whole.
include "ContractionOps.td"

def QuadsOp : Graph_ShapedOp<"Quads", [Graph_Internal]> {
  let summary = "four 8-bit neighbours along an axis as the bytes of one i32, the first of them lowest; zeros behind the last";
  let description = [{
    A MatMul or Conv whose right operand is made of quads along its depth has a left operand of uint8: every element of the right one
    stands for four factors with a sign, and results are sums of 32 bits.
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Int:$axis);
}
def DynamicQuantizeLinearOp : Graph_Op<"DynamicQuantizeLinear", [DeclareOpInterfaceMethods<Graph_ShapeInterface>]> {
  let summary = "8 bits without a sign, by the range that the input has when the model runs";
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result, Graph_Tensor:$scale, Graph_Tensor:$zero_point);
}
def MatMulIntegerOp : Graph_ShapedOp<"MatMulInteger"> {
  let summary = "sums of 32 bits";
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs, Graph_Optional:$lhs_zero_point, Graph_Optional:$rhs_zero_point);
}
def QLinearMatMulOp : Graph_ShapedOp<"QLinearMatMul"> {
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$lhs_scale, Graph_Tensor:$lhs_zero_point, Graph_Tensor:$rhs, Graph_Tensor:$rhs_scale,
      Graph_Tensor:$rhs_zero_point, Graph_Tensor:$scale, Graph_Tensor:$zero_point);
}
def ConvIntegerOp : Graph_WindowOp<"ConvInteger", (ins Graph_Tensor:$input, Graph_Tensor:$weight, Graph_Optional:$input_zero_point,
    Graph_Optional:$weight_zero_point), (ins DefaultValuedAttr<Graph_Int, "1">:$group)> {
  let summary = "sums of 32 bits";
}
def QLinearConvOp : Graph_WindowOp<"QLinearConv", (ins Graph_Tensor:$input, Graph_Tensor:$input_scale, Graph_Tensor:$input_zero_point,
    Graph_Tensor:$weight, Graph_Tensor:$weight_scale, Graph_Tensor:$weight_zero_point, Graph_Tensor:$scale, Graph_Tensor:$zero_point,
    Graph_Optional:$bias), (ins DefaultValuedAttr<Graph_Int, "1">:$group)> {
  let summary = "the bias has the scale of the input times that of the weight, and no zero point";
}
