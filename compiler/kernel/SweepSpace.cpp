// The schedules of kernels that pass over their data: maps, copies, row-wise work, pooling, sequential work. What they
// have to do is told apart here; how they are divided into vectors and tasks is chosen by estimated cost.
#include "compiler/cost/Sweep.h"
#include "compiler/graph/Layout.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/RowAxes.h"
#include "compiler/kernel/VectorWork.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// `unit`: what a schedule's grain counts for each row (or each element, where tasks cut rows).
struct Problem {
  cost::Sweep sweep;
  int64_t unit = 1;
  bool hasLanes = true;
};

int64_t sizeOf(Operation *op, AffineExpr size) { return std::max<int64_t>(1, representative(op, size)); }

int64_t elementCount(Operation *op, RankedTensorType type) {
  int64_t count = 1;
  for (AffineExpr size : sizesOf(type))
    count *= sizeOf(op, size);
  return count;
}

// The elements of the innermost dimension that has more than one.
int64_t innermostSize(Operation *op, RankedTensorType type) {
  int64_t dim = innermostDim(type);
  return dim < 0 ? 1 : sizeOf(op, sizesOf(type)[dim]);
}

RankedTensorType operandType(Operation *op) { return cast<RankedTensorType>(op->getOperand(0).getType()); }
RankedTensorType resultType(Operation *op) { return cast<RankedTensorType>(op->getResult(0).getType()); }

cost::Sweep fusedSweep(Operation *op) {
  VectorWork work = kernelWork(op);
  cost::Sweep sweep;
  sweep.instructions = std::max(1.0, work.instructions), sweep.latency = work.latency, sweep.live = work.live;
  sweep.bytes = kernelBytes(op);
  return sweep;
}

// A map has no anchor: `op` is the end of its kernel; or a concatenation, where that has no class of its own.
Problem mapProblem(Operation *op, const Target &target) {
  auto type = isa<ConcatOp>(op) ? resultType(op) : operandType(op);
  Problem p{fusedSweep(op)};
  // Without vectors nothing is to be gained by whole rows.
  p.sweep.length = target.hasVectors() ? innermostSize(op, type) : 1;
  p.sweep.rows = elementCount(op, type) / p.sweep.length;
  p.unit = p.sweep.length;
  return p;
}

// A row is what lies inside the concatenated dimension; every input has tasks of its own.
Problem concatProblem(Operation *op, const Target &) {
  auto concat = cast<ConcatOp>(op);
  Sizes sizes = sizesOf(concat.getType());
  SmallVector<int64_t> order = orderOf(concat.getType());
  int64_t axis = *normalizeAxis(concat.getAxis(), concat.getType().getRank()), run = 1;
  for (auto it = llvm::find(order, axis); it != order.end(); ++it)
    run *= sizeOf(op, sizes[*it]);
  Problem p{fusedSweep(op)};
  p.sweep.length = run, p.sweep.rows = elementCount(op, concat.getType()) / run;
  return p;
}

// Softmaxes and normalisations go over a row three times.
bool hasPasses(Operation *op) { return op->hasTrait<SoftmaxLike>() || op->hasTrait<NormalizesRows>(); }

Problem rowProblem(Operation *op, const Target &target) {
  auto type = operandType(op);
  SmallVector<int64_t> axes = rowAxes(op);
  int64_t innermost = innermostDim(type), combined = 1;
  for (int64_t axis : axes)
    combined *= sizeOf(op, sizesOf(type)[axis]);
  Problem p{fusedSweep(op)};
  cost::Sweep &sweep = p.sweep;
  sweep.passes = hasPasses(op) ? 3 : 1;
  sweep.carried = target.calibration.sweepCarried;
  int64_t results = std::max<int64_t>(1, elementCount(op, type) / combined);
  if (innermost < 0 || llvm::is_contained(axes, innermost)) {
    sweep.acrossLanes = true;
    sweep.length = combined, sweep.rows = results;
    return p;
  }
  sweep.cutsRows = true;
  sweep.steps = combined * sweep.passes;
  sweep.length = sizeOf(op, sizesOf(type)[innermost]), sweep.rows = std::max<int64_t>(1, results / sweep.length);
  return p;
}

