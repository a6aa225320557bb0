// One node of a model while it is imported: its inputs and attributes, checked as they are read, and the graph ops made
// for it. The rules in rules/ are written against this.
#pragma once

#include "compiler/graph/TypeText.h"
#include "compiler/import/read/ModelCheck.h"
#include "compiler/import/read/TensorLoader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace fathom::importer {

// Two symbols of inputs that a node needs to have the same value.
struct SameSize {
  unsigned first, second;
  mlir::Location node;
};
// What only the run decides and a rank depends on: which branch of an If is taken whose branches differ in rank, or
// whether a dimension is 1 that a Squeeze without axes leaves out then. One of two ways is compiled: first an If's
// branch of fewer dimensions, and a Squeeze that keeps the dimension; then the other (RankChoice.cpp).
struct UnequalRanks {
  mlir::Location node;
  std::string key;   // that tells them apart in every import of the model
  std::string types; // of the branches, for a message; of a Squeeze the size that may be 1
  std::string dim;   // of an input, that one of the ways lacks; may be empty
  unsigned depth;    // branches around it
  bool isFromData;   // whether more than sizes of inputs decides
  bool isSqueeze = false;
};

// What all nodes of a model share.
struct Session {
  mlir::OpBuilder builder;
  TensorLoader loader;
  llvm::StringSet<> names;                  // every graph.name given so far, and every name in the model's main graph
  mlir::Value none;                         // graph.None's result, made when first needed
  mlir::func::FuncOp main = {};             // constants go into its first block, where branches see them too
  llvm::DenseSet<mlir::AffineExpr> checked; // conditions on sizes that are checked in its first block already
  llvm::DenseSet<std::tuple<mlir::Value, mlir::AffineExpr, int64_t>> checkedBelow =
      {};               // the same of integers and their limits
  bool isGuess = false; // a rank is being tried: one that disagrees must fail, and not be taken for a squeezed one
  // Symbols of inputs that must have the same value for the model to run.
  llvm::SmallVector<SameSize> same = {};
  // What ranks depend on, and the keys of those of which the second way is to be taken.
  llvm::SmallVector<UnequalRanks> unequal = {};
  llvm::StringSet<> takesSecond = {};
  unsigned openBranches = 0; // that may not be taken, around the node at hand
  // Sizes to which two others broadcast, and what each was made of.
  llvm::MapVector<std::pair<mlir::AffineExpr, mlir::AffineExpr>, mlir::AffineExpr> common = {};
  llvm::MapVector<mlir::AffineExpr, llvm::SmallVector<mlir::AffineExpr>> parts = {};
};

// A node's attributes by name, with references to a calling node's attributes already resolved.
using Attributes = llvm::MapVector<llvm::StringRef, const onnx::AttributeProto *>;

class Node {
public:
  Node(Session &session, const onnx::NodeProto &proto, Attributes attributes, llvm::SmallVector<mlir::Value> inputs,
       int64_t opset, std::string prefix);

  llvm::StringRef type() const { return proto.op_type(); }
  std::string name() const { return nameOf(proto); }
  const onnx::NodeProto &onnx() const { return proto; }
  // The version of the operator set that the node was written for.
  int64_t opset() const { return version; }
  mlir::Location loc() const { return location; }
  mlir::OpBuilder &builder() { return session.builder; }
  mlir::MLIRContext *context() { return session.builder.getContext(); }
  graph::SymbolList symbols() { return graph::getSymbols(module()); }
  mlir::InFlightDiagnostic error(ErrorCode code) { return emitError(location, code); }
  // A tensor's type for a message: float32[n, 3].
  std::string text(mlir::Type type) { return graph::typeText(llvm::cast<mlir::RankedTensorType>(type), symbols()); }

  // Inputs. Absent ones at the end are not counted; an absent one in between, or past the end, is graph.None's result.
  unsigned numInputs() const { return inputs.size(); }
  bool hasInput(unsigned index) const { return index < inputs.size() && inputs[index]; }
  mlir::Value input(unsigned index) { return hasInput(index) ? inputs[index] : none(); }
  llvm::SmallVector<mlir::Value> allInputs();
  void setInput(unsigned index, mlir::Value value) { inputs[index] = value; }
  // What older versions have as an attribute.
  void appendInput(mlir::Value value) { inputs.push_back(value); }
  // The input's tensor type; only for inputs that the node has.
  mlir::RankedTensorType inputType(unsigned index) const {
    return llvm::cast<mlir::RankedTensorType>(inputs[index].getType());
  }
  mlir::Type elementType(unsigned index) const { return inputType(index).getElementType(); }
  int64_t rank(unsigned index) const { return inputType(index).getRank(); }

