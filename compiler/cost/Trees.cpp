// Descents side by side: as many instructions as a core starts, or one chain of loads after the other.
#include "compiler/cost/Trees.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace fathom::cost {

// Instructions of a step: the node's address, its three parts, the feature, the comparison, the next node.
constexpr double stepInstructions = 7;
// Cycles of a step that waits for itself: two loads, a comparison and a sum.
constexpr double stepLatency = 14;
// Instructions of a look for who has moved, and of adding up a leaf; and starting a round of descents: the last
// iteration of the one before is mispredicted.
constexpr double lookInstructions = 2, leafInstructions = 8, roundStart = 16;

bool fitsRegisters(int64_t descents, const Target &target) {
  // Each has a place in its tree and a row or a tree; general registers are 31 or 16.
  int64_t registers = target.isAArch64() ? 31 : 16;
  return descents == 1 || 2 * descents + 6 <= registers;
}

// All trees by so many descents at a time.
static double rounds(const Trees &p, double descents, int64_t steps, const Target &target) {
  // A tree that is not balanced is deeper than its leaves need, but most rows reach one early.
  double depth = std::max(1.0, std::ceil(std::log2(std::max(2.0, p.leaves)) - 0.1));
  double looks = std::ceil(depth / double(steps)), taken = looks * double(steps);
  double issue = std::min(3.0, target.issuedPerCycle); // what such code reaches
  double step = std::max(stepLatency, descents * stepInstructions / issue);
  double leaf = leafInstructions + 3 * double(llvm::divideCeil(p.weights, target.lanes(32)) - 1);
  return taken * step + looks * descents * lookInstructions / issue + descents * leaf / issue + roundStart;
}

Estimate estimate(const Trees &p, const TreesSchedule &s, const Target &target) {
  Estimate e;
  int64_t grain = std::min(s.grain, p.rows), tasks = llvm::divideCeil(p.rows, grain);
  double together = double(grain / s.rows), alone = double(grain % s.rows);
  double trees = double(p.trees);
  double ofTrees = std::floor(trees / double(s.trees)) * rounds(p, double(s.trees), s.steps, target) +
                   double(p.trees % s.trees) * rounds(p, 1, s.steps, target);
  e.arithmetic = double(tasks) * (together * trees * rounds(p, double(s.rows), s.steps, target) + alone * ofTrees);
  e.tasks = double(tasks);
  e.perTask = taskStart;
  // A block reads a tree's nodes, and each tree the block's rows.
  double tree = p.nodes * double(p.nodeBytes) + p.leaves * double(p.weights) * 4, all = tree * trees;
  double block = double(std::min(s.block, grain)), rows = block * double(p.features) * 4;
  double blocks = double(tasks) * std::ceil(double(grain) / block);
  // Few rows touch a part of the nodes only.
  double touched = std::min(1.0, block / std::max(1.0, p.leaves));
  Refill moved = refill(all * touched * blocks, all, target);
  moved += refill(rows * trees * blocks, tree * touched + rows, target);
  e.movement = moved.beside(e.arithmetic);
  return e;
}

} // namespace fathom::cost
