// The graph dialect: its encoding attribute, interfaces and the op classes that the families build on.
#ifndef FATHOM_GRAPH_BASE
#define FATHOM_GRAPH_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::fathom::graph";
  let summary = "ONNX operators at their newest version, over tensors with named symbolic sizes and explicit layouts";
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def Graph_Encoding : AttrDef<Graph_Dialect, "Encoding", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "enc";
  let summary = "symbolic sizes and physical layout of a tensor";
  let description = [{
    `shape` gives every dimension's size as an expression over the module's symbols; it is present exactly when a size is not static.
    `order` lists the logical dimensions from outermost to innermost in memory; a dimension that appears twice is blocked: its second
    appearance is the position inside a block of `block` elements. `halo` gives, for every logical dimension, how many zero elements lie
    before and after it in memory (low0, high0, low1, high1, ...). `room` gives, for every logical dimension, how many elements of other
    tensors lie behind it, because the tensor is a piece of a larger one: they count in the strides and are never touched. All absent is a
    dense row-major tensor of static shape.
  }];
  let parameters = (ins OptionalParameter<"::mlir::AffineMap">:$shape, OptionalArrayRefParameter<"int64_t">:$order,
      DefaultValuedParameter<"int64_t", "0">:$block, OptionalArrayRefParameter<"int64_t">:$halo,
      OptionalArrayRefParameter<"int64_t">:$room);
  let assemblyFormat = "`<` struct(custom<ShapeMap>($shape), custom<Ints>($order), $block, custom<Ints>($halo), custom<Ints>($room)) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = "bool hasLayout() const { return !getOrder().empty() || getBlock() != 0 || !getHalo().empty() || !getRoom().empty(); }";
}

def Graph_ShapeInterface : OpInterface<"ShapeOpInterface"> {
  let cppNamespace = "::fathom::graph";
  let description = "Result types and, for small integer tensors, element values as expressions over the symbols.";
  let methods = [
    InterfaceMethod<"Types of all results from the operands; reports what is wrong with the op otherwise.",
      "::llvm::LogicalResult", "inferTypes", (ins "::llvm::SmallVectorImpl<::mlir::Type> &":$types)>,
    InterfaceMethod<"The elements of result 0 as expressions over the symbols, where that is known at compile time.",
      "::std::optional<::fathom::graph::Elements>", "elements", (ins), [{}], [{ return std::nullopt; }]>
  ];
  let verify = "return ::fathom::graph::verifyShapes($_op);";
  // Apart from the checks of operands and attributes, so that those can be run on an op whose result types are not inferred yet.
  let verifyWithRegions = 1;
}

// MLIR's I64Attr hands out uint64_t, which turns a negative axis into a huge one.
def Graph_Int : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer attribute">;

def Graph_Tensor : Type<CPred<"::fathom::graph::isGraphTensor($_self)">, "ranked tensor of a supported element type and size", "::mlir::RankedTensorType">;
// ONNX's optional inputs: an absent one is the result of graph.None.
def Graph_Optional : Type<Or<[CPred<"::llvm::isa<::mlir::NoneType>($_self)">, Graph_Tensor.predicate]>, "tensor or none">;

def Graph_Anchor : NativeOpTrait<"Anchor"> { let cppNamespace = "::fathom::graph"; }
def Graph_Internal : NativeOpTrait<"Internal"> { let cppNamespace = "::fathom::graph"; }
def Graph_AnyElement : NativeOpTrait<"AnyElement"> { let cppNamespace = "::fathom::graph"; }
def Graph_TakesStrings : NativeOpTrait<"TakesStrings"> { let cppNamespace = "::fathom::graph"; }
def Graph_Reshaping : NativeOpTrait<"Reshaping"> { let cppNamespace = "::fathom::graph"; }
def Graph_Known : NativeOpTrait<"Known"> { let cppNamespace = "::fathom::graph"; }
def Graph_Control : NativeOpTrait<"Control"> { let cppNamespace = "::fathom::graph"; }
def Graph_OnHost : NativeOpTrait<"OnHost"> { let cppNamespace = "::fathom::graph"; }
def Graph_Windowed : NativeOpTrait<"Windowed"> { let cppNamespace = "::fathom::graph"; }
def Graph_Pooling : NativeOpTrait<"Pooling"> { let cppNamespace = "::fathom::graph"; }
def Graph_SoftmaxLike : NativeOpTrait<"SoftmaxLike"> { let cppNamespace = "::fathom::graph"; }
def Graph_NormalizesRows : NativeOpTrait<"NormalizesRows"> { let cppNamespace = "::fathom::graph"; }

class Graph_Op<string name, list<Trait> traits = []>
    : Op<Graph_Dialect, name, !listconcat(traits, [Pure])> {
  let assemblyFormat = "`(` operands `)` attr-dict `:` functional-type(operands, results)";
}

// An op whose shape function is written in the C++ file of its family.
class Graph_ShapedOp<string name, list<Trait> traits = []>
    : Graph_Op<name, !listconcat(traits, [DeclareOpInterfaceMethods<Graph_ShapeInterface>])> {
  let results = (outs Graph_Tensor:$result);
}

// The same, for ops through which integer shape arithmetic flows.
class Graph_ShapeArithOp<string name, list<Trait> traits = []>
    : Graph_Op<name, !listconcat(traits, [DeclareOpInterfaceMethods<Graph_ShapeInterface, ["elements"]>])> {
  let results = (outs Graph_Tensor:$result);
}

#endif
