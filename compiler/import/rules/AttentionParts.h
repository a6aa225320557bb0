// The pieces of graph that all operators of attention are made of, ONNX's and others.
#pragma once

#include "compiler/import/rules/Parts.h"

namespace fathom::importer {

// What rotary embeddings need: tables with a row for every position, and the positions of shape (batch or 1, sequence).
struct Rotation {
  mlir::Value cos, sin, positions;
  bool isInterleaved;
};
// Rotates the first columns, two for each of the tables', of an input of shape (batch, sequence, heads, columns), or
// (batch, heads, sequence, columns) where heads come first; null after a report.
mlir::Value rotate(Node &node, mlir::Value input, const Rotation &rotation, bool areHeadsFirst, llvm::StringRef suffix);

// softmax(query * key + bias) * value. The query has shape (batch, sequence, heads, columns), keys and values have
// (batch, groups of heads, length, columns); the result has (batch, sequence, heads * columns).
struct Attention {
  mlir::Value query, key, value;
  double scale = 0;   // 0: the root of the columns, inverse
  double softcap = 0; // 0: none
  mlir::Value
      visible;      // bool, what each position sees: broadcasts to (batch, groups, heads of a group, sequence, length)
  mlir::Value bias; // broadcasts to the same
  mlir::Value sink; // one number for each head: as if there were one more key of that score, and no value
};
mlir::Value attend(Node &node, const Attention &attention, llvm::StringRef suffix);
// The sizes of a value of this rank; nullopt after a report.
std::optional<graph::Sizes> sizesOfRank(Node &node, mlir::Value value, int64_t rank, llvm::StringRef name);
// An input of shape (batch, sequence, heads * columns) with the heads as a dimension of their own.
mlir::Value splitHeads(Node &node, mlir::Value input, int64_t heads, llvm::StringRef suffix);

} // namespace fathom::importer
