// Who decides. The steps between graph and code ask a chooser and carry out what it says: one that goes by estimated
// cost, one that obeys a Plan, a tuner, a study. What was chosen is written into the program's Plan in any case.
#pragma once

#include "compiler/kernel/Attention.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/passes/AlgorithmOptions.h"
#include "compiler/plan/FuseOps.h"
#include "compiler/plan/Plan.h"

namespace fathom {

// An algorithm of a convolution or a product.
struct AlgorithmChoice {
  mlir::Operation *op;
  enum Method { Named, Winograd, Strassen } method; // Named: of those that need no other op
  std::string name;
  int64_t number = 0; // pixels of a tile's side; stored factors
};

// What a transposed convolution becomes: itself, a product of its one pixel, or a convolution of all phases.
enum class TransposedForm { Itself, ProductOfPixel, JoinedPhases };

struct LayoutChoice {
  llvm::SmallVector<int64_t> order, halo;
};

// Whether an operand is written where a concatenation has it.
enum class Placing { Never, IfPossible, Always };

// A kernel whose schedule is chosen.
struct KernelSite {
  mlir::func::FuncOp function;
  const KernelClass &kernelClass;
  mlir::Operation *anchor; // null without one
  mlir::Operation *last;   // of the ops in the graph that it computes
  llvm::StringRef name;    // of its result
  llvm::StringRef text;    // of the function: equal ones are the same kernel

  mlir::Operation *site() const { return anchorOrEnd(function); }
};

struct ScheduleChoice {
  Schedule schedule;
  std::vector<Version> versions; // for smaller sizes
};

class Chooser {
public:
  virtual ~Chooser() = default;

  // Algorithms. What is legal is checked by who chooses.
  virtual TransposedForm form(graph::ConvTransposeOp op, const AlgorithmOptions &options) = 0;
  virtual mlir::FailureOr<std::vector<AlgorithmChoice>> algorithms(mlir::func::FuncOp main,
                                                                   const AlgorithmOptions &options) = 0;

  // Layouts. `natural` is the one that the regions of pixels, and the halos that readers need, lead to.
  virtual mlir::FailureOr<LayoutChoice> layout(mlir::Value result, LayoutChoice natural) = 0;
  // Whether it is one kernel, and not three.
  virtual bool fuses(const Attention &attention) = 0;
  // Columns of the panels that an op's weights are packed into, in a kernel of this class with that anchor.
  virtual mlir::FailureOr<int64_t> panelWidth(mlir::Operation *op, const KernelClass &klass,
                                              mlir::Operation *anchor) = 0;
  // When all layouts are assigned.
  virtual llvm::LogicalResult endLayouts(mlir::Location) { return llvm::success(); }

  // Pieces. Where they are placed by cost, halos are made as large as that takes.
  virtual bool placesByCost() const = 0;
  virtual Placing placing(mlir::Value root, graph::ConcatOp whole) = 0;
  // Whether a tensor that is placed has the layout that was chosen for it.
  virtual bool isAsChosen(mlir::Value) { return true; }
  virtual bool copies(graph::SliceOp slice) = 0;
  // When all pieces are placed.
  virtual llvm::LogicalResult endPieces(mlir::Location) { return llvm::success(); }

  // Kernels.
  virtual mlir::FailureOr<std::vector<FusionGroup>> groups(mlir::func::FuncOp main) = 0;
  virtual mlir::FailureOr<ScheduleChoice> schedule(const KernelSite &kernel) = 0;

  // What was fixed before, for the Plan to name.
  virtual llvm::ArrayRef<PlannedChoice> choices() const { return {}; }
};

// Decides by estimated cost.
std::unique_ptr<Chooser> draftChooser(const Target &target);
// Decides the same for every machine, by nothing but the width of its vectors.
std::unique_ptr<Chooser> offChooser(const Target &target);
// Decides as the plan says, or without one by cost. What is not possible is an error, and so is what nobody asks for. A
// plan is for one target.
mlir::FailureOr<std::unique_ptr<Chooser>> chooserFor(const Plan *plan, const Target &target, mlir::Location loc);

} // namespace fathom
