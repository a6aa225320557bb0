// Sequences and optionals while a model is imported. They are made of tensors (compiler/graph/SequenceOps.td), and
// every operator on them becomes graph ops on those; where all is known at compile time, nothing remains of them.
#pragma once

#include "compiler/import/node/Node.h"

namespace fathom::importer {

// A sequence or an optional, and not a tensor.
inline bool isCompound(mlir::Value value) { return value && llvm::isa<mlir::TupleType>(value.getType()); }
bool isSequence(mlir::Value value);
bool isOptional(mlir::Value value);

// Makers.
mlir::Value listed(Node &node, mlir::ValueRange elements, mlir::Type element);
mlir::Value packed(Node &node, mlir::Value data, mlir::Value shapes, llvm::ArrayRef<int64_t> sizes = {});
mlir::Value maybe(Node &node, mlir::Value present, mlir::Value value);
mlir::Value maybe(Node &node, bool present, mlir::Value value);
// A tensor of zeros with as few elements as this rank allows.
mlir::Value filler(Node &node, mlir::Type element, int64_t rank);

// What an optional holds, and a check that it does; any other value is what it is.
mlir::Value contentOf(Node &node, mlir::Value value);
// The same for a value that must be a sequence; null, with a report, if it is none.
mlir::Value sequenceOf(Node &node, mlir::Value value);

mlir::Type elementTypeOf(mlir::Value sequence);
// The rank that all elements have; nothing where that is not known yet.
std::optional<int64_t> rankOf(Node &node, mlir::Value sequence);
mlir::AffineExpr lengthOf(Node &node, mlir::Value sequence);

// The constant sizes that all elements of a sequence have in common, for as many dimensions as the rank. Two sizes make
// one: what no element tells yet is as the other says, and what differs is not in common. Where the rank is not known,
// a single one stands for all.
constexpr int64_t differs = -1, untold = -2;
llvm::SmallVector<int64_t> forRank(llvm::ArrayRef<int64_t> sizes, int64_t rank);
llvm::SmallVector<int64_t> commonSizes(mlir::Value sequence, int64_t rank);
llvm::SmallVector<int64_t> commonSizes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
llvm::SmallVector<int64_t> constantSizesOf(mlir::Value tensor);

// The two tensors of a sequence in packed form. Its elements are to have this rank, which is an error if they have
// another; where they may have any (nullopt), `shapes` may have a symbol in place of the rank.
struct Packed {
  mlir::Value data, shapes;
  explicit operator bool() const { return data && shapes; }
};
Packed pack(Node &node, mlir::Value sequence, std::optional<int64_t> rank);

// Operators. A position is a scalar of integers, or null for the default; null results were reported.
mlir::Value sequenceAt(Node &node, mlir::Value sequence, mlir::Value position);
mlir::Value sequenceInsert(Node &node, mlir::Value sequence, mlir::Value tensor, mlir::Value position);
mlir::Value sequenceJoined(Node &node, mlir::Value first, mlir::Value second);
mlir::Value sequenceErase(Node &node, mlir::Value sequence, mlir::Value position);
// In SequenceJoin.cpp. `lengths` are the sizes of the parts along the axis, a vector.
mlir::Value concatSequence(Node &node, mlir::Value sequence, int64_t axis, bool isNewAxis);
mlir::Value splitInto(Node &node, mlir::Value tensor, mlir::Value lengths, int64_t axis);
// One element for every index along the axis, each with the sizes of `part`.
mlir::Value unstack(Node &node, mlir::Value tensor, int64_t axis, llvm::ArrayRef<mlir::AffineExpr> part);

// Small pieces that both files are made of.
mlir::Value sizeScalar(Node &node, mlir::AffineExpr size, llvm::StringRef suffix);
// Sizes from an integer vector when the model runs, but for those that are known (not negative).
std::optional<graph::Sizes> sizesFrom(Node &node, mlir::Value vector, llvm::ArrayRef<int64_t> known);
// Reports a list without elements, of which there is nothing to take.
bool isEmptyList(Node &node, mlir::Value sequence);
// A check when the model runs, where it is needed, and what is said where it fails.
void assertNotNegative(Node &node, llvm::ArrayRef<mlir::AffineExpr> conditions, llvm::StringRef why = "");

// What a value is made of, for values that must be alike: those of two branches, and what a loop carries.
struct Kind {
  enum Form { Tensor, Listed, Packed } form = Tensor;
  mlir::Type element;
  std::optional<int64_t> rank;      // of the tensor, or of the elements; none: any
  llvm::SmallVector<int64_t> sizes; // of a sequence: those in common
  llvm::SmallVector<int64_t> ranks; // Listed: of each element
  bool isOptional = false;
  std::optional<bool> present; // an optional's, where it is known
  bool operator==(const Kind &) const = default;
};
Kind kindOf(Node &node, mlir::Value value);
// The kind of which both can be; nothing, with a report, if there is none.
std::optional<Kind> join(Node &node, const Kind &a, const Kind &b);
unsigned countTensors(const Kind &kind);
// The tensors of a value as the kind has them, and the value from such tensors.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> takeApart(Node &node, mlir::Value value, const Kind &kind);
mlir::Value putTogether(Node &node, mlir::ValueRange tensors, const Kind &kind);

// Node::branch and Node::loop for values of all kinds.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> branchOf(Node &node, mlir::Value condition, Node::BranchBody body);
// `ranks` are those that the model declares for what is carried, to try where nothing else tells.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> loopOf(Node &node, mlir::Value trip, mlir::Value condition,
                                                       mlir::ValueRange carried,
                                                       llvm::ArrayRef<std::optional<int64_t>> ranks,
                                                       Node::LoopBody body);

} // namespace fathom::importer
