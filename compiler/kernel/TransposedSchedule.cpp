// The schedules of transposed convolutions by phases: the space of legal ones, and the one of least estimated cost.
#include "compiler/cost/Transposed.h"
#include "compiler/graph/Layout.h"
#include "compiler/graph/Views.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/TransposedConv.h"
#include "compiler/kernel/VectorWork.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

namespace {

struct Problem {
  cost::TransposedConv conv;
  int64_t panel = 0;         // the width of the packed weights, 0 while it is still open
  bool canLoadAhead = false; // the type has such loops
};

Problem problemOf(Operation *anchor, const Target &target) {
  auto op = cast<ConvTransposeOp>(anchor);
  auto size = [&](AffineExpr expr) { return std::max<int64_t>(1, representative(op, expr)); };
  Window window = *getWindow(op);
  Sizes sizes = sizesOf(op.getType()), weight = sizesOf(op.getWeight());
  Problem p;
  p.conv.groups = op.getGroup();
  p.conv.channels = *constantSize(weight[0]) / p.conv.groups, p.conv.columns = *constantSize(weight[1]);
  p.conv.bits = std::max(32u, op.getType().getElementType().getIntOrFloatBitWidth());
  p.conv.sideBySide = standsSideBySide(op, target.lanes(p.conv.bits));
  p.conv.rows = size(sizes[0]);
  p.conv.unknownRows = !constantSize(sizes[0]);
  for (auto [d, stride] : llvm::enumerate(window.strides)) {
    p.conv.rows *= llvm::divideCeil(size(sizes[2 + d]), stride);
    p.conv.unknownRows |= !constantSize(sizes[2 + d]);
  }
  SmallVector<int64_t> taps = tapsOfPhases(window);
  p.conv.taps.assign(taps.begin(), taps.end());
  p.conv.consumerCycles = consumerCycles(op);
  auto input = cast<RankedTensorType>(op.getInput().getType());
  p.conv.rowStride = p.conv.groups * p.conv.channels + layoutOf(input).room[1];
  bool isMain = op->getParentOfType<func::FuncOp>().getName() == "main";
  p.conv.coldPanels = isMain ? isPackedWeight(op.getWeight()) : isa<BlockArgument>(op.getWeight());
  p.panel = layoutOf(cast<RankedTensorType>(op.getWeight().getType())).block;
  p.canLoadAhead = op.getType().getElementType().isF32() && !p.conv.sideBySide;
  return p;
}

class TransposedSpace {
public:
  TransposedSpace(const Problem &p, const Target &target) : p(p), target(target), lanes(target.lanes(p.conv.bits)) {}

  // Every schedule of the space that is worth a look, each of them legal.
  void enumerate(llvm::function_ref<void(const cost::TransposedSchedule &)> body) {
    for (int64_t width : widths())
      for (int64_t height = 1; height <= std::min<int64_t>(p.conv.rows, 16); ++height) {
        cost::TransposedSchedule s;
        s.product.tileM = height, s.product.tileN = width;
        if (cost::registersOf(p.conv, s, target) > target.vectorRegisters)
          break;
        overTasks(s, body);
      }
  }

private:
  SmallVector<int64_t> widths() {
    if (p.panel)
      return {p.panel};
    // Whole groups, as many as fill a number of vectors best.
    int64_t unit = p.conv.sideBySide ? p.conv.columns : 1;
    SmallVector<int64_t> list;
    for (int64_t vectors = 1; vectors <= 6; ++vectors) {
      int64_t width = vectors * lanes / unit * unit;
      if (width > 0 && (list.empty() || list.back() < p.conv.panelColumns()) && !llvm::is_contained(list, width))
        list.push_back(width);
    }
    return list;
  }

  void overTasks(cost::TransposedSchedule s, llvm::function_ref<void(const cost::TransposedSchedule &)> body) {
    cost::ProductSchedule &product = s.product;
    product.inFlight = target.fmaInFlight();
    product.unrollK = cost::unrolledSteps(p.conv.channels, target, p.conv.bits);
    // The constants and temporaries of math functions do not fit beside a tile.
    product.throughScratch = p.conv.consumerCycles > 0;
    product.blockK = p.conv.channels;
    product.loadAhead = p.canLoadAhead ? cost::bestLoadAhead(product, p.conv.channels, target) : 0;
    int64_t all = p.conv.phases();
    SmallVector<int64_t> parts{all, (all + 1) / 2, 1};
    parts.erase(llvm::unique(parts), parts.end());
    for (int64_t phases : parts)
      for (int64_t rows : fractions(p.conv.rows, product.tileM))
        for (int64_t panels : fractions(cost::panelsOf(p.conv, s), 1)) {
          s.taskP = phases, product.taskM = rows, product.taskN = panels;
          body(s);
        }
  }

