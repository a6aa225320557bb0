// Ops that make, move, select or reshape data without arithmetic on it.
include "GraphBase.td"

def NoneOp : Op<Graph_Dialect, "None", [Graph_Internal, Graph_Known, Pure, ConstantLike]> {
  let summary = "stands for an absent optional input";
  let results = (outs NoneType:$result);
  let assemblyFormat = "attr-dict";
  let hasFolder = 1;
}
def ConstantOp : Op<Graph_Dialect, "Constant", [Graph_Known, Pure, ConstantLike, DeclareOpInterfaceMethods<Graph_ShapeInterface, ["elements"]>]> {
  let summary = "a weight or literal; large ones are resources mapped from the model's file";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value attr-dict `as` type($result)";
  let hasFolder = 1;
}
def SizesOp : Op<Graph_Dialect, "Sizes", [Graph_Internal, Graph_Known, Pure, DeclareOpInterfaceMethods<Graph_ShapeInterface, ["elements"]>]> {
  let summary = "an integer tensor whose elements are expressions over the symbols, in row-major order";
  let arguments = (ins AffineMapAttr:$values);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$values attr-dict `as` type($result)";
}
def IdentityOp : Graph_ShapeArithOp<"Identity", [Graph_AnyElement]> { let arguments = (ins Graph_Tensor:$input); let hasFolder = 1; }
def RelayoutOp : Graph_Op<"Relayout", [Graph_Internal, DeclareOpInterfaceMethods<Graph_ShapeInterface>]> {
  let summary = "the same tensor in another layout: the only op that changes an encoding at run time";
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
}

def ShapeOp : Graph_ShapeArithOp<"Shape", [Graph_AnyElement]> {
  let arguments = (ins Graph_Tensor:$input, DefaultValuedAttr<Graph_Int, "0">:$start, OptionalAttr<Graph_Int>:$end);
}
def SizeOp : Graph_ShapeArithOp<"Size", [Graph_AnyElement]> { let arguments = (ins Graph_Tensor:$input); }
def ReshapeOp : Graph_ShapeArithOp<"Reshape", [Graph_AnyElement, Graph_Reshaping]> {
  let summary = "also ONNX's Flatten, Squeeze and Unsqueeze once the target sizes are known";
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$shape, DefaultValuedAttr<Graph_Int, "0">:$allowzero);
}
def FlattenOp : Graph_ShapedOp<"Flatten", [Graph_AnyElement, Graph_Reshaping]> { let arguments = (ins Graph_Tensor:$input, DefaultValuedAttr<Graph_Int, "1">:$axis); }
def SqueezeOp : Graph_ShapeArithOp<"Squeeze", [Graph_AnyElement, Graph_Reshaping]> { let arguments = (ins Graph_Tensor:$input, Graph_Optional:$axes); }
def UnsqueezeOp : Graph_ShapeArithOp<"Unsqueeze", [Graph_AnyElement, Graph_Reshaping]> { let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$axes); }
def TransposeOp : Graph_ShapeArithOp<"Transpose", [Graph_AnyElement]> { let arguments = (ins Graph_Tensor:$input, OptionalAttr<DenseI64ArrayAttr>:$perm); }
def ExpandOp : Graph_ShapeArithOp<"Expand", [Graph_AnyElement]> { let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$shape); }
def TileOp : Graph_ShapedOp<"Tile", [Graph_AnyElement]> { let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$repeats); }
def ConcatOp : Graph_ShapeArithOp<"Concat", [Graph_Anchor, Graph_AnyElement]> { let arguments = (ins Variadic<Graph_Tensor>:$inputs, Graph_Int:$axis); }
def SliceOp : Graph_ShapeArithOp<"Slice", [Graph_AnyElement]> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$starts, Graph_Tensor:$ends, Graph_Optional:$axes, Graph_Optional:$steps);
}
def SplitOp : Graph_Op<"Split", [DeclareOpInterfaceMethods<Graph_ShapeInterface>, Graph_AnyElement]> {
  let summary = "becomes one Slice per result";
  let arguments = (ins Graph_Tensor:$input, Graph_Optional:$split, DefaultValuedAttr<Graph_Int, "0">:$axis, OptionalAttr<Graph_Int>:$num_outputs);
  let results = (outs Variadic<Graph_Tensor>:$parts);
}
def PadOp : Graph_ShapedOp<"Pad"> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$pads, Graph_Optional:$constant_value, Graph_Optional:$axes,
      DefaultValuedAttr<StrAttr, "\"constant\"">:$mode);
}
def ConstantOfShapeOp : Graph_ShapeArithOp<"ConstantOfShape"> { let arguments = (ins Graph_Tensor:$shape, OptionalAttr<ElementsAttr>:$value); }
def RangeOp : Graph_ShapeArithOp<"Range"> { let arguments = (ins Graph_Tensor:$start, Graph_Tensor:$limit, Graph_Tensor:$delta); }
def EyeLikeOp : Graph_ShapedOp<"EyeLike"> { let arguments = (ins Graph_Tensor:$input, OptionalAttr<TypeAttr>:$dtype, DefaultValuedAttr<Graph_Int, "0">:$k); }
def TriluOp : Graph_ShapedOp<"Trilu"> { let arguments = (ins Graph_Tensor:$input, Graph_Optional:$k, DefaultValuedAttr<Graph_Int, "1">:$upper); }
def DepthToSpaceOp : Graph_ShapedOp<"DepthToSpace"> { let arguments = (ins Graph_Tensor:$input, Graph_Int:$blocksize, DefaultValuedAttr<StrAttr, "\"DCR\"">:$mode); }
def SpaceToDepthOp : Graph_ShapedOp<"SpaceToDepth"> { let arguments = (ins Graph_Tensor:$input, Graph_Int:$blocksize, DefaultValuedAttr<StrAttr, "\"DCR\"">:$mode); }
def ReverseSequenceOp : Graph_ShapedOp<"ReverseSequence"> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$sequence_lens, DefaultValuedAttr<Graph_Int, "1">:$batch_axis, DefaultValuedAttr<Graph_Int, "0">:$time_axis);
}
def ResizeOp : Graph_ShapedOp<"Resize"> {
  let arguments = (ins Graph_Tensor:$input, Graph_Optional:$roi, Graph_Optional:$scales, Graph_Optional:$sizes,
      DefaultValuedAttr<Graph_Int, "0">:$antialias, OptionalAttr<DenseI64ArrayAttr>:$axes,
      DefaultValuedAttr<StrAttr, "\"half_pixel\"">:$coordinate_transformation_mode, DefaultValuedAttr<F32Attr, "-0.75">:$cubic_coeff_a,
      DefaultValuedAttr<Graph_Int, "0">:$exclude_outside, DefaultValuedAttr<F32Attr, "0.0">:$extrapolation_value,
      DefaultValuedAttr<StrAttr, "\"stretch\"">:$keep_aspect_ratio_policy, DefaultValuedAttr<StrAttr, "\"nearest\"">:$mode,
      DefaultValuedAttr<StrAttr, "\"round_prefer_floor\"">:$nearest_mode);
}

