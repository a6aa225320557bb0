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

namespace {

struct Problem {
  cost::WinogradConv conv;
  int64_t panel = 0; // the width of the packed weights, 0 while it is still open

  bool operator==(const Problem &) const = default;
};

Problem problemOf(Operation *op, const Target &) {
  auto conv = cast<WinogradConvOp>(op);
  return {winogradProblem(conv, conv.getInput(), conv.getTile(), conv.getGroup()),
          layoutOf(cast<RankedTensorType>(conv.getWeight().getType())).block};
}

// Widths of panels: vectors, or what divides a group.
SmallVector<int64_t> panelWidths(const cost::WinogradConv &conv, int64_t lanes) {
  SmallVector<int64_t> widths;
  for (int64_t width = 1; width <= 6 * lanes; ++width)
    if (conv.groups > 1 ? conv.groupColumns() % width == 0 : width % lanes == 0)
      widths.push_back(width);
  return widths;
}

// The product at each position of a tile.
ContractSchedule ofPosition(const WinogradSchedule &s) {
  ContractSchedule product{s.tileM, s.tileN, s.unrollK, s.inFlight};
  product.loadAhead = s.loadAhead;
  return product;
}

std::string tileViolation(const WinogradSchedule &s, const Target &target) {
  return registerViolation(s.tileM, s.tileN, cost::registersOf(s.tileM, s.tileN, false, target, 32), target);
}

std::string violation(const Problem &p, const WinogradSchedule &s, const Target &target) {
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  const cost::WinogradConv &conv = p.conv;
  if (s.tile != conv.size)
    return text("tile = {0} must be 2 or 4", s.tile);
  if (std::string reason = tileViolation(s, target); !reason.empty())
    return reason;
  if (std::string reason = panelViolation(s.tileN, p.panel); !reason.empty())
    return reason;
  if (conv.groups > 1 && conv.groupColumns() % s.tileN)
    return text("tile_n = {0} must divide the {1} output channels of a group", s.tileN, conv.groupColumns());
  if (std::string reason = loadAheadViolation(ofPosition(s), conv.groupChannels(), target); !reason.empty())
    return reason;
  if (int64_t bytes = scratchBytes(conv, s.taskTiles, s.tileN); bytes > scratchLimit)
    return text("task_t = {0} tiles need {1} bytes of scratch, more than {2}", s.taskTiles, bytes, scratchLimit);
  return "";
}

void candidates(const Problem &p, const Target &target, llvm::function_ref<void(const WinogradSchedule &)> body) {
  const cost::WinogradConv &conv = p.conv;
  WinogradSchedule s;
  s.tile = conv.size;
  s.inFlight = target.fmaInFlight();
  s.unrollK = cost::unrolledSteps(conv.groupChannels(), target, 32);
  auto overTasks = [&] {
    int64_t panels = llvm::divideCeil(conv.columns, s.tileN);
    s.loadAhead = cost::bestLoadAhead(ofPosition(s), conv.groupChannels(), target);
    for (int64_t taskTiles : fractions(conv.tiles, s.tileM))
      for (int64_t parts : {1, 2, 4, 8, 16}) {
        s.taskTiles = taskTiles, s.taskN = llvm::divideCeil(panels, parts);
        body(s);
      }
  };
  for (int64_t width : p.panel ? SmallVector<int64_t>{p.panel} : panelWidths(conv, target.lanes(32))) {
    s.tileN = width;
    for (s.tileM = 1; s.tileM <= std::min<int64_t>(conv.tiles, 16); ++s.tileM)
      if (tileViolation(s, target).empty())
        overTasks();
  }
}

const FamilyOf<Problem, WinogradSchedule>
    family({.problem = problemOf,
            .candidates = candidates,
            .estimate = [](const Problem &p, const WinogradSchedule &s,
                           const Target &target) { return cost::estimate(p.conv, s, target); },
            .violation = violation,
            .variants =
                [](const WinogradSchedule &s, auto body) {
                  withAndWithout(s, body, &WinogradSchedule::fetchAhead, &WinogradSchedule::loadAhead);
                },
            .extents = [](const Problem &p, const WinogradSchedule &s) -> Extents {
              return {{"tiles", p.conv.tiles},
                      {"panels", int64_t(llvm::divideCeil(p.conv.columns, std::max<int64_t>(1, s.tileN)))}};
            }});

} // namespace

Choice<WinogradSchedule> bestWinograd(const cost::WinogradConv &conv, const Target &target) {
  return family.best({conv}, target);
}

const KernelClass winogradClass{
    "winograd", "convolutions in tiles by Winograd's method", family,
    "tile: 4, tile_m: 4, tile_n: 2 vectors, unroll_k: 4, in_flight: 1, fetch_ahead: 0, task_t: 64, task_n: 4",
    Algorithm::Winograd};

} // namespace fathom