  const Problem &p;
  const Target &target;
  int64_t lanes;
};

Schedule asKnobs(const cost::TransposedSchedule &schedule) {
  const cost::ProductSchedule &product = schedule.product;
  Schedule s;
  s.set("tile_m", product.tileM);
  s.set("tile_n", product.tileN);
  s.set("unroll_k", product.unrollK);
  s.set("in_flight", product.inFlight);
  s.set("load_ahead", product.loadAhead);
  s.set("through_scratch", product.throughScratch);
  s.set("task_p", schedule.taskP);
  s.set("task_m", product.taskM);
  s.set("task_n", product.taskN);
  return s;
}

cost::TransposedSchedule fromKnobs(const Schedule &s, const Problem &p) {
  cost::TransposedSchedule schedule;
  cost::ProductSchedule &product = schedule.product;
  product.tileM = s["tile_m"], product.tileN = s["tile_n"];
  product.unrollK = s["unroll_k"], product.inFlight = s["in_flight"], product.loadAhead = s["load_ahead"];
  product.throughScratch = s["through_scratch"], product.blockK = p.conv.channels;
  product.taskM = s["task_m"], product.taskN = s["task_n"];
  schedule.taskP = s["task_p"];
  return schedule;
}

void overSpace(Operation *op, const Target &target, llvm::function_ref<void(const Schedule &)> body) {
  Problem p = problemOf(op, target);
  TransposedSpace(p, target).enumerate(
      [&](const cost::TransposedSchedule &schedule) { withAndWithout(asKnobs(schedule), {"load_ahead"}, body); });
}

double score(Operation *op, const Schedule &s, const Target &target) {
  Problem p = problemOf(op, target);
  return cost::overThreads(cost::estimate(p.conv, fromKnobs(s, p), target), target);
}

std::string violation(const Schedule &s, Operation *op, const Target &target) {
  Problem p = problemOf(op, target);
  cost::TransposedSchedule schedule = fromKnobs(s, p);
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  if (int64_t need = cost::registersOf(p.conv, schedule, target); need > target.vectorRegisters)
    return text("a tile of {0} x {1} needs {2} vector registers and {3} has {4}", s["tile_m"], s["tile_n"], need,
                target.cpu, target.vectorRegisters);
  if (p.conv.sideBySide && s["tile_n"] % p.conv.columns)
    return text("tile_n = {0} must be whole groups, of {1} output channels", s["tile_n"], p.conv.columns);
  if (p.panel && p.panel != s["tile_n"])
    return text("tile_n = {0} differs from the width {1} of the packed weights", s["tile_n"], p.panel);
  if (s["task_m"] % s["tile_m"])
    return text("task_m = {0} must be a multiple of tile_m = {1}", s["task_m"], s["tile_m"]);
  if (s["load_ahead"] && !p.canLoadAhead)
    return "load_ahead must be 0: LLVM orders the loops of other types than 32-bit floats, and of groups side by side";
  return loadAheadViolation(schedule.product, p.conv.channels, target);
}

} // namespace

static Choice<cost::TransposedSchedule> bestOf(const Problem &p, const Target &target) {
  Choice<cost::TransposedSchedule> best;
  TransposedSpace(p, target).enumerate([&](const cost::TransposedSchedule &candidate) {
    best.consider(candidate, cost::estimate(p.conv, candidate, target), target);
  });
  return best;
}

Choice<cost::TransposedSchedule> bestTransposed(Operation *op, const Target &target) {
  return bestOf(problemOf(op, target), target);
}

bool gainsFromJoining(Operation *op, int64_t taps, const Target &target) {
  // Cycles of spreading an element, measured on Neoverse-N1: it is copied to its place, and once more without the
  // padding.
  constexpr double spreading = 2.5;
  Problem p = problemOf(op, target), joined = p;
  joined.conv.columns *= p.conv.phases();
  joined.conv.taps = {taps};
  joined.conv.consumerCycles = 0;
  double elements = double(joined.conv.rows * joined.conv.columns);
  return bestOf(joined, target).score + elements * spreading < bestOf(p, target).score;
}

static Schedule best(Operation *op, const Target &target) { return asKnobs(bestTransposed(op, target).schedule); }

const Family transposedFamily{overSpace, score, violation, best};

} // namespace fathom
