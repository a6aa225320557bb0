// The schedules of products by Strassen's method: the space of legal ones, and the one of least estimated cost.
#include "compiler/graph/Layout.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/Strassen.h"
#include "compiler/kernel/VectorWork.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

constexpr int64_t scratchLimit = int64_t(16) << 20; // bytes of a task's transformed rows and products

static int64_t scratchBytes(const cost::StrassenProduct &product, int64_t taskM, int64_t tileN) {
  int64_t ofRows = taskM * strassen::products * (product.halfDepth() + tileN);
  return (ofRows + (strassen::products - product.stored) * product.halfDepth() * tileN) * 4;
}

cost::StrassenProduct strassenProblem(Operation *op, int64_t depth, int64_t columns, int64_t stored,
                                      const Target &target) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  cost::StrassenProduct product{
      .columns = columns, .depth = depth, .stored = stored, .consumerCycles = consumerCycles(op, target)};
  product.rows = std::max<int64_t>(1, type.getNumElements() / columns);
  if (isInKernel(op))
    product.producerCycles = producerCycles(op, target);
  return product;
}

namespace {

struct Problem {
  cost::StrassenProduct product;
  int64_t panel = 0; // the width of the packed weights, 0 while it is still open

  bool operator==(const Problem &) const = default;
};

Problem problemOf(Operation *op, const Target &target) {
  auto type = cast<RankedTensorType>(cast<StrassenOp>(op).getWeight().getType());
  ArrayRef<int64_t> weight = type.getShape();
  return {strassenProblem(op, 2 * weight[1], 2 * weight[2], weight[0], target), layoutOf(type).block};
}

bool canFetchAhead(const cost::StrassenProduct &product, const StrassenSchedule &s) {
  return std::min(s.taskM, product.pairs()) > s.tileM;
}

std::string tileViolation(const StrassenSchedule &s, const Target &target) {
  return registerViolation(s.tileM, s.tileN, cost::registersOf(s.tileM, s.tileN, target.multipliesByLane(), target, 32),
                           target);
}

std::string violation(const Problem &p, const StrassenSchedule &s, const Target &target) {
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  const cost::StrassenProduct &product = p.product;
  if (s.stored != product.stored)
    return text("stored = {0} differs from the {1} factors that the weights have", s.stored, product.stored);
  if (std::string reason = tileViolation(s, target); !reason.empty())
    return reason;
  if (std::string reason = panelViolation(s.tileN, p.panel); !reason.empty())
    return reason;
  if (s.taskM % s.tileM)
    return text("task_m = {0} must be a multiple of tile_m = {1}", s.taskM, s.tileM);
  if (s.fetchAhead && !canFetchAhead(product, s))
    return "fetch_ahead must be 0: it takes several tiles of rows that pass a panel";
  if (std::string reason = loadAheadViolation(cost::ofQuarter(product, s, target), product.halfDepth(), target);
      !reason.empty())
    return reason;
  if (int64_t bytes = scratchBytes(product, s.taskM, s.tileN); bytes > scratchLimit)
    return text("task_m = {0} pairs of rows need {1} bytes of scratch, more than {2}", s.taskM, bytes, scratchLimit);
  return "";
}

void candidates(const Problem &p, const Target &target, llvm::function_ref<void(const StrassenSchedule &)> body) {
  const cost::StrassenProduct &product = p.product;
  int64_t lanes = target.lanes(32);
  StrassenSchedule s;
  s.stored = product.stored;
  s.inFlight = target.fmaInFlight();
  auto overTasks = [&] {
    int64_t panels = llvm::divideCeil(product.halfColumns(), s.tileN);
    s.unrollK = cost::unrolledSteps(product.halfDepth(), target, 32);
    s.loadAhead = cost::bestLoadAhead(cost::ofQuarter(product, s, target), product.halfDepth(), target);
    for (int64_t taskM : fractions(product.pairs(), s.tileM))
      for (int64_t parts : {1, 2, 4, 8, 16}) {
        s.taskM = taskM, s.taskN = llvm::divideCeil(panels, parts);
        s.fetchAhead = canFetchAhead(product, s);
        body(s);
      }
  };
  for (int64_t vectors = 1; vectors <= 6; ++vectors) {
    s.tileN = p.panel ? p.panel : vectors * lanes;
    for (s.tileM = 1; s.tileM <= 16; ++s.tileM)
      if (!(target.multipliesByLane() && s.tileM % lanes) && tileViolation(s, target).empty())
        overTasks();
    if (p.panel)
      break;
  }
}

const FamilyOf<Problem, StrassenSchedule>
    family({.problem = problemOf,
            .candidates = candidates,
            .estimate = [](const Problem &p, const StrassenSchedule &s,
                           const Target &target) { return cost::estimate(p.product, s, target); },
            .violation = violation,
            .variants =
                [](const StrassenSchedule &s, auto body) {
                  withAndWithout(s, body, &StrassenSchedule::fetchAhead, &StrassenSchedule::loadAhead);
                },
            .extents = [](const Problem &p, const StrassenSchedule &s) -> Extents {
              return {{"rows", p.product.pairs()},
                      {"panels", int64_t(llvm::divideCeil(p.product.halfColumns(), std::max<int64_t>(1, s.tileN)))}};
            }});

} // namespace

Choice<StrassenSchedule> bestStrassen(const cost::StrassenProduct &product, const Target &target) {
  return family.best({product}, target);
}

const KernelClass strassenClass{
    "strassen", "matrix products in quarters by Strassen's method", family,
    "stored: 7, tile_m: 4, tile_n: 1 vectors, unroll_k: 4, in_flight: 1, fetch_ahead: 0, task_m: 64, task_n: 4",
    Algorithm::Strassen};

} // namespace fathom