// Lanes run along the channels where these are innermost; the taps of a window follow each other in loops.
Problem poolProblem(Operation *op, const Target &target) {
  auto type = resultType(op);
  Problem p{fusedSweep(op)};
  if (FailureOr<Window> window = getWindow(op); succeeded(window))
    for (int64_t size : window->kernel)
      p.sweep.steps *= size;
  p.sweep.once = p.sweep.instructions, p.sweep.instructions = target.calibration.sweepPoolStep,
  p.sweep.carried = target.calibration.sweepCarried;
  int64_t innermost = innermostDim(type);
  bool hasLanes = target.hasVectors() && innermost >= 0 && innermost < 2;
  p.sweep.length = hasLanes ? innermostSize(op, type) : 1;
  p.sweep.rows = elementCount(op, type) / p.sweep.length;
  return p;
}

Problem scanProblem(Operation *op, const Target &target) {
  auto type = operandType(op);
  int64_t axis = rowAxes(op).front(), innermost = innermostDim(type), along = sizeOf(op, sizesOf(type)[axis]);
  Problem p{fusedSweep(op)};
  p.sweep.carried = target.calibration.sweepCarried;
  int64_t sums = std::max<int64_t>(1, elementCount(op, type) / along);
  if (innermost < 0 || innermost == axis) {
    p.sweep.length = along, p.sweep.rows = sums;
    return p;
  }
  p.sweep.cutsRows = true, p.sweep.steps = along;
  p.sweep.length = sizeOf(op, sizesOf(type)[innermost]), p.sweep.rows = std::max<int64_t>(1, sums / p.sweep.length);
  return p;
}

// The dimension that rows lie along.
int64_t axisOfRows(Operation *op, RankedTensorType type) {
  if (auto scatter = dyn_cast<ScatterElementsOp>(op))
    return *normalizeAxis(scatter.getAxis(), type.getRank());
  return orderOf(type).back();
}

// A transposed convolution counts elements, the others rows along their axis.
Problem sequentialProblem(Operation *op, const Target &target) {
  Problem p{fusedSweep(op)};
  p.hasLanes = false;
  p.sweep.instructions = target.calibration.sweepSequentialStep, p.sweep.carried = target.calibration.sweepCarried;
  if (isa<ConvTransposeOp>(op)) {
    p.sweep.length = 64, p.sweep.rows = elementCount(op, resultType(op));
    return p;
  }
  // Classes do not depend on each other.
  auto type = isa<NonMaxSuppressionOp>(op) ? cast<RankedTensorType>(op->getOperand(1).getType()) : operandType(op);
  p.sweep.length = type.getRank() ? sizeOf(op, sizesOf(type)[axisOfRows(op, type)]) : 1;
  p.sweep.rows = std::max<int64_t>(1, elementCount(op, type) / p.sweep.length);
  return p;
}

// A row is all of a cache that one index moves. Written along the innermost dimension, it is single elements.
Problem tensorScatterProblem(Operation *op, const Target &target) {
  auto type = operandType(op);
  int64_t axis = *normalizeAxis(cast<TensorScatterOp>(op).getAxis(), type.getRank()), innermost = orderOf(type).back();
  Problem p{fusedSweep(op)};
  p.hasLanes = target.hasVectors() && axis != type.getRank() - 1;
  p.sweep.instructions = target.calibration.sweepSequentialStep, p.sweep.carried = target.calibration.sweepCarried;
  p.sweep.length = sizeOf(op, sizesOf(type)[innermost]) * sizeOf(op, sizesOf(type)[axis]);
  p.sweep.rows = std::max<int64_t>(1, elementCount(op, type) / p.sweep.length);
  return p;
}

