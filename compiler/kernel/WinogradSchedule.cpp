// The schedules of convolutions by Winograd's method: the space of legal ones, and the one of least estimated cost.
#include "compiler/graph/Layout.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

constexpr int64_t scratchLimit = int64_t(16) << 20; // bytes of transformed tiles and products of a task

static int64_t scratchBytes(const cost::WinogradConv &conv, int64_t taskTiles, int64_t tileN) {
  return taskTiles * conv.positions() * (conv.channels + tileN) * 4;
}

cost::WinogradConv winogradProblem(Operation *op, Value input, int64_t tile, int64_t group) {
  Sizes sizes = sizesOf(op->getResult(0));
  auto size = [&](AffineExpr expr) { return std::max<int64_t>(1, representative(op, expr)); };
  cost::WinogradConv conv;
  conv.size = tile;
  int64_t height = size(sizes[2]), width = size(sizes[3]), images = size(sizes[0]);
  conv.tiles = images * llvm::divideCeil(height, tile) * llvm::divideCeil(width, tile);
  conv.pixels = images * height * width;
  conv.channels = size(sizesOf(input)[1]);
  conv.columns = size(sizes[1]);
  conv.groups = group;
  return conv;
}

static cost::WinogradConv problemOf(WinogradConvOp op) {
  return winogradProblem(op, op.getInput(), op.getTile(), op.getGroup());
}

// Widths of panels: vectors, or what divides a group.
static SmallVector<int64_t> panelWidths(const cost::WinogradConv &conv, int64_t lanes) {
  SmallVector<int64_t> widths;
  for (int64_t width = 1; width <= 6 * lanes; ++width)
    if (conv.groups > 1 ? conv.groupColumns() % width == 0 : width % lanes == 0)
      widths.push_back(width);
  return widths;
}

// The product at each position of a tile.
static cost::ProductSchedule ofPosition(const cost::WinogradSchedule &s) {
  cost::ProductSchedule product{s.tileM, s.tileN, s.unrollK, s.inFlight};
  product.loadAhead = s.loadAhead;
  return product;
}

static void overSchedules(const cost::WinogradConv &conv, int64_t panel, const Target &target,
                          llvm::function_ref<void(const cost::WinogradSchedule &)> body) {
  cost::WinogradSchedule s;
  s.inFlight = target.fmaInFlight();
  s.unrollK = cost::unrolledSteps(conv.groupChannels(), target, 32);
  auto overTasks = [&] {
    int64_t panels = llvm::divideCeil(conv.columns, s.tileN);
    s.loadAhead = cost::bestLoadAhead(ofPosition(s), conv.groupChannels(), target);
    for (int64_t taskTiles : fractions(conv.tiles, s.tileM))
      for (int64_t parts : {1, 2, 4, 8, 16}) {
        s.taskTiles = taskTiles, s.taskN = llvm::divideCeil(panels, parts);
        if (scratchBytes(conv, s.taskTiles, s.tileN) <= scratchLimit)
          body(s);
      }
  };
  for (int64_t width : panel ? SmallVector<int64_t>{panel} : panelWidths(conv, target.lanes(32))) {
    s.tileN = width;
    for (s.tileM = 1; s.tileM <= std::min<int64_t>(conv.tiles, 16); ++s.tileM)
      if (cost::registersOf(s.tileM, s.tileN, false, target, 32) <= target.vectorRegisters)
        overTasks();
  }
}

Choice<cost::WinogradSchedule> bestWinograd(const cost::WinogradConv &conv, int64_t panel, const Target &target) {
  Choice<cost::WinogradSchedule> best;
  overSchedules(conv, panel, target, [&](const cost::WinogradSchedule &candidate) {
    best.consider(candidate, cost::estimate(conv, candidate, target), target);
  });
  return best;
}

static int64_t panelOf(WinogradConvOp op) { return layoutOf(cast<RankedTensorType>(op.getWeight().getType())).block; }

static Schedule asKnobs(WinogradConvOp op, const cost::WinogradSchedule &schedule) {
  Schedule s;
  s.set("tile", op.getTile());
  s.set("tile_m", schedule.tileM);
  s.set("tile_n", schedule.tileN);
  s.set("unroll_k", schedule.unrollK);
  s.set("in_flight", schedule.inFlight);
  s.set("load_ahead", schedule.loadAhead);
  s.set("fetch_ahead", schedule.fetchAhead);
  s.set("task_t", schedule.taskTiles);
  s.set("task_n", schedule.taskN);
  return s;
}

static void overSpace(Operation *op, const Target &target, llvm::function_ref<void(const Schedule &)> body) {
  auto conv = cast<WinogradConvOp>(op);
  overSchedules(problemOf(conv), panelOf(conv), target, [&](const cost::WinogradSchedule &schedule) {
    withAndWithout(asKnobs(conv, schedule), {"fetch_ahead", "load_ahead"}, body);
  });
}

static cost::WinogradSchedule fromKnobs(const Schedule &s) {
  return {s["tile_m"], s["tile_n"], s["unroll_k"],   s["in_flight"],
          s["task_t"], s["task_n"], s["load_ahead"], bool(s["fetch_ahead"])};
}

static double score(Operation *op, const Schedule &s, const Target &target) {
  return cost::overThreads(cost::estimate(problemOf(cast<WinogradConvOp>(op)), fromKnobs(s), target), target);
}

static Schedule best(Operation *op, const Target &target) {
  auto conv = cast<WinogradConvOp>(op);
  return asKnobs(conv, bestWinograd(problemOf(conv), panelOf(conv), target).schedule);
}

static std::string violation(const Schedule &s, Operation *op, const Target &target) {
  auto conv = cast<WinogradConvOp>(op);
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  int64_t panel = panelOf(conv);
  cost::WinogradConv problem = problemOf(conv);
  if (s["tile"] != conv.getTile())
    return text("tile = {0} must be 2 or 4", s["tile"]);
  if (int64_t need = cost::registersOf(s["tile_m"], s["tile_n"], false, target, 32); need > target.vectorRegisters)
    return text("a tile of {0} x {1} needs {2} vector registers and {3} has {4}", s["tile_m"], s["tile_n"], need,
                target.cpu, target.vectorRegisters);
  if (panel && panel != s["tile_n"])
    return text("tile_n = {0} differs from the width {1} of the packed weights", s["tile_n"], panel);
  if (problem.groups > 1 && problem.groupColumns() % s["tile_n"])
    return text("tile_n = {0} must divide the {1} output channels of a group", s["tile_n"], problem.groupColumns());
  if (std::string reason = loadAheadViolation(ofPosition(fromKnobs(s)), problem.groupChannels(), target);
      !reason.empty())
    return reason;
  if (int64_t bytes = scratchBytes(problem, s["task_t"], s["tile_n"]); bytes > scratchLimit)
    return text("task_t = {0} tiles need {1} bytes of scratch, more than {2}", s["task_t"], bytes, scratchLimit);
  return "";
}

const Family winogradFamily{overSpace, score, violation, best};

} // namespace fathom
