// Two transforms and a matrix product for each position of a tile.
#include "compiler/cost/Winograd.h"

#include "llvm/Support/MathExtras.h"

namespace fathom::cost {

// Vector operations of transforming a tile of one vector of channels, there and back, without loads and stores. They
// depend on each other and their values exceed the registers, so that few of them start in a cycle.
static double inputOperations(int64_t size) { return size == 2 ? 32 : 156; }
static double outputOperations(int64_t size) { return size == 2 ? 24 : 110; }

Estimate estimate(const WinogradConv &conv, const WinogradSchedule &s, const Target &target) {
  constexpr double element = 4;
  double lanes = double(target.lanes(32)), positions = double(conv.positions());
  int64_t taskTiles = std::min(s.taskTiles, conv.tiles), tileTasks = llvm::divideCeil(conv.tiles, taskTiles);
  int64_t panels = llvm::divideCeil(conv.columns, s.tileN), taskPanels = std::min(s.taskN, panels);
  int64_t panelTasks = llvm::divideCeil(panels, taskPanels);

  // The last panel is computed whole.
  int64_t columns = panels * s.tileN;
  Product product{.rows = taskTiles, .columns = columns, .run = conv.groupChannels(), .coldPanels = false};
  ContractSchedule inner{s.tileM, s.tileN, s.unrollK, s.inFlight, false, 1, false, taskTiles, taskPanels};
  inner.loadAhead = s.loadAhead;
  product.resultStreams = 0;
  Estimate e = estimate(product, inner, target);
  e.arithmetic *= positions * double(tileTasks), e.tails *= positions * double(tileTasks);
  e.tails += (e.arithmetic - e.tails) * double(columns - conv.columns) / double(columns);
  e.tasks = double(tileTasks * panelTasks);

  // Transformed tiles and products of a panel stay in a cache; a task's weights pass by.
  double tiles = double(conv.tiles), channelVectors = double(llvm::divideCeil(conv.channels, int64_t(lanes)));
  double columnVectors = double(llvm::divideCeil(columns, int64_t(lanes)));
  double transformed = double(taskTiles * conv.channels) * positions * element;
  double products = double(taskTiles * s.tileN) * positions * element;
  double weights = double(conv.groupChannels() * columns) * positions * element;
  double read = transformed / double(conv.groups) + 2 * products; // by a panel
  Refill moved = refill(read * double(taskPanels), transformed + products, target) * e.tasks;
  moved += refill(weights, weights, target) * double(tileTasks - 1);
  moved += s.fetchAhead ? asStream(coldRefill(weights, target), target) : coldRefill(weights, target);
  const Calibration &c = target.calibration;
  double side = positions / target.loadsPerCycle;
  e.packing = tiles * channelVectors *
              (inputOperations(conv.size) / c.winogradTransforms + side + positions / target.storesPerCycle);
  e.groupTasks = double(panelTasks);
  e.isKept = true;
  double transformedBack = tiles * columnVectors * (outputOperations(conv.size) / c.winogradTransforms + side);
  e.moves(moved.beside(e.arithmetic + e.packing + transformedBack));
  double resultVectors = double(conv.pixels) * columnVectors;
  e.results = transformedBack + resultVectors * (c.resultVector * conv.resultStreams + c.winogradResult);
  return e;
}

} // namespace fathom::cost
