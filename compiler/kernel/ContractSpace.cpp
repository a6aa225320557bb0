// The schedules of contractions: the space of legal ones, and the one of least estimated cost.
#include "compiler/cost/Sweep.h"
#include "compiler/graph/ByteProducts.h"
#include "compiler/graph/Layout.h"
#include "compiler/graph/Views.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/KernelVersions.h"
#include "compiler/kernel/VectorWork.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

namespace {

constexpr int64_t scratchLimit = int64_t(16) << 20; // bytes of packed rows
// What takes longer to read than to multiply has few rows.
constexpr int64_t thinRows = 8;

struct Problem {
  cost::Product product;
  int64_t panel = 0; // columns of a panel where the weights are packed already
  bool knownColumns = true, knownRun = true;
  bool producesLeft = false;                      // the left operand is computed inside the kernel
  bool keepsPartialSums = true;                   // the result's buffer can hold them between blocks of the reduction
  bool isOneRun = true;                           // the reduction is one stretch of neighbouring elements
  bool wantsPacked = false, wantsInPlace = false; // what was asked for, where it is possible
  bool canLoadAhead = false;                      // the types have such loops
  int64_t leftBytes = 4;                          // of an element of the left operand

  bool operator==(const Problem &) const = default;
};

// Whether the steps of the reduction are known, and there are any: without one, no block would store the result.
bool isKnownRun(AffineExpr depth) { return constantSize(depth).value_or(0) > 0; }

Problem problemOf(Operation *op, const Target &target) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto size = [&](AffineExpr expr) { return std::max<int64_t>(1, representative(op, expr)); };
  Sizes sizes = sizesOf(type);
  Problem p;
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  p.product.bits = std::max(32u, width);
  p.product.coldPanels = isPackedWeight(op->getOperand(1));
  p.product.consumerCycles = consumerCycles(op, target);
  p.panel = layoutOf(cast<RankedTensorType>(op->getOperand(1).getType())).block;
  p.keepsPartialSums = width >= 32;
  p.canLoadAhead = llvm::all_of(ValueRange{op->getOperand(0), op->getOperand(1), op->getResult(0)},
                                [](Value value) { return getElementTypeOrSelf(value.getType()).isF32(); });
  std::optional<Quads> quads = quadsOf(op);
  int64_t together = quads ? bytesOfQuad : 1; // elements of the left operand for each of the right one's
  p.leftBytes = together * elementBytes(getElementTypeOrSelf(op->getOperand(0).getType()));
  if (quads)
    p.product.instructions = cost::byteProductInstructions(target, quads == Quads::Narrow);
  p.wantsPacked = algorithmOf(op) == "gemm", p.wantsInPlace = algorithmOf(op) == "direct";
  if (isInKernel(op)) {
    p.product.coldPanels = isa<BlockArgument>(op->getOperand(1));
    p.producesLeft = op->getOperand(0).getDefiningOp();
    p.product.producerCycles = producerCycles(op, target);
    Operation *terminator = op->getBlock()->getTerminator();
    p.keepsPartialSums &=
        terminator->getNumOperands() == 1 &&
        cast<RankedTensorType>(terminator->getOperand(0).getType()).getElementType() == type.getElementType();
  }
  if (isa<MatMulOp>(op)) {
    auto right = cast<RankedTensorType>(op->getOperand(1).getType());
    AffineExpr depth = sizesOf(right)[right.getRank() - 2];
    p.product.columns = size(sizes.back());
    p.knownColumns = constantSize(sizes.back()).has_value();
    p.product.run = p.product.rowStride = size(depth);
    p.knownRun = isKnownRun(depth);
    bool batched = llvm::any_of(llvm::seq<int64_t>(0, right.getRank() - 2),
                                [&](int64_t d) { return !isConstant(sizesOf(right)[d], 1); });
    for (int64_t d = 0; d < type.getRank() - 1; ++d)
      if (batched && d < type.getRank() - 2)
        p.product.batches *= size(sizes[d]);
      else
        p.product.rows *= size(sizes[d]), p.product.unknownRows |= !constantSize(sizes[d]);
    return p;
  }
  auto conv = cast<ConvOp>(op);
  p.product.columns = size(sizes[1]);
  p.knownColumns = constantSize(sizes[1]).has_value();
  for (auto [d, expr] : llvm::enumerate(sizes))
    if (d != 1)
      p.product.rows *= size(expr), p.product.unknownRows |= !constantSize(expr);
  Sizes weight = sizesOf(conv.getWeight());
  int64_t taps = 1;
  for (AffineExpr expr : ArrayRef(weight).drop_front(2))
    taps *= size(expr);
  // Neighbouring pixels, and their channels, lie side by side.
  int64_t across = conv.getGroup() == 1 ? size(weight.back()) : 1;
  p.product.run = size(weight[1]) * across, p.product.taps = std::max<int64_t>(1, taps / across);
  p.knownRun = isKnownRun(weight[1]);
  // Channels lie side by side, also where the layout is not decided yet, and those of other tensors may lie between.
  auto input = cast<RankedTensorType>(conv.getInput().getType());
  p.product.rowStride = (size(sizesOf(input)[1]) + layoutOf(input).room[1]) / together;
  int64_t strides = 1;
  FailureOr<Window> window = getWindow(conv);
  bool isContiguous =
      p.product.taps == 1 && succeeded(window) && window->dilations.back() == 1 && !layoutOf(input).room[1];
  p.isOneRun = taps == 1 || isContiguous;
  if (succeeded(window)) {
    p.product.rowStride *= window->strides.back();
    for (int64_t stride : window->strides)
      strides *= stride;
  }
  p.product.sharedRows = std::max<int64_t>(1, taps / strides);
  if (conv.getGroup() > 1)
    p.product.groupColumns = p.product.columns / conv.getGroup();
  return p;
}