  std::string inputText(unsigned index) { return text(inputType(index)); }

  // Outputs that the model names; those at the end that it does not are not counted.
  unsigned numOutputs() const { return outputCount; }
  bool hasOutput(unsigned index) const { return index < outputCount && !proto.output(index).empty(); }
  llvm::StringRef output(unsigned index) const { return proto.output(index); }

  // Attributes. Reading one marks it as understood; one of the wrong type is reported and makes finish() fail.
  bool hasAttr(llvm::StringRef name) const { return attributes.contains(name); }
  int64_t intAttr(llvm::StringRef name, int64_t absent);
  double floatAttr(llvm::StringRef name, double absent);
  llvm::StringRef stringAttr(llvm::StringRef name, llvm::StringRef absent);
  std::optional<llvm::SmallVector<int64_t>> intsAttr(llvm::StringRef name);
  std::optional<llvm::SmallVector<double>> floatsAttr(llvm::StringRef name);
  std::optional<llvm::SmallVector<llvm::StringRef>> stringsAttr(llvm::StringRef name);
  mlir::ElementsAttr tensorAttr(llvm::StringRef name);                   // null if absent
  mlir::Type typeAttr(llvm::StringRef name);                             // null if absent or unsupported
  const onnx::TypeProto *typeProtoAttr(llvm::StringRef name);            // null if absent
  mlir::Type elementTypeOf(int64_t onnxType, llvm::StringRef attribute); // null, with a report, if unsupported
  // Marks an attribute as understood that has no bearing on inference.
  void ignoreAttr(llvm::StringRef name) { attributes.erase(name); }
  // All attributes not read yet, converted for the graph op `op` and checked against its definition.
  mlir::FailureOr<llvm::SmallVector<mlir::NamedAttribute>> takeAttrs(llvm::StringRef op);
  // Reports attributes that nothing has read.
  llvm::LogicalResult checkAllRead();

  // Constructors of attributes for emit().
  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::StringRef value);
  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value);
  mlir::NamedAttribute floatAttrOf(llvm::StringRef name, double value);

  // Ops. `suffix` is appended to the first output's name, and is empty for the op that makes the output. A null operand
  // stands for an earlier failure and makes the result null, so that chains of ops need one check at their end.
  mlir::Value none();
  mlir::Value constant(mlir::ElementsAttr value, llvm::StringRef suffix);
  mlir::Value ints(llvm::ArrayRef<int64_t> values, llvm::StringRef suffix); // of rank 1
  mlir::Value scalar(double value, mlir::Type element,
                     llvm::StringRef suffix); // of rank 0, of an integer or float type
  // Floats or integers of an element type, in row-major order; large ones are resources.
  mlir::Value table(llvm::ArrayRef<char> bytes, mlir::RankedTensorType type, llvm::StringRef suffix);
  // A string's number in the model's vocabulary, and strings of rank 1.
  int64_t codeOf(llvm::StringRef text) { return session.loader.vocabulary.codeOf(text); }
  mlir::Value strings(llvm::ArrayRef<llvm::StringRef> values, llvm::StringRef suffix);
  // How many strings the model knows so far.
  int64_t vocabularySize() const { return session.loader.vocabulary.size(); }
  mlir::Operation *create(llvm::StringRef op, mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attrs,
                          unsigned numResults, llvm::StringRef suffix = "");
  mlir::Value emit(llvm::StringRef op, mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attrs = {},
                   llvm::StringRef suffix = "");
  // The same, but null instead of a report where the op's shape function fails.
  mlir::Value tryEmit(llvm::StringRef op, mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attrs = {},
                      llvm::StringRef suffix = "");

  // Sizes that data decides (NodeControl.cpp): an integer tensor of rank 0 or 1 as one with known elements. Those that
  // are not known become computed symbols, which have their values once the model runs.
  // `why` is what the run says where one of them is negative.
  mlir::Value pinned(mlir::Value integers, llvm::StringRef suffix, llvm::StringRef why = "");
  mlir::Value sizesValue(llvm::ArrayRef<mlir::AffineExpr> elements, bool isScalar, llvm::StringRef suffix);
  // Checks when the model runs, and what it says where they fail: that a scalar bool has this value, that bools are all
  // true, that expressions over sizes are not negative.
  llvm::LogicalResult require(mlir::Value flag, bool value, llvm::StringRef why = "");
  llvm::LogicalResult requireAll(mlir::Value flags, llvm::StringRef why);
  void requireSizes(llvm::ArrayRef<mlir::AffineExpr> notNegative, llvm::StringRef why = "");
  // That two sizes are the same; an error where it is known that they are not.
  llvm::LogicalResult requireSame(mlir::AffineExpr a, mlir::AffineExpr b, llvm::StringRef what);
  // Integers that are all in [least, limit).
  llvm::LogicalResult requireBelow(mlir::Value integers, mlir::AffineExpr limit, llvm::StringRef why,
                                   int64_t least = 0);
  // A symbol that some op yet to be made defines, and a narrower range for a symbol.
  mlir::AffineExpr newSymbol(llvm::StringRef suffix) { return graph::addComputedSymbol(module(), nameFor(suffix)); }
  void limitSymbol(mlir::AffineExpr symbol, int64_t min, int64_t max);
  // Whether a Squeeze without axes is compiled to leave out a dimension of its input; if not, and the size may be 1,
  // the run refuses 1.
  mlir::FailureOr<bool> isSqueezed(int64_t axis);
  // Whether ranks are being tried, from here on; returns whether they were.
  bool setGuess(bool isGuess) { return std::exchange(session.isGuess, isGuess); }
  // Broadcasting (NodeBroadcast.cpp): the size to which two broadcast, of which one may be 1; null after a report.
  mlir::AffineExpr commonSize(mlir::AffineExpr a, mlir::AffineExpr b);
  // Whether two sizes that meet are taken to be the same, so that one of them being 1 is refused at run time.
  bool areMeantEqual(mlir::AffineExpr a, mlir::AffineExpr b);
  // A loop. The body gets the iteration's number, the condition and the carried values, and returns the next condition,
  // the next carried values and the slices of stacked results; it may be called several times until the types agree.
  // Absent trip and condition are null. Returns the carried values and then the stacked ones.
  using LoopBody = llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
      mlir::Value iteration, mlir::Value condition, mlir::ValueRange carried)>;
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  loop(mlir::Value trip, mlir::Value condition, mlir::ValueRange carried, LoopBody body, llvm::StringRef suffix = "");
  using BranchBody = llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(bool condition)>;
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> branch(mlir::Value condition, BranchBody body);

  // Emits `op` with these operands and all attributes that were not read.
  llvm::LogicalResult finishAs(llvm::StringRef op, mlir::ValueRange operands,
                               llvm::ArrayRef<mlir::NamedAttribute> more = {});
  // The values of the node's outputs, in order.
  llvm::LogicalResult finish(mlir::ValueRange values);
  llvm::ArrayRef<mlir::Value> results() const { return values; }

