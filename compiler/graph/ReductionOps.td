// Reductions along axes, and the normalisations and softmaxes built on them.
include "GraphBase.td"

// Marks ops that combine the elements along their axes into one.
def Graph_Reduction : NativeOpTrait<"Reduction"> { let cppNamespace = "::fathom::graph"; }

class Graph_Reduce<string name> : Graph_ShapedOp<name, [Graph_Reduction, Graph_Anchor]> {
  let arguments = (ins Graph_Tensor:$input, Graph_Optional:$axes, DefaultValuedAttr<Graph_Int, "1">:$keepdims, DefaultValuedAttr<Graph_Int, "0">:$noop_with_empty_axes);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) { return inferReduce(*this, types); }
  }];
}
def ReduceL1Op : Graph_Reduce<"ReduceL1">;
def ReduceL2Op : Graph_Reduce<"ReduceL2">;
def ReduceLogSumOp : Graph_Reduce<"ReduceLogSum">;
def ReduceLogSumExpOp : Graph_Reduce<"ReduceLogSumExp">;
def ReduceMaxOp : Graph_Reduce<"ReduceMax">;
def ReduceMeanOp : Graph_Reduce<"ReduceMean">;
def ReduceMinOp : Graph_Reduce<"ReduceMin">;
def ReduceProdOp : Graph_ShapeArithOp<"ReduceProd", [Graph_Reduction, Graph_Anchor]> {
  let arguments = (ins Graph_Tensor:$input, Graph_Optional:$axes, DefaultValuedAttr<Graph_Int, "1">:$keepdims, DefaultValuedAttr<Graph_Int, "0">:$noop_with_empty_axes);
}
def ReduceSumOp : Graph_Reduce<"ReduceSum">;
def ReduceSumSquareOp : Graph_Reduce<"ReduceSumSquare">;

class Graph_Arg<string name> : Graph_ShapedOp<name, [Graph_Reduction, Graph_Anchor]> {
  let arguments = (ins Graph_Tensor:$input, DefaultValuedAttr<Graph_Int, "0">:$axis, DefaultValuedAttr<Graph_Int, "1">:$keepdims, DefaultValuedAttr<Graph_Int, "0">:$select_last_index);
}
def ArgMaxOp : Graph_Arg<"ArgMax">;
def ArgMinOp : Graph_Arg<"ArgMin">;

class Graph_Softmax<string name> : Graph_Op<name, [DeclareOpInterfaceMethods<Graph_ShapeInterface>, Graph_Anchor, Graph_SoftmaxLike]> {
  let arguments = (ins Graph_Tensor:$input, DefaultValuedAttr<Graph_Int, "-1">:$axis);
  let results = (outs Graph_Tensor:$result);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) { return inferSameAs(*this, types); }
  }];
}
def SoftmaxOp : Graph_Softmax<"Softmax">;
def LogSoftmaxOp : Graph_Softmax<"LogSoftmax">;
def HardmaxOp : Graph_Softmax<"Hardmax">;

def LayerNormalizationOp : Graph_Op<"LayerNormalization", [DeclareOpInterfaceMethods<Graph_ShapeInterface>, Graph_Anchor, Graph_NormalizesRows]> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$scale, Graph_Optional:$bias, DefaultValuedAttr<Graph_Int, "-1">:$axis,
      DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon, DefaultValuedAttr<Graph_Int, "1">:$stash_type);
  let results = (outs Graph_Tensor:$result, Graph_Tensor:$mean, Graph_Tensor:$inv_std_dev);
}
def RMSNormalizationOp : Graph_ShapedOp<"RMSNormalization", [Graph_Anchor, Graph_NormalizesRows]> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$scale, DefaultValuedAttr<Graph_Int, "-1">:$axis,
      DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon, DefaultValuedAttr<Graph_Int, "1">:$stash_type);
}
def BatchNormalizationOp : Graph_Op<"BatchNormalization", [DeclareOpInterfaceMethods<Graph_ShapeInterface>]> {
  let summary = "inference or training form; results after the first exist in training form";
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$scale, Graph_Tensor:$bias, Graph_Tensor:$mean, Graph_Tensor:$var,
      DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon, DefaultValuedAttr<F32Attr, "0.9f">:$momentum, DefaultValuedAttr<Graph_Int, "0">:$training_mode);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
}
def InstanceNormalizationOp : Graph_ShapedOp<"InstanceNormalization"> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$scale, Graph_Tensor:$bias, DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon);
}
def GroupNormalizationOp : Graph_ShapedOp<"GroupNormalization"> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$scale, Graph_Tensor:$bias, DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon, Graph_Int:$num_groups,
      DefaultValuedAttr<Graph_Int, "1">:$stash_type);
}
def LRNOp : Graph_ShapedOp<"LRN"> {
  let arguments = (ins Graph_Tensor:$input, DefaultValuedAttr<F32Attr, "0.0001f">:$alpha, DefaultValuedAttr<F32Attr, "0.75f">:$beta,
      DefaultValuedAttr<F32Attr, "1.0f">:$bias, Graph_Int:$size);
}
