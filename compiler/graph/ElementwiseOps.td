// Ops that compute each element from the elements at the same place of their (broadcast) operands.
include "GraphBase.td"

// Marks ops whose result element depends only on the operands' elements at the same (broadcast) index.
def Graph_Elementwise : NativeOpTrait<"Elementwise"> { let cppNamespace = "::fathom::graph"; }
// Marks ops that hold a math function, on floats.
def Graph_Expanded : NativeOpTrait<"Expanded"> { let cppNamespace = "::fathom::graph"; }

class Graph_Unary<string name, list<Trait> traits = []> : Graph_ShapedOp<name, !listconcat([Graph_Elementwise], traits)> {
  let arguments = (ins Graph_Tensor:$input);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) { return inferSameAs(*this, types); }
  }];
}
class Graph_UnaryPredicate<string name> : Graph_ShapedOp<name, [Graph_Elementwise]> {
  let arguments = (ins Graph_Tensor:$input);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) { return inferBroadcast(*this, types, /*predicate=*/true); }
  }];
}
class Graph_Binary<string name, list<Trait> traits = []> : Graph_ShapedOp<name, !listconcat([Graph_Elementwise], traits)> {
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) { return inferBroadcast(*this, types, /*predicate=*/false); }
  }];
}
class Graph_Predicate<string name> : Graph_ShapedOp<name, [Graph_Elementwise]> {
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) { return inferBroadcast(*this, types, /*predicate=*/true); }
  }];
}
// Integer arithmetic on sizes flows through these.
class Graph_SizeUnary<string name> : Graph_ShapeArithOp<name, [Graph_Elementwise]> {
  let arguments = (ins Graph_Tensor:$input);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) { return inferSameAs(*this, types); }
  }];
}
class Graph_SizeBinary<string name, list<Trait> traits = []> : Graph_ShapeArithOp<name, !listconcat([Graph_Elementwise], traits)> {
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) { return inferBroadcast(*this, types, /*predicate=*/false); }
  }];
}
class Graph_SizePredicate<string name, list<Trait> traits = []> : Graph_ShapeArithOp<name, !listconcat(traits, [Graph_Elementwise])> {
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) { return inferBroadcast(*this, types, /*predicate=*/true); }
  }];
}

class Graph_Function<string name> : Graph_Unary<name, [Graph_Expanded]>;

def AbsOp : Graph_Unary<"Abs">;
def AcosOp : Graph_Function<"Acos">;
def AcoshOp : Graph_Function<"Acosh">;
def AsinOp : Graph_Function<"Asin">;
def AsinhOp : Graph_Function<"Asinh">;
def AtanOp : Graph_Function<"Atan">;
def AtanhOp : Graph_Function<"Atanh">;
def BitwiseNotOp : Graph_Unary<"BitwiseNot">;
def CeilOp : Graph_Unary<"Ceil">;
def CosOp : Graph_Function<"Cos">;
def CoshOp : Graph_Function<"Cosh">;
def ErfOp : Graph_Function<"Erf">;
def ExpOp : Graph_Function<"Exp">;
def FloorOp : Graph_Unary<"Floor">;
def HardSwishOp : Graph_Unary<"HardSwish">;
def LogOp : Graph_Function<"Log">;
def MishOp : Graph_Function<"Mish">;
def NegOp : Graph_SizeUnary<"Neg">;
def NotOp : Graph_SizeUnary<"Not">;
def ReciprocalOp : Graph_Unary<"Reciprocal">;
def ReluOp : Graph_Unary<"Relu">;
def RoundOp : Graph_Unary<"Round">;
def SigmoidOp : Graph_Function<"Sigmoid">;
def SignOp : Graph_Unary<"Sign">;
def SinOp : Graph_Function<"Sin">;
def SinhOp : Graph_Function<"Sinh">;
def SoftplusOp : Graph_Function<"Softplus">;
def SoftsignOp : Graph_Unary<"Softsign">;
def SqrtOp : Graph_Unary<"Sqrt">;
def TanOp : Graph_Function<"Tan">;
def TanhOp : Graph_Function<"Tanh">;

