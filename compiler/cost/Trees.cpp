// Descents side by side: as many instructions as a core starts, or one chain of loads after the other.
#include "compiler/cost/Trees.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace fathom::cost {

bool fitsRegisters(int64_t descents, const Target &target) {
  // Each has a place in its tree and a row or a tree; general registers are 31 or 16.
  int64_t registers = target.isAArch64() ? 31 : 16;
  return descents == 1 || 2 * descents + 6 <= registers;
}

// All trees by so many descents at a time.
static double rounds(const Trees &p, double descents, int64_t steps, const Target &target) {
  const Calibration &c = target.calibration;
  // A tree that is not balanced is deeper than its leaves need, but most rows reach one early.
  double depth = std::max(1.0, std::ceil(std::log2(std::max(2.0, p.leaves)) - c.treesBalance));
  double looks = std::ceil(depth / double(steps)), taken = looks * double(steps);
  double issue = std::min(c.treesIssue, target.issuedPerCycle);
  double step = std::max(c.treesStepLatency, descents * c.treesStepInstructions / issue);
  double leaf = c.treesLeaf + c.treesLeafVector * double(llvm::divideCeil(p.weights, target.lanes(32)) - 1);
  return taken * step + looks * descents * c.treesLook / issue + descents * leaf / issue + c.treesRoundStart;
}

Estimate estimate(const Trees &p, const TreesSchedule &s, const Target &target) {
  Estimate e = Estimate::on(target);
  int64_t grain = std::min(s.grain, p.rows), tasks = llvm::divideCeil(p.rows, grain);
  double together = double(grain / s.rows), alone = double(grain % s.rows);
  double trees = double(p.trees);
  double ofTrees = std::floor(trees / double(s.trees)) * rounds(p, double(s.trees), s.steps, target) +
                   double(p.trees % s.trees) * rounds(p, 1, s.steps, target);
  double descents = rounds(p, double(s.rows), s.steps, target);
  e.arithmetic = double(tasks) * (together * trees * descents + alone * ofTrees);
  e.tails = double(tasks) * std::max(0.0, alone * ofTrees - alone / double(s.rows) * trees * descents);
  e.tasks = double(tasks);
  // A block reads a tree's nodes, and each tree the block's rows.
  double tree = p.nodes * double(p.nodeBytes) + p.leaves * double(p.weights) * 4, all = tree * trees;
  double block = double(std::min(s.block, grain)), rows = block * double(p.features) * 4;
  double blocks = double(tasks) * std::ceil(double(grain) / block);
  // Few rows touch a part of the nodes only.
  double touched = std::min(1.0, block / std::max(1.0, p.leaves));
  Refill moved = refill(all * touched * blocks, all, target);
  moved += refill(rows * trees * blocks, tree * touched + rows, target);
  e.moves(moved.beside(e.arithmetic));
  return e;
}

} // namespace fathom::cost
