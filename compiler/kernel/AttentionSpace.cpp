// The schedules of attention: the space of legal ones, and what they cost.
#include "compiler/cost/Attention.h"
#include "compiler/graph/Layout.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/kernel/Attention.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

constexpr int64_t scratchLimit = int64_t(16) << 20; // bytes of scores, and of sums that wait

struct Problem {
  cost::AttentionProblem cost;
  SmallVector<int64_t> panel; // columns of a panel of keys, and of values, as far as they are packed already
  int64_t mostRows = INT64_MAX, mostKeys = INT64_MAX;

  bool operator==(const Problem &) const = default;
};

Problem problemOf(Operation *op, const Target &) {
  Attention attention = *attentionOf(op);
  auto size = [&](AffineExpr expr) { return std::max<int64_t>(1, representative(op, expr)); };
  Sizes sizes = sizesOf(op->getResult(0));
  Problem p;
  for (AffineExpr batch : ArrayRef(sizes).drop_back(2))
    p.cost.batches *= size(batch);
  p.cost.rows = size(queriesOf(attention)), p.cost.keys = size(keysOf(attention));
  p.cost.depth = std::max<int64_t>(1, keyDepth(attention));
  p.cost.columns = std::max<int64_t>(1, valueDepth(attention));
  p.cost.unknownRows = !constantSize(queriesOf(attention)), p.cost.unknownKeys = !constantSize(keysOf(attention));
  auto most = [&](AffineExpr expr) {
    return std::max<int64_t>(1, size::upperBound(expr, symbolsFor(op)).value_or(INT64_MAX));
  };
  p.mostRows = most(queriesOf(attention)), p.mostKeys = most(keysOf(attention));
  for (Value right : {attention.scores.getRhs(), attention.product.getRhs()})
    if (int64_t panel = layoutOf(cast<RankedTensorType>(right.getType())).block)
      p.panel.push_back(panel);
  return p;
}

// Rows that fit scratch with their queries, their sums and a few numbers more.
int64_t mostWaiting(const Problem &p) { return scratchLimit / 4 / (p.cost.depth + p.cost.columns + 64); }

// Both products.
ContractSchedule ofProduct(const AttentionSchedule &s, const Target &target) {
  ContractSchedule product{s.tileM, s.tileN, s.unrollK, s.inFlight, keepsRowsTogether(target)};
  product.loadAhead = s.loadAhead;
  return product;
}

std::string violation(const Problem &p, const AttentionSchedule &s, const Target &target) {
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  int64_t unit = rowUnit(target);
  int64_t need = cost::registersOf(s.tileM, s.tileN, keepsRowsTogether(target), target, 32);
  if (std::string reason = registerViolation(s.tileM, s.tileN, need, target); !reason.empty())
    return reason;
  if (!llvm::isPowerOf2_64(s.expTogether))
    return text("exp_together = {0} must be a power of two", s.expTogether);
  if (s.tileM % unit)
    return text("tile_m = {0} must be a multiple of {1}, the lanes of a vector", s.tileM, unit);
  for (int64_t panel : p.panel)
    if (panel != s.tileN)
      return text("tile_n = {0} differs from the width {1} of a packed operand", s.tileN, panel);
  if (std::string reason = loadAheadViolation(ofProduct(s, target), p.cost.depth, target); !reason.empty())
    return reason;
  if (s.blockN % s.tileN)
    return text("block_n = {0} must be a multiple of tile_n = {1}", s.blockN, s.tileN);
  if (s.taskM % s.tileM)
    return text("task_m = {0} must be a multiple of tile_m = {1}", s.taskM, s.tileM);
  if (s.tileM * s.blockN * 4 > scratchLimit)
    return text("the scores of tile_m = {0} rows and block_n = {1} keys do not fit 16 MiB of scratch", s.tileM,
                s.blockN);
  if (int64_t most = std::max(s.tileM, mostWaiting(p)); p.mostKeys > s.blockN && std::min(s.taskM, p.mostRows) > most)
    return text("task_m = {0} rows that wait for the next block of keys do not fit 16 MiB of scratch", s.taskM);
  return "";
}

// The better way to fetch panels alone: which it is follows from the rest.
void candidates(const Problem &p, const Target &target, llvm::function_ref<void(const AttentionSchedule &)> body) {
  int64_t lanes = target.lanes(32), unit = rowUnit(target);
  SmallVector<int64_t> widths = p.panel;
  for (int64_t vectors = 1; p.panel.empty() && vectors <= 6; ++vectors)
    widths.push_back(vectors * lanes);
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  int64_t tallest = llvm::alignTo(std::min<int64_t>(p.cost.rows, 16), unit);
  for (int64_t width : widths)
    for (int64_t height = unit; height <= tallest; height += unit) {
      // Scores in the first-level cache, all of them that there are likely to be, or as many as come at a time.
      llvm::SmallSetVector<int64_t, 4> blocks;
      for (int64_t keys : {512, 1024, 256, 4096})
        blocks.insert(llvm::alignTo(std::min(keys, p.mostKeys), width));
      // More rows that wait would only take memory: they share the block of keys between enough of them.
      int64_t mostRows = std::max(height, std::min<int64_t>(mostWaiting(p), 512) / height * height);
      for (int64_t block : blocks)
        for (int64_t task : fractions(p.cost.rows, height)) {
          AttentionSchedule s{height, width, target.multipliesByLane() && p.cost.depth >= 32 ? 8 : 2, block,
                              p.mostKeys > block ? std::min(task, mostRows) : task};
          s.inFlight = target.fmaInFlight();
          s.fetchAhead = cost::gainsFromFetching(p.cost, s, target);
          s.loadAhead = cost::bestLoadAhead(ofProduct(s, target), p.cost.depth, target);
          body(s);
        }
    }
}

const FamilyOf<Problem, AttentionSchedule>
    family({.problem = problemOf,
            .candidates = candidates,
            .estimate = [](const Problem &p, const AttentionSchedule &s,
                           const Target &target) { return cost::estimate(p.cost, s, target); },
            .violation = violation,
            .variants =
                [](const AttentionSchedule &given, auto body) {
                  AttentionSchedule s = given;
                  withAndWithout(s, body, &AttentionSchedule::loadAhead);
                  s.fetchAhead = !s.fetchAhead;
                  withAndWithout(s, body, &AttentionSchedule::loadAhead);
                  s = given, s.expTogether = given.expTogether / 2;
                  body(s);
                  s = given, s.inFlight = std::max<int64_t>(1, given.inFlight / 2);
                  body(s);
                },
            .extents = [](const Problem &p, const AttentionSchedule &) -> Extents {
              return {{"rows", p.cost.rows}, {"keys", p.cost.keys}};
            }});

} // namespace

Choice<AttentionSchedule> bestAttention(Operation *op, const Target &target) {
  return family.best(problemOf(op, target), target);
}

const KernelClass attentionClass{.name = "attention",
                                 .meaning = "products with a softmax between them, whose scores are never stored whole",
                                 .family = family,
                                 .fixed = "tile_m: 4, tile_n: 2 vectors, unroll_k: 4, block_n: 256, task_m: 64",
                                 .algorithm = Algorithm::Attention,
                                 .extent = attentionRows,
                                 .extentName = "rows"};

} // namespace fathom
