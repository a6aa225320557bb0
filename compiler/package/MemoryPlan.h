// Where every tensor of a program lives: an input, an output, a weight, a place in the arena shared by tensors that are
// never alive together, or memory taken while the model runs.
#pragma once

#include "compiler/graph/Layout.h"
#include "compiler/plan/Program.h"

namespace fathom {

// A constant tensor as it goes into the artifact.
struct Weight {
  mlir::ElementsAttr value;
  mlir::RankedTensorType source; // how the raw bytes of `value` are laid out
  mlir::RankedTensorType type;   // how they go into the artifact
  int64_t offset = 0, bytes = 0;
};

struct Place {
  enum Kind {
    Input,
    Output,
    WeightData,
    Fixed,  // at an offset in the arena
    Slot,   // in the arena, of a size that symbols decide
    Heap,   // data decides the size: memory is taken when the tensor is made
    Pointer // control flow hands the address on: the results and carried values of branches and loops
  } kind;
  int64_t at = 0; // index of the input, output, weight or slot; offset of a fixed place
  MemorySpace space = MemorySpace::Host;
};

struct MemoryPlan {
  MemorySpace space = MemorySpace::Host;     // of the arena, the weights and what is taken while the model runs
  llvm::DenseMap<mlir::Value, Place> places; // of buffers that kernels read or write
  // Bytes from a place to where the tensor in it begins, for pieces of larger tensors.
  llvm::DenseMap<mlir::Value, mlir::AffineExpr> offsets;
  // What a loop carries goes back and forth between two places; the initial value stays where it is.
  llvm::DenseMap<mlir::Value, std::pair<Place, Place>> carried; // by the body's argument
  // Heap tensors that nothing uses after an op of the same block.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> released;
  std::vector<Weight> weights;
  int64_t weightBytes = 0;
  int64_t keptBytes = 0;  // the first of them: weights that are not floating point, which no seed can stand in for
  int64_t fixedBytes = 0; // the arena's part for tensors of static size
  // Tensors of symbolic size share slots behind it; a slot is as large as its largest tensor.
  std::vector<llvm::SmallVector<mlir::AffineExpr>> slots;
  int64_t scratchBytes = 0; // what each thread has to itself, enough for every kernel
};

MemoryPlan planMemory(const Program &program);

// Bytes of a tensor's buffer, rounded up to whole cache lines.
mlir::AffineExpr alignedBytes(mlir::Value value);

} // namespace fathom