template <typename S>
void candidates(const Problem &p, const Target &target, llvm::function_ref<void(const S &)> body) {
  int64_t native = target.lanes(p.sweep.bits), count = p.sweep.cutsRows ? p.sweep.length : p.sweep.rows;
  for (int64_t vectors : {1, 2, 4, 8, 16, 32}) {
    if (vectors > 1 && !target.hasVectors())
      return;
    int64_t lanes = vectors * native;
    // More of them help only where each is read in a row of its own.
    if (vectors > 8 && (!p.sweep.cutsRows || lanes > p.sweep.length || lanes > mostLanes))
      return;
    // Where stretches of rows are tasks, they are whole vectors.
    int64_t each = p.sweep.cutsRows ? lanes : 1, least = cost::leastGrain(p.sweep, lanes, target), before = 0;
    SmallVector<int64_t> parts = fractions(count, each);
    // A part for each core, where these are more.
    if (!target.hasVectors())
      parts.push_back(llvm::divideCeil(count, target.cores));
    for (int64_t part : parts)
      if (int64_t grain = llvm::alignTo(std::max(part, least), each); grain != before) {
        S s;
        s.lanes = p.hasLanes ? lanes : 1;
        // A row may be longer than a schedule can say.
        int64_t units = std::clamp<int64_t>(grain, 1, std::max<int64_t>(1, mostPerTask / p.unit));
        s.grain = std::min(units * p.unit, mostPerTask);
        body(s), before = grain;
      }
    if (!p.hasLanes)
      return;
  }
}

template <typename S> cost::Estimate estimate(const Problem &p, const S &s, const Target &target) {
  return cost::estimate(p.sweep, SweepSchedule{s.lanes, std::max<int64_t>(1, s.grain / p.unit)}, target);
}

// How rows are divided does not depend on the lanes, of which the draft knows nothing.
void tensorScatterCandidates(const Problem &p, const Target &target,
                             llvm::function_ref<void(const TensorScatterSchedule &)> body) {
  Problem alone = p;
  alone.hasLanes = false;
  candidates<TensorScatterSchedule>(alone, target, [&](TensorScatterSchedule s) {
    if (p.hasLanes)
      s.lanes = std::min(4 * target.lanes(p.sweep.bits), mostLanes);
    body(s);
  });
}
cost::Estimate tensorScatterEstimate(const Problem &p, const TensorScatterSchedule &s, const Target &target) {
  TensorScatterSchedule alone = s;
  alone.lanes = 1;
  return estimate(p, alone, target);
}
std::string tensorScatterViolation(const Problem &p, const TensorScatterSchedule &s, const Target &target) {
  if (!p.hasLanes && s.lanes != 1)
    return "lanes must be 1: the target has no vectors, or rows are written along the innermost dimension";
  if (int64_t vector = target.lanes(p.sweep.bits); p.hasLanes && s.lanes % vector)
    return llvm::formatv("lanes = {0} must be whole vectors of {1}", s.lanes, vector).str();
  return "";
}
void overLanes(const TensorScatterSchedule &s, llvm::function_ref<void(const TensorScatterSchedule &)> body) {
  for (int64_t parts : {1, 2, 4}) {
    TensorScatterSchedule variant = s;
    variant.lanes = s.lanes / parts;
    if (s.lanes % parts == 0)
      body(variant);
  }
}

// Along a row, the lanes of a vector are summed up by doubling the distance, and the sum of all before is added to
// them: nothing but that addition waits for the vector before.
cost::Estimate scanEstimate(const Problem &p, const ScanSchedule &s, const Target &target) {
  Problem stepwise = p;
  if (!p.sweep.cutsRows)
    stepwise.sweep.instructions += 2 * llvm::Log2_64_Ceil(s.lanes) + 2;
  return estimate(stepwise, s, target);
}

template <typename S> std::string laneViolation(const Problem &, const S &s, const Target &target) {
  return s.lanes == 1 || target.hasVectors() ? "" : "lanes must be 1: the target has no vectors";
}

