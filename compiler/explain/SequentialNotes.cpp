// One reason for each op of the sequential class, by what its emitter does (codegen/common/Sequential*.cpp).
#include "compiler/explain/SequentialNotes.h"

#include "compiler/graph/Layout.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

std::string whyOp(Operation *anchor) {
  return TypeSwitch<Operation *, std::string>(anchor)
      .Case(
          [](CumSumOp) { return "the axis is known only when the model runs, and with it which sums are independent"; })
      .Case([](ScatterElementsOp) {
        return "updates of a row are written in their order, one by one, as the last of equal indices counts; rows are "
               "independent";
      })
      .Case([](ScatterNDOp op) {
        auto indices = cast<RankedTensorType>(op.getIndices().getType());
        bool isWhole = indices.getShape().back() == op.getType().getRank();
        return isWhole ? "updates are written in their order, one by one, as the last of equal indices counts"
                       : "updates are written in their order, as the last of equal indices counts; the elements of an "
                         "update are independent, and written in vectors";
      })
      .Case([](TopKOp) {
        return "an element is compared with the best before it; rows are independent, elements of a row are not";
      })
      .Case([](NonZeroOp) { return "where an index goes depends on how many there are before it"; })
      .Case([](UniqueOp) { return "whether an element is new depends on all before it"; })
      .Case([](NonMaxSuppressionOp) { return "a box stays unless one that stayed before it overlaps"; })
      .Case([](TensorScatterOp op) {
        bool isInnermost = *normalizeAxis(op.getAxis(), op.getType().getRank()) == op.getType().getRank() - 1;
        return isInnermost ? "rows are written along the innermost dimension, element by element" : "";
      })
      .Case([](ConvTransposeOp) { return "several windows add to one element"; })
      .Default([](Operation *) { return ""; });
}

} // namespace

std::string whySequential(const Kernel &kernel, const KernelCode &code, Operation *anchor) {
  std::string reason = kernel.kernelClass->goesInOrder ? whyOp(anchor) : "";
  bool isOneTask = constantSize(code.grid.tasks) == 1;
  // Every other class divides its elements, unless they are few.
  if (isOneTask && reason.empty())
    return "it is too small to be divided: more tasks would take longer than one";
  return reason;
}

} // namespace fathom
