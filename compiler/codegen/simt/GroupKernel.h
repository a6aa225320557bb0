// A kernel of work groups while its code is being emitted: what their items share is local memory and barriers.
#pragma once

#include "compiler/codegen/common/LoopCode.h"
#include "compiler/codegen/simt/SimtKernel.h"

namespace fathom {

// The memory that the items of a group share, as LLVM numbers it for GPUs.
constexpr unsigned localMemory = 3;
// What operands without room between their rows are aligned to: four 32-bit numbers are loaded together.
constexpr int64_t operandAlignment = 16;

// Room for so many elements in the local memory of the group whose function is being emitted, which has nothing in it
// yet, and a barrier: no item goes on before all have come there, and all that was stored before can be read.
mlir::Value allocateLocal(Emitter &e, mlir::Type element, int64_t count);
void emitBarrier(Code &c);

class GroupKernel {
public:
  // Begins a function as SimtKernel.h describes it.
  GroupKernel(mlir::func::FuncOp kernel, llvm::StringRef name, unsigned symbolCount, const Target &target,
              mlir::ModuleOp loops);
  // Passes on a fault, and returns.
  llvm::LogicalResult end();

  // Elements that are neighbours along a dimension, from the first one's index on, loaded at once where they lie so.
  llvm::SmallVector<mlir::Value> elements(mlir::Value tensor, Indices index, int64_t dim, int64_t count);
  // The same of memory that is aligned to so many.
  llvm::SmallVector<mlir::Value> loadTogether(mlir::Value pointer, mlir::Value index, mlir::Type element,
                                              int64_t count);
  void storeTogether(mlir::ValueRange values, mlir::Value pointer, mlir::Value index, mlir::Type element);
  // Whether the machine copies so many neighbours from global memory to local memory beside the items' work, and such a
  // copy: zeros where `isThere` (null: always) is false. Copies are waited for in order, by how often they were ended
  // since.
  bool canCopy(mlir::Value tensor, int64_t dim, int64_t count);
  void copy(mlir::Value tensor, llvm::ArrayRef<Index> index, int64_t count, mlir::Value local, mlir::Value to,
            mlir::Value isThere);
  void endCopies();
  void awaitCopies(int64_t left);
  // So many matrices of 8 rows of 16 bytes in local memory, which 32 items load together, as words of 32 bits: the
  // pointer of item l is where row l % 8 of matrix l / 8 begins. Transposed, they are of 16-bit numbers.
  llvm::SmallVector<mlir::Value> loadMatrices(mlir::Value pointer, int64_t count, bool transposed);
  // So many groups beside each other, from a multiple of that on, run together and reach each other's local memory: the
  // same place of the one with this number among them, and a barrier for all items of all of them.
  void runTogether(int64_t groups);
  mlir::Value localOfNeighbour(mlir::Value pointer, int64_t number);
  void awaitNeighbours();
  // Of NVIDIA's, as 90; else 0.
  int64_t architecture() const;
  // Computes and stores the kernel's results where these are the anchor's, neighbours along a dimension.
  void storeAnchor(Indices index, int64_t dim, mlir::ValueRange values);

  mlir::OpBuilder b;
  Code c;
  Emitter e;
  mlir::func::FuncOp kernel;
  mlir::Operation *anchor;                 // null: all ops are computed on demand
  llvm::SmallVector<mlir::Value> returned; // the kernel's results ...
  llvm::SmallVector<Buffer, 1> outputs;    // ... and where they go
  mlir::Value group, item;                 // numbers of the group, and of the item in it

private:
  mlir::func::FuncOp function;
  unsigned faultArgument;
  bool hasHalo = false;
};

} // namespace fathom
