// The classes of kernels: which ops anchor them, and the family whose schedules they take.
#pragma once

#include "compiler/graph/Graph.h"
#include "compiler/kernel/Families.h"
#include "compiler/target/Target.h"
#include "llvm/Support/Error.h"

namespace fathom {

// The ways of computing a product or a convolution, or both products of an attention, that are chosen among. A back end
// that has none of them has one class for all.
enum class Algorithm { None, Contract, SpatialPack, Winograd, Strassen, Attention };

struct KernelClass {
  llvm::StringLiteral name;
  llvm::StringLiteral meaning;
  const Family &family;
  llvm::StringLiteral fixed = ""; // the schedule of kernels that nobody looks for one for (FixedSchedule.h)
  Algorithm algorithm = Algorithm::None;
  bool takesConsumers = true; // whether elementwise ops behind the anchor can be computed with it
  bool takesProducers = true; // whether an anchor that computes its first operand on demand does so about once
  bool goesByStrides = true;  // whether its operands and results may be pieces of larger tensors
  bool widensImages = false;  // whether it reads an image of bytes and widens them itself (widenedImage)
  bool sharesRows = false;    // whether what work items find in parts of a row can be combined (codegen/simt)
  bool goesInOrder = false;   // whether it makes a tensor piece by piece, in an order that data decides
  // The size by which versions of a kernel are told apart, and what it counts; null where there are none.
  mlir::AffineExpr (*extent)(mlir::Operation *anchor) = nullptr;
  llvm::StringLiteral extentName = "";
};

// All classes, each defined with its family. Which of them an op gets is a back end's choice (Backend.h).
extern const KernelClass mapClass, reorderClass, concatClass, reduceClass, argReduceClass, softmaxClass, layerNormClass,
    poolClass, contractClass, attentionClass, depthwiseClass, winogradClass, spatialPackClass, strassenClass,
    transposedClass, packedProductClass, productClass, treesClass, scanClass, sequentialClass, tensorScatterClass,
    blockContractClass;
inline constexpr const KernelClass *kernelClassList[] = {
    &mapClass,         &reorderClass,    &concatClass,        &reduceClass,        &argReduceClass, &softmaxClass,
    &layerNormClass,   &poolClass,       &contractClass,      &attentionClass,     &depthwiseClass, &winogradClass,
    &spatialPackClass, &strassenClass,   &transposedClass,    &packedProductClass, &productClass,   &treesClass,
    &scanClass,        &sequentialClass, &tensorScatterClass, &blockContractClass};
inline llvm::ArrayRef<const KernelClass *> allKernelClasses() { return kernelClassList; }
const KernelClass *findKernelClass(llvm::StringRef name);

// The value that schedules assume for a size of `op`: the size itself, what the user said is likely, or a guess.
int64_t representative(mlir::Operation *op, mlir::AffineExpr size);

bool isDepthwise(mlir::Operation *op);
// Whether such a convolution leaves out what its windows have beyond the ends of a row, without zeros in memory: the
// tiles there are unrolled, which needs a known width, and few of them.
bool leavesOutEnds(mlir::Operation *depthwise);
// The ops that make floats of the bytes of such a convolution's image, the last one first, if they do nothing else and
// nothing else reads what they make; none otherwise, or where zeros around the image stand in memory.
llvm::SmallVector<mlir::Operation *> widenedImage(mlir::Operation *depthwise);

// Checks that what a schedule names are knobs of the class, with values in their ranges.
llvm::Error checkKnobs(const KernelClass &klass, const Schedule &schedule);
// Checks that a schedule names exactly the class's knobs and breaks no constraint. `site` is the anchor, or the end of
// a kernel without one.
llvm::Error checkSchedule(const KernelClass &klass, const Schedule &schedule, mlir::Operation *site,
                          const Target &target);
// The same, in a space of the class.
llvm::Error checkSchedule(const KernelClass &klass, const Schedule &schedule, const Space &space);

// A schedule with its knobs in the class's order, so that equal ones are written the same.
Schedule inOrder(const Schedule &schedule, const KernelClass &klass);

// Whether an op is in a kernel's function, where its neighbours are what is fused with it; they are private. Else it is
// in the graph that is not divided yet.
bool isInKernel(mlir::Operation *op);
// The anchor among a kernel's ops, or null.
mlir::Operation *anchorOf(mlir::func::FuncOp kernel);
// The op that spaces of schedules are asked for: the anchor, or the kernel's end.
mlir::Operation *anchorOrEnd(mlir::func::FuncOp kernel);

} // namespace fathom
