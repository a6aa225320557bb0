// Builds the module of a model that has passed ModelCheck.
#pragma once

#include "compiler/graph/Shape.h"
#include "compiler/import/node/Normalize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fathom::importer {

class Importer {
public:
  // With `keepGoing` a node that fails is reported and skipped, so that all problems of a model show; there is no
  // module then. `takesSecond` has the keys of UnequalRanks that are to go the second way.
  Importer(std::shared_ptr<const onnx::ModelProto> model, llvm::StringRef folder, mlir::MLIRContext &context,
           const ImportOptions &options, mlir::Location loc, bool keepGoing, llvm::StringSet<> takesSecond = {});
  mlir::OwningOpRef<mlir::ModuleOp> run(Opsets opsets);
  // What only the run decides and ranks depend on.
  llvm::ArrayRef<UnequalRanks> unequalRanks() const { return session.unequal; }
  // How many values have another rank than the model declares.
  unsigned wrongRanks() const { return otherRanks; }
  // How many branches that may not be taken are being imported, one inside the other.
  unsigned openBranches() const { return session.openBranches; }

private:
  // The names that nodes see: the model's main graph, the body of a function that is being inlined, or a branch or
  // loop, which also sees the names around it.
  struct Scope {
    Scope *outer = nullptr;
    std::string prefix;
    Opsets opsets;
    llvm::StringMap<mlir::Value> values; // null: reported as failed
    llvm::StringSet<> absent;            // inputs of a function that the call does not give
    llvm::StringMap<const onnx::TensorProto *> initializers;
    llvm::StringMap<const onnx::TypeProto *> infos;
    llvm::StringMap<const onnx::AttributeProto *> attributes; // of the call
  };

  llvm::LogicalResult declareNames(const onnx::GraphProto &graph, Scope &scope, llvm::StringSet<> &defined);
  mlir::func::FuncOp importInputs(const onnx::GraphProto &graph, mlir::ModuleOp module, Scope &scope);
  llvm::LogicalResult importOutputs(const onnx::GraphProto &graph, mlir::func::FuncOp main, Scope &scope);
  mlir::FailureOr<mlir::Value> valueOf(llvm::StringRef name, Scope &scope);
  llvm::LogicalResult importNode(const onnx::NodeProto &proto, Scope &scope);
  llvm::LogicalResult checkInputKinds(const onnx::NodeProto &proto, llvm::ArrayRef<mlir::Value> inputs, bool takesText,
                                      mlir::Location at);
  // Whether there is a rule or function for the node's operator; reports where not.
  llvm::LogicalResult checkOperator(const onnx::NodeProto &proto, const Opsets &opsets, mlir::Location at);
  const onnx::FunctionProto *functionOf(const onnx::NodeProto &proto) const;
  llvm::LogicalResult importNodes(const Nodes &list, const llvm::StringSet<> &defined, Scope &scope, mlir::Location at);

