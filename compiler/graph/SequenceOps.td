// Sequences and optionals while a model is imported: what they are made of. None of these ops outlives the import, so that
// no pass and no kernel knows of them.
include "GraphBase.td"

// The result of one of the ops below; a tuple of its operands' types.
def Graph_Compound : Type<CPred<"::llvm::isa<::mlir::TupleType>($_self)">, "sequence or optional">;

def ListedOp : Graph_Op<"Listed", [Graph_Internal]> {
  let summary = "a sequence whose elements are known one by one";
  let arguments = (ins Variadic<Graph_Tensor>:$elements, TypeAttr:$element);
  let results = (outs Graph_Compound:$result);
}
def PackedOp : Graph_Op<"Packed", [Graph_Internal]> {
  let summary = "a sequence of any length: the values of all elements one after another, and a row of sizes for each";
  let description = [{
    `shapes` is [length, rank]. A rank that is not known yet is a symbol; `scalars` says that the model declares 0 for it, which exporters
    write where they know nothing. `sizes` are those that all elements have in common: -1 where they need not, -2 where there is no element
    yet to tell.
  }];
  let arguments = (ins Graph_Tensor:$data, Graph_Tensor:$shapes, OptionalAttr<DenseI64ArrayAttr>:$sizes, UnitAttr:$scalars);
  let results = (outs Graph_Compound:$result);
}
def MaybeOp : Graph_Op<"Maybe", [Graph_Internal]> {
  let summary = "an optional: whether it holds something (a scalar bool), and what; only a filler where it does not";
  let arguments = (ins Graph_Tensor:$present, AnyType:$value);
  let results = (outs Graph_Compound:$result);
}