// The lanes of a sum are combined by halves, those of running sums by doubling the distance.
template <typename S> std::string rowViolation(const Problem &p, const S &s, const Target &target) {
  if (llvm::isPowerOf2_64(s.lanes))
    return laneViolation(p, s, target);
  return llvm::formatv("lanes = {0} must be a power of two", s.lanes).str();
}

template <typename S> Extents extents(const Problem &p, const S &) {
  return {{"all", (p.sweep.cutsRows ? p.sweep.length : p.sweep.rows) * p.unit}};
}

template <typename S>
constexpr typename FamilyOf<Problem, S>::Declaration
sweep(Problem (*problem)(Operation *, const Target &),
      std::string (*violation)(const Problem &, const S &, const Target &) = laneViolation<S>) {
  return {.problem = problem,
          .candidates = candidates<S>,
          .estimate = estimate<S>,
          .violation = violation,
          .extents = extents<S>};
}

const FamilyOf<Problem, MapSchedule> map(sweep<MapSchedule>(mapProblem));
const FamilyOf<Problem, ConcatSchedule> concat(sweep<ConcatSchedule>(concatProblem));
const FamilyOf<Problem, RowSchedule> row(sweep<RowSchedule>(rowProblem, rowViolation<RowSchedule>));
const FamilyOf<Problem, PoolSchedule> pool(sweep<PoolSchedule>(poolProblem));
const FamilyOf<Problem, ScanSchedule> scan({.problem = scanProblem,
                                            .candidates = candidates<ScanSchedule>,
                                            .estimate = scanEstimate,
                                            .violation = rowViolation<ScanSchedule>,
                                            .extents = extents<ScanSchedule>});
const FamilyOf<Problem, TensorScatterSchedule> tensorScatter({.problem = tensorScatterProblem,
                                                              .candidates = tensorScatterCandidates,
                                                              .estimate = tensorScatterEstimate,
                                                              .violation = tensorScatterViolation,
                                                              .variants = overLanes,
                                                              .extents = extents<TensorScatterSchedule>});
const FamilyOf<Problem, SequentialSchedule> sequential(sweep<SequentialSchedule>(sequentialProblem));

} // namespace

// Of one row after the other.
static constexpr llvm::StringLiteral rows = "lanes: 1 vectors, grain: 64";

const KernelClass mapClass{"map", "elements computed on demand", map, "lanes: 1 vectors, grain: 16384"};
const KernelClass concatClass{"concat", "copies of several inputs side by side", concat, rows};
const KernelClass reduceClass{
    .name = "reduce", .meaning = "elements combined along axes", .family = row, .fixed = rows, .sharesRows = true};
const KernelClass argReduceClass{"arg_reduce", "positions of extreme elements along an axis", row, rows};
const KernelClass softmaxClass{
    .name = "softmax", .meaning = "softmaxes, in passes over a row", .family = row, .fixed = rows, .sharesRows = true};
const KernelClass layerNormClass{.name = "layer_norm",
                                 .meaning = "layer normalisation, in passes over a row",
                                 .family = row,
                                 .fixed = rows,
                                 .sharesRows = true};
const KernelClass poolClass{"pool", "pooling windows", pool, rows};
const KernelClass scanClass{"scan", "running sums along an axis", scan, rows};
const KernelClass sequentialClass{.name = "sequential",
                                  .meaning = "scatters, sorts and other work element by element",
                                  .family = sequential,
                                  .fixed = "grain: 64",
                                  .takesConsumers = false,
                                  .goesByStrides = false,
                                  .goesInOrder = true};
const KernelClass tensorScatterClass{.name = "tensor_scatter",
                                     .meaning = "rows written into a cache",
                                     .family = tensorScatter,
                                     .fixed = "lanes: 4 vectors, grain: 64",
                                     .takesConsumers = false,
                                     .goesByStrides = false,
                                     .goesInOrder = true};

} // namespace fathom
