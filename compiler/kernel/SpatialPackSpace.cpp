// The schedules of convolutions by spatial packing: the space of legal ones, and the one of least estimated cost. Tiles
// of channels lie within a group, or are whole groups side by side.
#include "compiler/graph/Layout.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/VectorWork.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

// The problem as far as it is the same for every machine.
static std::optional<cost::SpatialPackConv> spatialPackProblem(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  if (!conv || !conv.getType().getElementType().isF32())
    return std::nullopt;
  FailureOr<Window> window = getWindow(conv);
  Sizes sizes = sizesOf(conv.getType()), weight = sizesOf(conv.getWeight());
  std::optional<int64_t> columns = constantSize(weight[0]), channels = constantSize(weight[1]);
  if (failed(window) || window->kernel.empty() || !columns || !channels || *columns < 1 || *channels < 1)
    return std::nullopt;
  auto size = [&](AffineExpr expr) { return std::max<int64_t>(1, representative(op, expr)); };
  cost::SpatialPackConv problem;
  problem.width = size(sizes.back());
  problem.unknownWidth = !constantSize(sizes.back());
  for (size_t d = 0; d + 1 < sizes.size(); ++d)
    problem.rows *= d == 1 ? 1 : size(sizes[d]);
  problem.groups = conv.getGroup();
  problem.channels = *channels, problem.columns = *columns / problem.groups;
  problem.kernel = window->kernel.back(), problem.stride = window->strides.back();
  problem.dilation = window->dilations.back();
  for (int64_t taps : ArrayRef(window->kernel).drop_back())
    problem.kernelRows *= taps;
  problem.swapsPairs = hasSwappedPairs(op);
  return problem;
}

bool canSpatialPack(Operation *op) { return spatialPackProblem(op).has_value(); }

// Steps of the reduction that may become straight code.
constexpr int64_t mostUnrolled = 64;

namespace {

struct Problem {
  std::optional<cost::SpatialPackConv> conv;
  int64_t panel = 0; // the width of the packed weights, 0 while it is still open

  bool operator==(const Problem &) const = default;
};

Problem problemOf(Operation *op, const Target &target) {
  Problem p{spatialPackProblem(op), layoutOf(cast<RankedTensorType>(op->getOperand(1).getType())).block};
  if (p.conv)
    p.conv->consumerCycles = consumerCycles(op, target);
  return p;
}

// A pixel of the window.
ContractSchedule ofTap(const SpatialPackSchedule &s) {
  ContractSchedule product{s.tileW, s.tileO, s.tileI};
  product.loadAhead = s.loadAhead;
  return product;
}

std::string violation(const Problem &p, const SpatialPackSchedule &s, const Target &target) {
  if (!p.conv)
    return "spatial packing is for convolutions of 32-bit floats with known channels";
  const cost::SpatialPackConv &conv = *p.conv;
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  if (conv.columns % s.tileO)
    return text("tile_o = {0} must divide the {1} output channels of a group", s.tileO, conv.columns);
  if (conv.channels % s.tileI)
    return text("tile_i = {0} must divide the {1} input channels of a group", s.tileI, conv.channels);
  if (s.groups > conv.groups)
    return text("groups = {0} is more than the {1} that there are", s.groups, conv.groups);
  if (s.groups > 1 && (s.tileO != conv.columns || s.tileI != conv.channels))
    return text("groups = {0} stand side by side as a whole: tile_o must be {1} and tile_i {2}", s.groups, conv.columns,
                conv.channels);
  if (conv.swapsPairs && (s.tileO != conv.columns || s.tileI != conv.channels))
    return text("the weights of pairs of channels are swapped: tile_o and tile_i must be 2");
  if (int64_t steps = conv.kernel * conv.channels; s.unrollW && steps > mostUnrolled)
    return text("unroll_w = 1 would unroll {0} steps, more than {1}", steps, mostUnrolled);
  if (s.unrollW && s.tileI != conv.channels)
    return text("unroll_w = 1 needs all channels of a group in one step: tile_i must be {0}", conv.channels);
  if (s.loadAhead && !s.canLoadAhead())
    return "load_ahead must be 0: LLVM orders what is unrolled, and several groups in a panel";
  if (std::string reason = loadAheadViolation(ofTap(s), conv.channels, target); !reason.empty())
    return reason;
  if (std::string reason = registerViolation(s.tileW, s.panel(), cost::registersOf(conv, s, target), target);
      !reason.empty())
    return reason;
  if (p.panel && p.panel != s.panel())
    return text("tile_o x groups = {0} differs from the width {1} of the packed weights", s.panel(), p.panel);
  return "";
}

SmallVector<int64_t> divisors(int64_t number, int64_t most) {
  SmallVector<int64_t> list;
  for (int64_t d = std::min(number, most); d >= 1; --d)
    if (number % d == 0)
      list.push_back(d);
  return list;
}

class SpatialPackSpace {
public:
  SpatialPackSpace(const Problem &p, const Target &target)
      : p(p), conv(*p.conv), target(target), lanes(target.lanes(32)) {}

