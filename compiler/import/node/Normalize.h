// From a node of any operator set to graph ops, which follow the newest one: a rule for each operator that needs more
// than its attributes and inputs copied.
#pragma once

#include "compiler/import/node/Node.h"

namespace fathom::importer {

struct Rule {
  llvm::StringLiteral op;
  unsigned minInputs, maxInputs; // the first minInputs must be present
  llvm::LogicalResult (*apply)(Node &node);
  bool takesStrings = false; // of an operator that is no op of the dialect: what the trait of that name says of those
};
inline constexpr unsigned anyNumber = ~0u;

// Applies the rule, after a look at the number of inputs.
llvm::LogicalResult applyRule(const Rule &rule, Node &node);

// The rules of each family, in rules/<Family>.cpp.
llvm::ArrayRef<Rule> elementwiseRules();
llvm::ArrayRef<Rule> movementRules();
llvm::ArrayRef<Rule> resizeRules();
llvm::ArrayRef<Rule> reductionRules();
llvm::ArrayRef<Rule> normalizationRules();
llvm::ArrayRef<Rule> quantizedRules();
llvm::ArrayRef<Rule> lossRules();
llvm::ArrayRef<Rule> windowRules();
llvm::ArrayRef<Rule> dynamicRules();
llvm::ArrayRef<Rule> recurrentRules();
llvm::ArrayRef<Rule> einsumRules();
llvm::ArrayRef<Rule> gridSampleRules();
llvm::ArrayRef<Rule> attentionRules();
llvm::ArrayRef<Rule> signalRules();
llvm::ArrayRef<Rule> sequenceRules();
llvm::ArrayRef<Rule> samePaddingRules();
llvm::ArrayRef<Rule> imageRules();
llvm::ArrayRef<Rule> regionRules();
llvm::ArrayRef<Rule> matrixRules();
llvm::ArrayRef<Rule> randomRules();
llvm::ArrayRef<Rule> gatedRules();

// Whether ONNX's operator can be imported in some form.
bool isSupported(llvm::StringRef op, mlir::MLIRContext *context);
// Brings a node of an operator set before 7 into the form of 7 (rules/Legacy.cpp).
llvm::LogicalResult modernize(Node &node);
// Whether the operator may be given sequences and optionals.
bool takesCompounds(llvm::StringRef op);
// Whether the operator is an op that moves elements of any type.
bool movesAnyElement(llvm::StringRef op, mlir::MLIRContext *context);
// Whether the operator may be given strings: it compares or moves them.
bool takesStrings(llvm::StringRef op, mlir::MLIRContext *context);
// Makes the graph ops of a node of ONNX's own domain.
llvm::LogicalResult normalize(Node &node);
// The rule of all operators without one: the graph op of that name with the node's inputs and attributes.
llvm::LogicalResult copyNode(Node &node);

// Rules of today's Slice and Pad, whose operands data may decide (rules/Dynamic.cpp).
llvm::LogicalResult sliceDynamic(Node &node);
llvm::LogicalResult padDynamic(Node &node);
// Rules of operators whose axes or steps data may decide (rules/RuntimeAxes.cpp).
llvm::LogicalResult squeezeOnes(Node &node); // without axes
llvm::LogicalResult squeezeDynamic(Node &node);
llvm::LogicalResult unsqueezeDynamic(Node &node);
llvm::LogicalResult reduceDynamic(Node &node);
llvm::LogicalResult sliceByRuntimeAxes(Node &node);

// Helpers that several families use.
// A tensor's own shape as a value of rank 1.
mlir::Value shapeOf(Node &node, mlir::Value value, llvm::StringRef suffix);
mlir::Value reshape(Node &node, mlir::Value value, llvm::ArrayRef<int64_t> sizes, llvm::StringRef suffix);
// A vector whose length is symbolic, as one of the only length that the node can have it.
mlir::Value withLength(Node &node, mlir::Value vector, int64_t length, llvm::StringRef suffix);

} // namespace fathom::importer
