// The schedules of transposed convolutions by phases: the space of legal ones, and the one of least estimated cost.
#include "compiler/cost/Transposed.h"
#include "compiler/graph/Layout.h"
#include "compiler/graph/Views.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/KernelVersions.h"
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

  bool operator==(const Problem &) const = default;
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
  p.conv.consumerCycles = consumerCycles(op, target);
  auto input = cast<RankedTensorType>(op.getInput().getType());
  p.conv.rowStride = p.conv.groups * p.conv.channels + layoutOf(input).room[1];
  p.conv.coldPanels = isInKernel(op) ? isa<BlockArgument>(op.getWeight()) : isPackedWeight(op.getWeight());
  p.panel = layoutOf(cast<RankedTensorType>(op.getWeight().getType())).block;
  p.canLoadAhead = op.getType().getElementType().isF32() && !p.conv.sideBySide;
  return p;
}

std::string tileViolation(const Problem &p, const TransposedSchedule &s, const Target &target) {
  return registerViolation(s.tileM, s.tileN, cost::registersOf(p.conv, s, target), target);
}

std::string violation(const Problem &p, const TransposedSchedule &s, const Target &target) {
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  if (std::string reason = tileViolation(p, s, target); !reason.empty())
    return reason;
  if (p.conv.sideBySide && s.tileN % p.conv.columns)
    return text("tile_n = {0} must be whole groups, of {1} output channels", s.tileN, p.conv.columns);
  if (std::string reason = panelViolation(s.tileN, p.panel); !reason.empty())
    return reason;
  if (s.taskM % s.tileM)
    return text("task_m = {0} must be a multiple of tile_m = {1}", s.taskM, s.tileM);
  if (s.loadAhead && !p.canLoadAhead)
    return "load_ahead must be 0: LLVM orders the loops of other types than 32-bit floats, and of groups side by side";
  return loadAheadViolation(s, p.conv.channels, target);
}

class TransposedSpace {
public:
  TransposedSpace(const Problem &p, const Target &target) : p(p), target(target), lanes(target.lanes(p.conv.bits)) {}

  void enumerate(llvm::function_ref<void(const TransposedSchedule &)> body) {
    for (int64_t width : widths())
      for (int64_t height = 1; height <= std::min<int64_t>(p.conv.rows, 16); ++height) {
        TransposedSchedule s;
        s.tileM = height, s.tileN = width;
        if (!tileViolation(p, s, target).empty())
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

  void overTasks(TransposedSchedule s, llvm::function_ref<void(const TransposedSchedule &)> body) {
    s.inFlight = target.fmaInFlight();
    s.unrollK = cost::unrolledSteps(p.conv.channels, target, p.conv.bits);
    // The constants and temporaries of math functions do not fit beside a tile.
    s.throughScratch = p.conv.consumerCycles > 0;
    s.loadAhead = p.canLoadAhead ? cost::bestLoadAhead(s, p.conv.channels, target) : 0;
    int64_t all = p.conv.phases();
    SmallVector<int64_t> parts{all, (all + 1) / 2, 1};
    parts.erase(llvm::unique(parts), parts.end());
    for (int64_t phases : parts)
      for (int64_t rows : fractions(p.conv.rows, s.tileM))
        for (int64_t panels : fractions(cost::panelsOf(p.conv, s), 1)) {
          s.taskP = phases, s.taskM = rows, s.taskN = panels;
          body(s);
        }
  }

  const Problem &p;
  const Target &target;
  int64_t lanes;
};

const FamilyOf<Problem, TransposedSchedule>
    family({.problem = problemOf,
            .candidates = [](const Problem &p, const Target &target,
                             auto body) { TransposedSpace(p, target).enumerate(body); },
            .estimate = [](const Problem &p, const TransposedSchedule &s,
                           const Target &target) { return cost::estimate(p.conv, s, target); },
            .violation = violation,
            .variants = [](const TransposedSchedule &s,
                           auto body) { withAndWithout(s, body, &TransposedSchedule::loadAhead); },
            .extents = [](const Problem &p, const TransposedSchedule &s) -> Extents {
              return {{"phases", p.conv.phases()},
                      {"rows", p.conv.rows},
                      {"panels", s.tileN > 0 ? cost::panelsOf(p.conv, s) : 0}};
            }});

} // namespace

bool gainsFromJoining(Operation *op, int64_t taps, const Target &target) {
  Problem p = problemOf(op, target), joined = p;
  joined.conv.columns *= p.conv.phases();
  joined.conv.taps = {taps};
  joined.conv.consumerCycles = 0;
  double elements = double(joined.conv.rows * joined.conv.columns);
  return family.best(joined, target).score + elements * target.calibration.transposedSpreading <
         family.best(p, target).score;
}

const KernelClass transposedClass{
    .name = "transposed",
    .meaning = "transposed convolutions, a product for each phase of the stride",
    .family = family,
    .fixed = "tile_m: 4, tile_n: 2 vectors, unroll_k: 4, in_flight: 1, task_p: 1, task_m: 64, task_n: 4",
    .extent = contractRows,
    .extentName = "pixels"};

} // namespace fathom
