// Rules of the operators of classical machine learning, domain ai.onnx.ml. What the standard leaves open is as ONNX
// Runtime has it.
#pragma once

#include "compiler/import/rules/Parts.h"

namespace fathom::importer {

constexpr llvm::StringLiteral mlDomain = "ai.onnx.ml";
bool isMl(llvm::StringRef domain, llvm::StringRef op);
bool mlTakesStrings(llvm::StringRef op);
// Makes the graph ops of such a node.
llvm::LogicalResult normalizeMl(Node &node);

// The rules of each family, in Ml<Family>.cpp.
llvm::ArrayRef<Rule> mlFeatureRules();
llvm::ArrayRef<Rule> mlLabelRules();
llvm::ArrayRef<Rule> mlLinearRules();
llvm::ArrayRef<Rule> mlSvmRules();
llvm::ArrayRef<Rule> mlTreeRules();

// An attribute on the op that makes a ZipMap's values: the keys, of which every row of values is a map.
constexpr llvm::StringLiteral keysAttrName = "graph.keys";
bool isZipMap(mlir::Value value);

// Floats as a constant of this shape.
mlir::Value floats(Node &node, llvm::ArrayRef<double> values, llvm::ArrayRef<int64_t> shape, llvm::StringRef suffix,
                   mlir::Type element = {});
// The input in single precision, a vector as the only row of a matrix; null after a report. `columns` is how many it
// has to have, 0 any number that is known.
mlir::Value rowsOf(Node &node, mlir::Value input, int64_t &columns);
// A[i] x B[j] + bias, of rows with `columns` each; B comes as a list.
mlir::Value product(Node &node, mlir::Value rows, llvm::ArrayRef<double> matrix, int64_t columns,
                    llvm::ArrayRef<double> bias, llvm::StringRef suffix);

// A list of numbers or strings: integers as they are, strings by their codes, and floats.
struct Column {
  mlir::Type element;
  llvm::SmallVector<int64_t> ints;
  llvm::SmallVector<double> floats;
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element); }
  int64_t size() const { return isFloat() ? floats.size() : ints.size(); }
};
Column columnOf(mlir::ElementsAttr elements);
// The numbers of an attribute that is a list of floats or, by the name with _as_tensor, a tensor; empty if absent.
llvm::SmallVector<double> numbersOf(Node &node, llvm::StringRef name);

// Names of classes: numbers or strings.
struct Labels {
  llvm::SmallVector<int64_t> ints;
  llvm::SmallVector<llvm::StringRef> strings;
  int64_t size() const { return strings.empty() ? ints.size() : strings.size(); }
};
// Of the attributes by these names; nullopt after a report where there are none, or both.
std::optional<Labels> labelsOf(Node &node, llvm::StringRef ints, llvm::StringRef strings);
mlir::Value constantLabels(Node &node, const Labels &labels, llvm::StringRef suffix);
// The label at each position, the label of the greatest score of each row (the first of several), and one of two.
mlir::Value labelAt(Node &node, const Labels &labels, mlir::Value positions);
mlir::Value labelOfGreatest(Node &node, const Labels &labels, mlir::Value scores);
mlir::Value labelWhere(Node &node, const Labels &labels, mlir::Value isSecond);

// Scores of rows after a post_transform; of a column whose other class is the rest: 1 - s, or -s; and the two after a
// transform, as ONNX Runtime has them: a logistic is that of s and -s, others leave the two as they are.
bool isTransform(Node &node, llvm::StringRef transform);
mlir::Value transformed(Node &node, mlir::Value scores, llvm::StringRef transform, llvm::StringRef suffix = "");
mlir::Value withSecondClass(Node &node, mlir::Value scores, bool isShare, llvm::StringRef suffix = "");
mlir::Value transformedPair(Node &node, mlir::Value scores, bool isShare, llvm::StringRef transform);

} // namespace fathom::importer
