// Ops that decide while the model runs: sizes read from data, branches and loops.
include "GraphBase.td"

def PinOp : Op<Graph_Dialect, "Pin", [Graph_Internal, Graph_OnHost]> {
  let summary = "elements of a small integer tensor, read when it runs, become the values of symbols";
  let description = [{
    The element at positions[i] of the input (in row-major order) is the value of symbols[i] from here on; it is checked against the symbol's
    range. Sizes that data decides enter shape arithmetic this way and no other.
  }];
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$positions, DenseI64ArrayAttr:$symbols);
  let assemblyFormat = "`(` $input `)` `[` $positions `]` `as` `[` $symbols `]` attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def AssertOp : Op<Graph_Dialect, "Assert", [Graph_Internal, Graph_OnHost]> {
  let summary = "what was taken for granted about sizes: the run is refused where one of the conditions is negative";
  let arguments = (ins AffineMapAttr:$conditions);
  let assemblyFormat = "$conditions attr-dict";
}

def YieldOp : Op<Graph_Dialect, "Yield", [Graph_Internal, Graph_OnHost, Pure, Terminator]> {
  let summary = "ends a branch or a loop's body";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "(`(` $values^ `:` type($values) `)`)? attr-dict";
}

def IfOp : Op<Graph_Dialect, "If", [Graph_Control, Graph_OnHost, Graph_TakesStrings, SingleBlock, NoRegionArguments]> {
  let summary = "one of two branches, which may use values from around them";
  let description = [{
    A size in which the branches differ is a symbol of its own in the result's type; `symbols` lists those, and the branch taken gives them
    their values.
  }];
  let arguments = (ins Graph_Tensor:$condition, DenseI64ArrayAttr:$symbols);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$thenBranch, SizedRegion<1>:$elseBranch);
  let assemblyFormat = "`(` $condition `)` `as` `[` $symbols `]` attr-dict `:` functional-type($condition, $results) $thenBranch `else` $elseBranch";
  let hasVerifier = 1;
}

def LoopOp : Op<Graph_Dialect, "Loop", [Graph_Control, Graph_OnHost, Graph_TakesStrings, SingleBlock]> {
  let summary = "repeats its body while the condition holds, at most `trip` times";
  let description = [{
    The body takes the iteration's number (a scalar i64), the condition (a scalar bool) and the carried values; it yields the next condition,
    the next carried values, and one slice for every stacked result. The results are the carried values after the last iteration and then the
    stacked slices, one per iteration, along a new first dimension. A carried size that changes is a symbol: `body_symbols` have their values at
    the start of an iteration, `symbols` after the loop.
  }];
  let arguments = (ins Graph_Optional:$trip, Graph_Optional:$condition, Variadic<Graph_Tensor>:$carried, DenseI64ArrayAttr:$body_symbols,
      DenseI64ArrayAttr:$symbols);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $trip `,` $condition (`,` $carried^)? `)` `as` `[` $body_symbols `]` `[` $symbols `]` attr-dict `:`
    functional-type(operands, $results) $body
  }];
  let hasVerifier = 1;
}

def DynamicSliceOp : Graph_Op<"DynamicSlice", [Graph_Internal, DeclareOpInterfaceMethods<Graph_ShapeInterface>]> {
  let summary = "a slice whose starts are read when it runs and whose sizes are given; it must lie inside the input";
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$starts, Graph_Tensor:$sizes, DenseI64ArrayAttr:$axes, DenseI64ArrayAttr:$steps);
  let results = (outs Graph_Tensor:$result);
}
def NonZeroOp : Graph_ShapedOp<"NonZero", [Graph_Anchor]> {
  let summary = "the indices of the elements that are not zero, of which there are `count`";
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$count);
}
def NonMaxSuppressionOp : Graph_Op<"NonMaxSuppression", [DeclareOpInterfaceMethods<Graph_ShapeInterface>, Graph_Anchor]> {
  let summary = "for every class room for as many boxes as can be selected, and how many were; `order` sorts the boxes of every class by falling score";
  let arguments = (ins Graph_Tensor:$boxes, Graph_Tensor:$scores, Graph_Tensor:$order, Graph_Tensor:$max_output, Graph_Optional:$iou_threshold,
      Graph_Optional:$score_threshold, DefaultValuedAttr<Graph_Int, "0">:$center_point_box);
  let results = (outs Graph_Tensor:$selected, Graph_Tensor:$counts);
}
def TensorScatterOp : Graph_ShapedOp<"TensorScatter", [Graph_Anchor]> {
  let summary = "a cache with new rows written at an index for every batch entry; the cache may be the same memory as the result";
  let arguments = (ins Graph_Tensor:$past_cache, Graph_Tensor:$update, Graph_Optional:$write_indices, DefaultValuedAttr<Graph_Int, "-2">:$axis,
      DefaultValuedAttr<StrAttr, "\"linear\"">:$mode);
}
def MatMulNBitsOp : Graph_ShapedOp<"MatMulNBits", [Graph_Anchor, Graph_Internal]> {
  let summary = "a product with a constant matrix of small integers, N rows of K in blocks with a scale each";
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$weight, Graph_Tensor:$scales, Graph_Optional:$zero_points, Graph_Int:$K, Graph_Int:$N,
      DefaultValuedAttr<Graph_Int, "4">:$bits, Graph_Int:$block_size);
}
def TreeEnsembleOp : Graph_ShapedOp<"TreeEnsemble", [Graph_Anchor, Graph_Internal]> {
  let summary = "what decision trees say of each row, combined";
  let description = [{
    A node holds a threshold, a feature and a child: from it one goes on to the child where the row's feature is above the threshold or not a
    number, and to the node behind the child where it is not above. A leaf is a node whose child is itself and whose threshold is not a number;
    the lowest bits of its fraction are the number of the leaf's row of weights. `nodes` has a row for each: 8 bytes (threshold f32, feature u16,
    child u16) or 16 (threshold f32 and padding or f64, feature u32, child u32). `trees` has a row (first node, first leaf, depth, target) for each;
    children count from the first node, leaves from the first leaf. `weights` has a row for each leaf: one for every target, or one for its tree's target.
    Weights are added up in the order of the trees. The least and the greatest leave out what is not a number, and are not a number where nothing is left.
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$nodes, Graph_Tensor:$trees, Graph_Tensor:$weights, Graph_Int:$targets,
      DefaultValuedAttr<StrAttr, "\"SUM\"">:$aggregate);
}
def UniqueOp : Graph_Op<"Unique", [DeclareOpInterfaceMethods<Graph_ShapeInterface>, Graph_Anchor, Graph_TakesStrings]> {
  let summary = "distinct elements of a vector, or rows of a matrix: room for as many as there are elements, and how many were found";
  let arguments = (ins Graph_Tensor:$input, DefaultValuedAttr<Graph_Int, "1">:$sorted);
  let results = (outs Graph_Tensor:$first, Graph_Tensor:$inverse, Graph_Tensor:$counts, Graph_Tensor:$count);
}