  void enumerate(llvm::function_ref<void(const SpatialPackSchedule &)> body) {
    SpatialPackSchedule s;
    for (int64_t tileO : divisors(conv.columns, 6 * lanes))
      for (int64_t tileI : divisors(conv.channels, widestStep)) {
        s.tileO = tileO, s.tileI = tileI;
        overWidths(s, body);
      }
    s.tileO = conv.columns, s.tileI = conv.channels;
    for (s.groups = 2; s.groups <= conv.groups && s.panel() <= 4 * lanes && conv.channels <= widestStep; ++s.groups)
      overWidths(s, body);
  }

private:
  // Input channels of a step: what is unrolled grows with them.
  static constexpr int64_t widestStep = 16;

  void overWidths(SpatialPackSchedule s, llvm::function_ref<void(const SpatialPackSchedule &)> body) {
    for (bool unroll : {false, true})
      for (int64_t width = 1; width <= std::min<int64_t>(conv.width, 16); ++width) {
        s.unrollW = unroll, s.tileW = width;
        s.loadAhead = s.canLoadAhead() ? cost::bestLoadAhead(ofTap(s), conv.channels, target) : 0;
        if (!violation(p, s, target).empty())
          break;
        overTasks(s, body);
      }
  }

  void overTasks(SpatialPackSchedule s, llvm::function_ref<void(const SpatialPackSchedule &)> body) {
    for (bool rowsOuter : {false, true})
      for (int64_t rows : fractions(conv.rows, 1))
        for (int64_t panels : fractions(cost::panelsOf(conv, s), 1)) {
          s.rowsOuter = rowsOuter, s.taskRows = rows, s.taskPanels = panels;
          body(s);
        }
  }

  const Problem &p;
  const cost::SpatialPackConv &conv;
  const Target &target;
  int64_t lanes;
};

const FamilyOf<Problem, SpatialPackSchedule>
    family({.problem = problemOf,
            .candidates =
                [](const Problem &p, const Target &target, auto body) {
                  if (p.conv)
                    SpatialPackSpace(p, target).enumerate(body);
                },
            .estimate = [](const Problem &p, const SpatialPackSchedule &s,
                           const Target &target) { return cost::estimate(*p.conv, s, target); },
            .violation = violation,
            .variants = [](const SpatialPackSchedule &s,
                           auto body) { withAndWithout(s, body, &SpatialPackSchedule::loadAhead); },
            .extents = [](const Problem &p, const SpatialPackSchedule &s) -> Extents {
              if (!p.conv)
                return {};
              return {{"columns", p.conv->columns},
                      {"channels", p.conv->channels},
                      {"rows", p.conv->rows},
                      {"panels", s.panel() > 0 ? cost::panelsOf(*p.conv, s) : 0}};
            }});

} // namespace

Choice<SpatialPackSchedule> bestSpatialPack(Operation *op, const Target &target) {
  return family.best(problemOf(op, target), target);
}

const KernelClass spatialPackClass{
    "spatial_pack", "convolutions in tiles of a row's pixels, by groups", family,
    "tile_w: 4, tile_o: 2 vectors, groups: 1, tile_i: 1, unroll_w: 0, rows_outer: 0, task_h: 4, task_n: 4",
    Algorithm::SpatialPack};

} // namespace fathom