// Whether the left operand can be packed at all.
bool canPack(const Problem &p) {
  // Every tap of a window is a block of its own.
  return !p.product.groupColumns && p.knownColumns && p.knownRun && (p.keepsPartialSums || p.isOneRun);
}

// Rows that fit scratch, packed in blocks of so many steps.
int64_t mostPackedRows(const Problem &p, int64_t blockK) {
  int64_t bytes = std::min(blockK, p.product.run) * p.product.bits / 8; // of a row
  return bytes ? scratchLimit / bytes : INT64_MAX;
}

std::string packingViolation(const Problem &p, bool packed) {
  if (p.producesLeft && !packed)
    return "pack_a must be 1: the left operand is computed inside the kernel";
  if (packed && !canPack(p))
    return "pack_a must be 0: groups, sizes known only at run time, and windows whose result cannot hold partial sums "
           "are read in place";
  return "";
}

std::string tileViolation(const Problem &p, const ContractSchedule &s, const Target &target) {
  int64_t need = cost::registersOf(s.tileM, s.tileN, s.packed, target, p.product.bits, s.streams);
  return registerViolation(s.tileM, s.tileN * s.streams, need, target);
}

std::string violation(const Problem &p, const ContractSchedule &s, const Target &target) {
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  if (std::string reason = tileViolation(p, s, target); !reason.empty())
    return reason;
  if (s.streams > 1 && (s.packed || p.product.groupColumns))
    return text("streams = {0} must be 1: packed rows and groups take one panel at a time", s.streams);
  if (s.taskN % s.streams)
    return text("task_n = {0} must be a multiple of streams = {1}", s.taskN, s.streams);
  if (p.product.groupColumns && p.product.groupColumns % s.tileN)
    return text("tile_n = {0} must divide the {1} output channels of a group", s.tileN, p.product.groupColumns);
  if (std::string reason = panelViolation(s.tileN, p.panel); !reason.empty())
    return reason;
  if (s.taskM % s.tileM)
    return text("task_m = {0} must be a multiple of tile_m = {1}", s.taskM, s.tileM);
  if (int64_t rows = p.product.unknownRows ? INT64_MAX : p.product.rows; s.fetchAhead && !cost::canFetchAhead(s, rows))
    return "fetch_ahead must be 0: it takes several tiles of rows that pass a panel, with rows_outer = 0 and streams = "
           "1";
  if (s.loadAhead && !p.canLoadAhead)
    return "load_ahead must be 0: LLVM orders the loops of other types than 32-bit floats";
  if (std::string reason = loadAheadViolation(s, p.product.run, target); !reason.empty())
    return reason;
  if (std::string reason = packingViolation(p, s.packed); !reason.empty())
    return reason;
  if (s.packed && s.blockK < p.product.run && !p.keepsPartialSums)
    return text("block_k = {0} must be at least {1}: the result's buffer cannot hold partial sums", s.blockK,
                p.product.run);
  if (s.rowApart && (!s.packed || target.multipliesByLane()))
    return "row_apart must be 0: rows are read in place, or packed side by side";
  if (s.packed && s.taskM > mostPackedRows(p, s.blockK))
    return text("task_m = {0} rows of block_k = {1} steps do not fit 16 MiB of scratch", s.taskM, s.blockK);
  return "";
}