def GatherOp : Graph_ShapeArithOp<"Gather", [Graph_AnyElement]> { let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$indices, DefaultValuedAttr<Graph_Int, "0">:$axis); }
def GatherElementsOp : Graph_ShapedOp<"GatherElements", [Graph_AnyElement]> { let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$indices, DefaultValuedAttr<Graph_Int, "0">:$axis); }
def GatherNDOp : Graph_ShapedOp<"GatherND", [Graph_AnyElement]> { let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$indices, DefaultValuedAttr<Graph_Int, "0">:$batch_dims); }
def ScatterElementsOp : Graph_ShapedOp<"ScatterElements", [Graph_Anchor, Graph_TakesStrings]> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$indices, Graph_Tensor:$updates, DefaultValuedAttr<Graph_Int, "0">:$axis,
      DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
}
def ScatterNDOp : Graph_ShapedOp<"ScatterND", [Graph_Anchor, Graph_TakesStrings]> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$indices, Graph_Tensor:$updates, DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
}
def OneHotOp : Graph_ShapedOp<"OneHot"> {
  let arguments = (ins Graph_Tensor:$indices, Graph_Tensor:$depth, Graph_Tensor:$values, DefaultValuedAttr<Graph_Int, "-1">:$axis);
}
def CumSumOp : Graph_ShapedOp<"CumSum", [Graph_Anchor]> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$axis, DefaultValuedAttr<Graph_Int, "0">:$exclusive, DefaultValuedAttr<Graph_Int, "0">:$reverse);
}
def TopKOp : Graph_Op<"TopK", [DeclareOpInterfaceMethods<Graph_ShapeInterface>, Graph_Anchor]> {
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$k, DefaultValuedAttr<Graph_Int, "-1">:$axis, DefaultValuedAttr<Graph_Int, "1">:$largest,
      DefaultValuedAttr<Graph_Int, "1">:$sorted);
  let results = (outs Graph_Tensor:$values, Graph_Tensor:$indices);
}
