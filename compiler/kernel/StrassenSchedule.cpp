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

cost::StrassenProduct strassenProblem(Operation *op, int64_t depth, int64_t columns, int64_t stored) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  cost::StrassenProduct product{
      .columns = columns, .depth = depth, .stored = stored, .consumerCycles = consumerCycles(op)};
  product.rows = std::max<int64_t>(1, type.getNumElements() / columns);
  if (op->getParentOfType<func::FuncOp>().getName() != "main")
    product.producerCycles = producerCycles(op);
  return product;
}

static cost::StrassenProduct problemOf(Operation *op) {
  ArrayRef<int64_t> weight = cast<StrassenOp>(op).getWeight().getType().getShape();
  return strassenProblem(op, 2 * weight[1], 2 * weight[2], weight[0]);
}

static bool canFetchAhead(const cost::StrassenProduct &product, const cost::StrassenSchedule &s) {
  return std::min(s.taskM, product.pairs()) > s.tileM;
}

static void overSchedules(const cost::StrassenProduct &product, int64_t panel, const Target &target,
                          llvm::function_ref<void(const cost::StrassenSchedule &)> body) {
  int64_t lanes = target.lanes(32);
  cost::StrassenSchedule s;
  s.inFlight = target.fmaInFlight();
  auto overTasks = [&] {
    int64_t panels = llvm::divideCeil(product.halfColumns(), s.tileN);
    s.unrollK = cost::unrolledSteps(product.halfDepth(), target, 32);
    s.loadAhead = cost::bestLoadAhead(cost::ofQuarter(product, s, target), product.halfDepth(), target);
    for (int64_t taskM : fractions(product.pairs(), s.tileM))
      for (int64_t parts : {1, 2, 4, 8, 16}) {
        s.taskM = taskM, s.taskN = llvm::divideCeil(panels, parts);
        s.fetchAhead = canFetchAhead(product, s);
        if (scratchBytes(product, taskM, s.tileN) <= scratchLimit)
          body(s);
      }
  };
  for (int64_t vectors = 1; vectors <= 6; ++vectors) {
    s.tileN = panel ? panel : vectors * lanes;
    for (s.tileM = 1; s.tileM <= 16; ++s.tileM)
      if (cost::registersOf(s.tileM, s.tileN, target.laneFma, target, 32) <= target.vectorRegisters &&
          !(target.laneFma && s.tileM % lanes))
        overTasks();
    if (panel)
      break;
  }
}

Choice<cost::StrassenSchedule> bestStrassen(const cost::StrassenProduct &product, int64_t panel, const Target &target) {
  Choice<cost::StrassenSchedule> best;
  overSchedules(product, panel, target, [&](const cost::StrassenSchedule &candidate) {
    best.consider(candidate, cost::estimate(product, candidate, target), target);
  });
  return best;
}

static int64_t panelOf(Operation *op) { return layoutOf(cast<RankedTensorType>(op->getOperand(1).getType())).block; }

static Schedule asKnobs(Operation *op, const cost::StrassenSchedule &schedule) {
  Schedule s;
  s.set("stored", problemOf(op).stored);
  s.set("tile_m", schedule.tileM);
  s.set("tile_n", schedule.tileN);
  s.set("unroll_k", schedule.unrollK);
  s.set("in_flight", schedule.inFlight);
  s.set("load_ahead", schedule.loadAhead);
  s.set("fetch_ahead", schedule.fetchAhead);
  s.set("task_m", schedule.taskM);
  s.set("task_n", schedule.taskN);
  return s;
}

static cost::StrassenSchedule fromKnobs(const Schedule &s) {
  return {s["tile_m"], s["tile_n"], s["unroll_k"],  s["in_flight"], bool(s["fetch_ahead"]),
          s["task_m"], s["task_n"], s["load_ahead"]};
}

static void overSpace(Operation *op, const Target &target, llvm::function_ref<void(const Schedule &)> body) {
  overSchedules(problemOf(op), panelOf(op), target, [&](const cost::StrassenSchedule &schedule) {
    withAndWithout(asKnobs(op, schedule), {"fetch_ahead", "load_ahead"}, body);
  });
}

static double score(Operation *op, const Schedule &s, const Target &target) {
  return cost::overThreads(cost::estimate(problemOf(op), fromKnobs(s), target), target);
}

static Schedule best(Operation *op, const Target &target) {
  return asKnobs(op, bestStrassen(problemOf(op), panelOf(op), target).schedule);
}

static std::string violation(const Schedule &s, Operation *op, const Target &target) {
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  cost::StrassenProduct product = problemOf(op);
  if (s["stored"] != product.stored)
    return text("stored = {0} differs from the {1} factors that the weights have", s["stored"], product.stored);
  if (int64_t need = cost::registersOf(s["tile_m"], s["tile_n"], target.laneFma, target, 32);
      need > target.vectorRegisters)
    return text("a tile of {0} x {1} needs {2} vector registers and {3} has {4}", s["tile_m"], s["tile_n"], need,
                target.cpu, target.vectorRegisters);
  if (int64_t panel = panelOf(op); panel && panel != s["tile_n"])
    return text("tile_n = {0} differs from the width {1} of the packed weights", s["tile_n"], panel);
  if (s["task_m"] % s["tile_m"])
    return text("task_m = {0} must be a multiple of tile_m = {1}", s["task_m"], s["tile_m"]);
  if (s["fetch_ahead"] && !canFetchAhead(product, fromKnobs(s)))
    return "fetch_ahead must be 0: it takes several tiles of rows that pass a panel";
  if (std::string reason =
          loadAheadViolation(cost::ofQuarter(product, fromKnobs(s), target), product.halfDepth(), target);
      !reason.empty())
    return reason;
  if (int64_t bytes = scratchBytes(product, s["task_m"], s["tile_n"]); bytes > scratchLimit)
    return text("task_m = {0} pairs of rows need {1} bytes of scratch, more than {2}", s["task_m"], bytes,
                scratchLimit);
  return "";
}

const Family strassenFamily{overSpace, score, violation, best};

} // namespace fathom