class ContractSpace {
public:
  ContractSpace(const Problem &p, const Target &target) : p(p), target(target) {}

  // What can be fetched ahead is, and loops have the better order: the contrary is never estimated to be better.
  void enumerate(llvm::function_ref<void(const ContractSchedule &)> body) {
    for (bool packed : {false, true})
      if (packingViolation(p, packed).empty() && (packed ? !p.wantsInPlace : !(p.wantsPacked && canPack(p))))
        for (int64_t width : widths())
          for (int64_t streams : streamCounts(packed))
            for (int64_t height : heights(width, packed, streams)) {
              ContractSchedule s{height, width};
              s.packed = packed, s.streams = streams;
              overBlocks(s, body);
            }
  }

private:
  SmallVector<int64_t> widths() {
    int64_t lanes = target.lanes(p.product.bits);
    SmallVector<int64_t> list;
    if (p.panel)
      return {p.panel};
    if (int64_t group = p.product.groupColumns) {
      for (int64_t n = std::min<int64_t>(group, 4 * lanes); n >= 1; --n)
        if (group % n == 0)
          list.push_back(n);
      return list;
    }
    for (int64_t vectors = 1; vectors <= 6; ++vectors)
      list.push_back(vectors * lanes);
    return list;
  }

  SmallVector<int64_t> streamCounts(bool packed) {
    if (packed || p.product.groupColumns || p.product.rows > thinRows)
      return {1};
    return {1, 2, 3, 4};
  }

  SmallVector<int64_t> heights(int64_t width, bool packed, int64_t streams) {
    int64_t lanes = target.lanes(p.product.bits), most = std::min<int64_t>(p.product.rows, 16);
    SmallVector<int64_t> list;
    ContractSchedule s{.tileN = width, .packed = packed, .streams = streams};
    for (s.tileM = 1; s.tileM <= most; ++s.tileM)
      if (!(packed && target.multipliesByLane() && s.tileM % lanes) && tileViolation(p, s, target).empty())
        list.push_back(s.tileM);
    s.tileM = 1;
    if (list.empty() && streams == 1 && tileViolation(p, s, target).empty())
      list.push_back(1);
    return list;
  }