class Graph_Activation<string name, dag attributes, list<Trait> traits = []> : Graph_Unary<name, traits> {
  let arguments = !con((ins Graph_Tensor:$input), attributes);
}
def CeluOp : Graph_Activation<"Celu", (ins DefaultValuedAttr<F32Attr, "1.0">:$alpha), [Graph_Expanded]>;
def EluOp : Graph_Activation<"Elu", (ins DefaultValuedAttr<F32Attr, "1.0">:$alpha), [Graph_Expanded]>;
def GeluOp : Graph_Activation<"Gelu", (ins DefaultValuedAttr<StrAttr, "\"none\"">:$approximate), [Graph_Expanded]>;
def HardSigmoidOp : Graph_Activation<"HardSigmoid", (ins DefaultValuedAttr<F32Attr, "0.2">:$alpha, DefaultValuedAttr<F32Attr, "0.5">:$beta)>;
def LeakyReluOp : Graph_Activation<"LeakyRelu", (ins DefaultValuedAttr<F32Attr, "0.01">:$alpha)>;
def SeluOp : Graph_Activation<"Selu", (ins DefaultValuedAttr<F32Attr, "1.67326319217681884765625">:$alpha, DefaultValuedAttr<F32Attr, "1.05070102214813232421875">:$gamma), [Graph_Expanded]>;
def ShrinkOp : Graph_Activation<"Shrink", (ins DefaultValuedAttr<F32Attr, "0.5">:$lambd, DefaultValuedAttr<F32Attr, "0.0">:$bias)>;
def SwishOp : Graph_Activation<"Swish", (ins DefaultValuedAttr<F32Attr, "1.0">:$alpha), [Graph_Expanded]>;
def ThresholdedReluOp : Graph_Activation<"ThresholdedRelu", (ins DefaultValuedAttr<F32Attr, "1.0">:$alpha)>;

def IsNaNOp : Graph_UnaryPredicate<"IsNaN">;
def IsInfOp : Graph_UnaryPredicate<"IsInf"> {
  let arguments = (ins Graph_Tensor:$input, DefaultValuedAttr<Graph_Int, "1">:$detect_negative, DefaultValuedAttr<Graph_Int, "1">:$detect_positive);
}

def AddOp : Graph_SizeBinary<"Add">;
def SubOp : Graph_SizeBinary<"Sub">;
def MulOp : Graph_SizeBinary<"Mul">;
def DivOp : Graph_SizeBinary<"Div">;
def MaxOp : Graph_SizeBinary<"Max"> { let summary = "ONNX's variadic Max, one pair at a time"; }
def MinOp : Graph_SizeBinary<"Min"> { let summary = "ONNX's variadic Min, one pair at a time"; }
def ModOp : Graph_SizeBinary<"Mod", [Graph_Expanded]> {
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs, DefaultValuedAttr<Graph_Int, "0">:$fmod);
}
def PowOp : Graph_Binary<"Pow", [Graph_Expanded]> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) { return inferBroadcastAs(*this, types, getElementTypeOrSelf(getLhs())); }
  }];
}
def PReluOp : Graph_Binary<"PRelu">;
def BitShiftOp : Graph_Binary<"BitShift"> {
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs, StrAttr:$direction);
}
def BitwiseAndOp : Graph_Binary<"BitwiseAnd">;
def BitwiseOrOp : Graph_Binary<"BitwiseOr">;
def BitwiseXorOp : Graph_Binary<"BitwiseXor">;
def AndOp : Graph_SizePredicate<"And">;
def OrOp : Graph_SizePredicate<"Or">;
def XorOp : Graph_Predicate<"Xor">;
def EqualOp : Graph_SizePredicate<"Equal", [Graph_TakesStrings]>;
def GreaterOp : Graph_SizePredicate<"Greater">;
def GreaterOrEqualOp : Graph_SizePredicate<"GreaterOrEqual">;
def LessOp : Graph_SizePredicate<"Less">;
def LessOrEqualOp : Graph_SizePredicate<"LessOrEqual">;

def WhereOp : Graph_ShapeArithOp<"Where", [Graph_Elementwise, Graph_AnyElement]> {
  let arguments = (ins Graph_Tensor:$condition, Graph_Tensor:$x, Graph_Tensor:$y);
}
def ClipOp : Graph_ShapedOp<"Clip", [Graph_Elementwise]> {
  let arguments = (ins Graph_Tensor:$input, Graph_Optional:$min, Graph_Optional:$max);
}
def CastOp : Graph_ShapeArithOp<"Cast", [Graph_Elementwise]> {
  let arguments = (ins Graph_Tensor:$input, TypeAttr:$to);
}
def BitCastOp : Graph_ShapedOp<"BitCast", [Graph_Elementwise]> {
  let summary = "the same bits as another type, whose elements take as many bytes";
  let arguments = (ins Graph_Tensor:$input, TypeAttr:$to);
}
def QuantizeLinearOp : Graph_ShapedOp<"QuantizeLinear", [Graph_Elementwise]> {
  let summary = "scale and zero point already shaped to broadcast against the input";
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$scale, Graph_Optional:$zero_point);
}
def DequantizeLinearOp : Graph_ShapedOp<"DequantizeLinear", [Graph_Elementwise]> {
  let summary = "scale and zero point already shaped to broadcast against the input";
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$scale, Graph_Optional:$zero_point);
}