  // Control flow, in ImportControl.cpp. The values of a graph's outputs, imported at the builder's place.
  static bool isControl(llvm::StringRef op);
  // What the names of nodes in a graph are told apart by: the branch that it is.
  static llvm::StringRef partOf(llvm::StringRef graphAttribute);
  llvm::LogicalResult importControl(const onnx::NodeProto &proto, Attributes attributes,
                                    llvm::SmallVector<mlir::Value> inputs, Scope &scope);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> importIf(Node &node, const Attributes &attributes, Scope &scope);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> importLoop(Node &node, const Attributes &attributes, Scope &scope);
  // In ImportAppend.cpp: a loop that does nothing with some of the sequences that it carries but append an element of
  // the same sizes in every iteration. Nothing if there is none such.
  std::optional<mlir::FailureOr<llvm::SmallVector<mlir::Value>>>
  importAppending(Node &node, const onnx::GraphProto &body, llvm::ArrayRef<mlir::Value> carried,
                  llvm::ArrayRef<std::optional<int64_t>> ranks, Scope &scope);
  // The body of a loop with these values, and its condition made one bool.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> importBody(Node &node, const onnx::GraphProto &body,
                                                             mlir::Value iteration, mlir::Value condition,
                                                             mlir::ValueRange carried, Scope &scope);
  // In ImportScan.cpp. Where and in which direction slices are taken of each scanned input, and laid down.
  struct Scan {
    const onnx::GraphProto *body = nullptr;
    llvm::SmallVector<int64_t> inputAxes, inputWays, outputAxes, outputWays;
  };
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> importScan(Node &node, const Attributes &attributes, Scope &scope);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> scan(Node &node, const Scan &what, llvm::ArrayRef<mlir::Value> states,
                                                       llvm::ArrayRef<mlir::Value> scanned, mlir::Value trip,
                                                       Scope &scope);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> importMap(Node &node, const Attributes &attributes, Scope &scope);
  // In ImportFlex.cpp.
  static bool isFlexAttention(llvm::StringRef domain, llvm::StringRef op);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> importFlexAttention(Node &node, const Attributes &attributes,
                                                                      Scope &scope);
  // An attribute that holds a graph, or null with a report.
  static const onnx::GraphProto *graphOf(Node &node, const Attributes &attributes, llvm::StringRef name);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> importGraph(const onnx::GraphProto &graph, mlir::ValueRange inputs,
                                                              Scope &outer, Node &node, llvm::StringRef part);
  mlir::FailureOr<Attributes> resolveAttributes(const onnx::NodeProto &proto, Scope &scope, mlir::Location at);
  llvm::LogicalResult importCall(const onnx::NodeProto &call, const onnx::FunctionProto &function,
                                 const Attributes &attributes, llvm::ArrayRef<mlir::Value> inputs, Scope &caller);

  // Every operator that is not supported in the graphs of a node, which cannot be imported themselves.
  void reportOperatorsIn(const onnx::NodeProto &proto, const Opsets &opsets, llvm::StringRef prefix);

  llvm::LogicalResult settleSymbols(mlir::ModuleOp module);
  // Ranges that the user gave and the model does not fill.
  void noteNarrowed(mlir::Location node);
  void warnOfNarrowed(llvm::ArrayRef<graph::Symbol> settled);

  // Types, in ImportSignature.cpp.
  mlir::FailureOr<mlir::RankedTensorType> inputType(const onnx::ValueInfoProto &input);
  mlir::FailureOr<mlir::AffineExpr> inputSize(const onnx::ValueInfoProto &input, int axis);
  llvm::LogicalResult checkDimOptions(const onnx::GraphProto &graph);
  void compareWithInfo(const onnx::TypeProto &declared, mlir::Value value, mlir::Location at);

  // Sequences and optionals at the border, in ImportSequence.cpp: each is some tensors, which say what they are part
  // of.
  struct BorderTensor {
    std::string of;
    llvm::StringRef part; // empty for a tensor of its own
    mlir::RankedTensorType type;
    mlir::Attribute keys = {}; // whose maps its rows are
  };
  // The names of how many values and elements a sequence has; none for other inputs.
  llvm::SmallVector<std::string> sequenceSymbols(const onnx::ValueInfoProto &input);
  mlir::FailureOr<llvm::SmallVector<BorderTensor>> compoundInput(const onnx::ValueInfoProto &input);
  llvm::LogicalResult bindCompound(const onnx::ValueInfoProto &input, mlir::ValueRange arguments, Scope &scope);
  mlir::FailureOr<llvm::SmallVector<BorderTensor>> compoundOutput(const onnx::ValueInfoProto &output, mlir::Value value,
                                                                  llvm::SmallVectorImpl<mlir::Value> &values);
  // The tensors' names in the artifact, and the attributes that go with one.
  static llvm::SmallVector<std::string> nameBorders(llvm::ArrayRef<BorderTensor> tensors);
  llvm::SmallVector<mlir::NamedAttribute> describeBorder(const BorderTensor &tensor, llvm::StringRef name);
  static void eraseCompounds(mlir::ModuleOp module);

  std::shared_ptr<const onnx::ModelProto> model;
  const ImportOptions &options;
  mlir::Location loc;
  bool keepGoing;
  Session session;
  llvm::StringMap<const onnx::FunctionProto *> functions;
  uint64_t nodes = 0;
  llvm::SmallVector<graph::Symbol> symbols;
  llvm::StringMap<DimRange> ranges; // options.dims by the symbol that each entry means
  bool warned = false;              // about a declared type that differs
  unsigned otherRanks = 0;          // values of another rank than is declared
  bool failedSignature = false;     // an input was reported while going on
  // The node that narrowed the range of each of the inputs' symbols last, and what it was then.
  llvm::SmallVector<std::optional<mlir::Location>> narrowedBy;
  llvm::SmallVector<graph::Symbol> noted;
};

} // namespace fathom::importer