  void overBlocks(ContractSchedule s, llvm::function_ref<void(const ContractSchedule &)> body) {
    int64_t element = p.product.bits / 8, width = s.tileN;
    bool packed = s.packed;
    s.inFlight = target.fmaInFlight();
    // The constants and temporaries of math functions do not fit beside a tile.
    s.throughScratch = p.product.consumerCycles > 0;
    SmallVector<int64_t> blocks{int64_t(llvm::alignTo(p.product.run, 4))};
    // A block of a panel fits the first-level cache with room for the rows that stream past. Where every factor is
    // loaded anyway, a small part of the second-level cache is near enough.
    if (packed && p.keepsPartialSums) {
      const CacheLevel &first = target.caches.front(), &second = target.caches[target.caches.size() > 1];
      const Calibration &c = target.calibration;
      int64_t room = int64_t(target.multipliesByLane() ? double(first.bytes) * c.contractNearBlock
                                                       : double(second.bytes) * c.contractFarBlock);
      int64_t most = std::max<int64_t>(64, room / (width * element));
      blocks = fractions(p.product.run, 4, most);
    }
    int64_t panels = llvm::divideCeil(p.product.columns, width);
    for (int64_t blockK : blocks) {
      s.blockK = blockK;
      s.unrollK = cost::unrolledSteps(std::min(blockK, p.product.run), target, p.product.bits);
      s.loadAhead = p.canLoadAhead ? cost::bestLoadAhead(s, p.product.run, target) : 0;
      int64_t mostRows = packed ? mostPackedRows(p, blockK) : INT64_MAX;
      s.rowApart = packed && !target.multipliesByLane() && collides(s) ? target.lanes(p.product.bits) : 0;
      for (bool rowsOuter : {false, true})
        for (int64_t taskM : fractions(p.product.rows, s.tileM, mostRows))
          for (int64_t taskN : fractions(panels, s.streams)) {
            s.rowsOuter = rowsOuter, s.taskM = taskM, s.taskN = taskN;
            s.fetchAhead = cost::canFetchAhead(s, p.product.rows);
            if (!(rowsOuter && packed))
              body(s);
          }
    }
  }

  // Whether the packed rows of a tile share sets of the first-level cache.
  bool collides(const ContractSchedule &s) {
    int64_t row = std::min(s.blockK, p.product.run) * p.leftBytes;
    return cost::setsFilled(double(s.tileM), row, target.caches[0]) > target.calibration.contractRowsCollide;
  }

  const Problem &p;
  const Target &target;
};

const FamilyOf<Problem, ContractSchedule> family(
    {.problem = problemOf,
     .candidates = [](const Problem &p, const Target &target, auto body) { ContractSpace(p, target).enumerate(body); },
     .estimate = [](const Problem &p, const ContractSchedule &s,
                    const Target &target) { return cost::estimate(p.product, s, target); },
     .violation = violation,
     .variants =
         [](const ContractSchedule &s, auto body) {
           withAndWithout(s, body, &ContractSchedule::fetchAhead, &ContractSchedule::loadAhead);
         },
     .extents = [](const Problem &p, const ContractSchedule &s) -> Extents {
       return {{"rows", p.product.rows},
               {"panels", int64_t(llvm::divideCeil(p.product.columns, std::max<int64_t>(1, s.tileN)))},
               {"depth", p.product.run}};
     }});

} // namespace

Choice<ContractSchedule> bestContract(Operation *op, const Target &target) {
  return family.best(problemOf(op, target), target);
}

bool gainsFromProducer(Operation *op, int64_t ops, const Target &target) {
  Problem p = problemOf(op, target);
  Choice<ContractSchedule> plain = family.best(p, target);
  p.product.producerCycles = cyclesOfProducers(ops, target);
  p.producesLeft = true;
  Choice<ContractSchedule> packed = family.best(p, target);
  // A kernel of its own reads and writes as much as this one reads.
  cost::Sweep apart;
  apart.rows = p.product.rows, apart.length = p.product.depth(), apart.bits = p.product.bits;
  apart.instructions = double(2 * ops);
  apart.bytes = 2.0 * double(apart.rows * apart.length) * (p.product.bits / 8.0);
  int64_t lanes = target.lanes(p.product.bits);
  SweepSchedule schedule{lanes, cost::leastGrain(apart, lanes, target)};
  return packed.score <= plain.score + cost::overThreads(cost::estimate(apart, schedule, target), target);
}

const KernelClass contractClass{
    .name = "contract",
    .meaning = "matrix products and convolutions",
    .family = family,
    .fixed = "tile_m: 4, tile_n: 2 vectors, unroll_k: 4, in_flight: 1, pack_a: 0, block_k: 256, rows_outer: 0, "
             "task_m: 64, task_n: 4",
    .algorithm = Algorithm::Contract,
    .extent = contractRows,
    .extentName = "rows"};

} // namespace fathom