private:
  const onnx::AttributeProto *takeAttr(llvm::StringRef name, onnx::AttributeProto::AttributeType type);
  mlir::Attribute convert(const onnx::AttributeProto &attribute);
  std::string nameFor(llvm::StringRef suffix);
  mlir::ModuleOp module() { return session.main->getParentOfType<mlir::ModuleOp>(); }
  // Checks at run time what a shape function took for granted, from the builder's place on.
  llvm::LogicalResult checkAssumptions(const graph::CollectAssumptions &assumptions);
  // Expands operands of an op that broadcasts them where their sizes need not be equal; false after a report.
  bool alignForBroadcast(llvm::StringRef op, llvm::SmallVectorImpl<mlir::Value> &operands,
                         llvm::ArrayRef<mlir::NamedAttribute> attrs);
  bool alignOperands(llvm::MutableArrayRef<mlir::Value> operands, size_t skipped);
  mlir::Value expanded(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> sizes);
  mlir::Value expandedWhereOne(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> sizes);
  llvm::LogicalResult requireNotOne(mlir::AffineExpr size);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  takeOneRank(mlir::Value condition, BranchBody body, mlir::RankedTensorType thenType, mlir::RankedTensorType elseType);
  void pin(mlir::Value integers, llvm::ArrayRef<int64_t> positions, llvm::ArrayRef<int64_t> symbols,
           llvm::StringRef why);
  mlir::RankedTensorType outsideType(graph::Sizes sizes, mlir::Type element, unsigned known,
                                     llvm::SmallVectorImpl<int64_t> &symbols);

  Session &session;
  const onnx::NodeProto &proto;
  Attributes attributes;
  llvm::SmallVector<mlir::Value> inputs;
  int64_t version;
  std::string prefix; // of the names inside an inlined function
  mlir::Location location;
  unsigned outputCount;
  bool failedReading = false;
  llvm::SmallVector<mlir::Value> values;
};

// A number as an attribute of a float or integer type.
mlir::TypedAttr numberOf(double value, mlir::Type element);
// How many operands the definition of a graph op has; nullopt if it takes any number.
std::optional<unsigned> arityOf(mlir::OperationName op);

} // namespace fathom::importer
