// Transposed convolutions by phases: a register tile of neighbouring pixels of a phase by output channels of a group,
// summed over the phase's taps. The input, channels-last with zeros around it, is read in place, and the results, with
// what is fused behind them, are stored where the phase has them. Which taps there are is computed when a phase begins,
// so that all phases share their code.
#include "compiler/kernel/TransposedConv.h"
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/codegen/cpu/RegisterTile.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/schedule/Transposed.h"
#include <numeric>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class TransposedConv {
public:
  TransposedConv(KernelBody &k, const TransposedSchedule &schedule)
      : k(k), schedule(schedule), e(k.e), c(k.e.c), op(cast<ConvTransposeOp>(k.anchor)), input(e.buffer(op.getInput())),
        weight(e.buffer(op.getWeight())), type(op.getType()), axes(phaseAxes(*getWindow(op))), spatial(axes.size()),
        groups(op.getGroup()), channels(*constantSize(sizesOf(op.getWeight())[0]) / groups),
        groupColumns(*constantSize(sizesOf(op.getWeight())[1])), tileM(schedule.tileM), width(schedule.tileN),
        sideBySide(!weight.layout.block) {
    Type element = type.getElementType();
    acc = element.getIntOrFloatBitWidth() == 16 ? Type(c.b.getF32Type()) : registerType(element);
    // Where groups stand side by side, panels run through all of them.
    panelColumns = sideBySide ? groups * groupColumns : groupColumns;
    ofGroup = llvm::divideCeil(panelColumns, width);
    addLoop(0, sizesOf(type)[0]);
    for (int64_t d = 0; d < spatial; ++d) {
      AffineExpr size = sizesOf(type)[2 + d];
      addLoop(2 + d, size::simplified(size.ceilDiv(axes[d].stride)));
      mayEndEarly.push_back(!isConstant(size::simplified(size % axes[d].stride), 0));
    }
  }

  Grid emit() {
    int64_t phases = 1, panels = sideBySide ? ofGroup : groups * ofGroup;
    for (const PhaseAxis &axis : axes)
      phases *= axis.stride;
    // Neighbouring tasks are phases of the same pixels: they read the same input, and their results lie side by side.
    AffineExpr rows = iterations(rowLoops, k.context());
    Units ofPhases{getAffineConstantExpr(phases, k.context()), schedule.taskP};
    Units ofRows{rows, schedule.taskM}, ofPanels{getAffineConstantExpr(panels, k.context()), schedule.taskN};
    Grid grid;
    grid.tasks = size::simplified(ofPhases.parts() * ofRows.parts() * ofPanels.parts());
    Value phaseTasks = c.expr(ofPhases.parts()), rest = c.div(k.task, phaseTasks);
    Range phase = partRange(c, c.rem(k.task, phaseTasks), ofPhases),
          panel = partRange(c, c.div(rest, c.expr(ofRows.parts())), ofPanels);
    std::tie(rowLow, rowHigh) = partRange(c, c.rem(rest, c.expr(ofRows.parts())), ofRows);
    throughScratch = schedule.throughScratch;
    grid.scratchBytes = throughScratch ? tileM * width * elementBytes(acc) : 0;
    overPanels(panel, [&](Value group, Value firstColumn, int64_t columns) {
      c.loop(phase.first, phase.second, 1, [&](Value which) {
        Phase now = phaseOf(which);
        overRows([&](Value row, int64_t rows) { tile(now, row, rows, group, firstColumn, columns); });
      });
    });
    return grid;
  }

private:
  // A phase's place in the stride, and its taps, along each spatial dimension.
  struct Phase {
    struct Axis {
      Value position, first, count, from;
    };
    SmallVector<Axis> axes;
  };

  void addLoop(int64_t d, AffineExpr size) {
    if (!isConstant(size, 1))
      rowLoops.push_back({d, size});
  }

  // As PhaseAxis::taps.
  Phase phaseOf(Value which) {
    Phase phase;
    phase.axes.resize(spatial);
    for (int64_t d = spatial - 1; d >= 0; --d) {
      const PhaseAxis &axis = axes[d];
      Value position = c.rem(which, c.i64(axis.stride)), reach = c.add(position, axis.pad);
      which = c.div(which, c.i64(axis.stride));
      Value first = c.rem(c.mul(c.div(reach, c.i64(axis.common)), axis.inverse), c.i64(axis.tapStep));
      Value count = c.div(c.sub(c.i64(axis.kernel + axis.tapStep - 1), first), c.i64(axis.tapStep));
      if (axis.common > 1) {
        Value meets = c.cmp(arith::CmpIPredicate::eq, c.rem(reach, c.i64(axis.common)), c.i64(0));
        count = c.select(meets, count, c.i64(0));
      }
      // The dividend must not be negative.
      int64_t lift = llvm::divideCeil(axis.tapStep * axis.dilation, axis.stride);
      Value lifted = c.sub(c.add(reach, lift * axis.stride), c.mul(first, axis.dilation));
      phase.axes[d] = {position, first, count, c.sub(c.div(lifted, c.i64(axis.stride)), c.i64(lift))};
    }
    return phase;
  }

  // The panels of a task; a group's last one may have fewer columns.
  void overPanels(Range panels, llvm::function_ref<void(Value group, Value firstColumn, int64_t columns)> body) {
    int64_t full = panelColumns / width, rest = panelColumns % width;
    c.loop(panels.first, panels.second, 1, [&](Value panel) {
      Value group = c.div(panel, c.i64(ofGroup)), inGroup = c.rem(panel, c.i64(ofGroup));
      Value firstColumn = c.mul(inGroup, width);
      if (full == 0 || rest == 0)
        return body(group, firstColumn, full ? width : rest);
      scf::IfOp::create(
          c.b, c.loc, c.cmp(arith::CmpIPredicate::slt, inGroup, c.i64(full)),
          [&](OpBuilder &, Location) {
            body(group, firstColumn, width);
            scf::YieldOp::create(c.b, c.loc);
          },
          [&](OpBuilder &, Location) {
            body(group, firstColumn, rest);
            scf::YieldOp::create(c.b, c.loc);
          });
    });
  }

  // The task's pixels in tiles. Tasks start at multiples of the tile.
  void overRows(llvm::function_ref<void(Value, int64_t)> body) {
    AffineExpr rows = iterations(rowLoops, k.context());
    Value full = c.sub(rowHigh, c.rem(c.sub(rowHigh, rowLow), c.i64(tileM)));
    c.loop(rowLow, full, tileM, [&](Value row) { body(row, tileM); });
    if (auto known = constantSize(rows)) {
      if (int64_t rest = *known % tileM)
        c.when(c.cmp(arith::CmpIPredicate::slt, full, rowHigh), [&] { body(full, rest); });
      return;
    }
    int64_t unit = std::gcd(rows.getLargestKnownDivisor(), tileM);
    if (unit == tileM)
      return;
    for (int64_t step = unit * llvm::bit_floor(uint64_t(tileM / unit - 1)); step >= unit; step /= 2)
      full = c.when(
          c.cmp(arith::CmpIPredicate::sle, c.add(full, step), rowHigh),
          [&] {
            body(full, step);
            return c.add(full, step);
          },
          [&] { return full; });
  }

  RegisterTile registers() {
    return {e,
            acc,
            width,
            schedule.unrollK,
            schedule.inFlight,
            schedule.loadAhead,
            weight.pointer,
            weight.type.getElementType()};
  }

  // Where a phase has pixel `index`, counted in the phase.
  Indices placeOf(const Phase &phase, Indices index) {
    for (auto [d, axis] : llvm::enumerate(axes))
      index[2 + d] = {c.add(c.mul(index[2 + d].base, axis.stride), phase.axes[d].position), 0};
    return index;
  }

  // The element of the input under the first tap of a pixel.
  Value startOf(const Phase &phase, ArrayRef<Index> index, Value group) {
    Value at = c.add(c.expr(input.layout.offset), c.mul(index[0].base, c.expr(input.layout.strides[0])));
    for (int64_t d = 0; d < spatial; ++d)
      at = c.add(at, c.mul(c.add(index[2 + d].base, phase.axes[d].from), c.expr(input.layout.strides[2 + d])));
    return c.add(at, c.mul(group, channels));
  }

  void tile(const Phase &phase, Value row, int64_t rows, Value group, Value firstColumn, int64_t columns) {
    bool together = !rowLoops.empty() && rows == tileM && constantSize(rowLoops.back().size).value_or(1) % tileM == 0;
    SmallVector<Indices> pixels;
    for (int64_t r = 0; r < rows; ++r) {
      Indices index = together && r ? pixels[0] : e.zeros(type.getRank());
      if (together && r)
        index[rowLoops.back().dim].base = c.add(index[rowLoops.back().dim].base, r);
      else
        delinearize(c, c.add(row, r), rowLoops, index);
      pixels.push_back(index);
    }
    Value column = c.add(c.mul(group, groupColumns), firstColumn); // of all
    SmallVector<Value> starts;
    for (const Indices &index : pixels) {
      // The first input channel of a panel of whole groups is that of its first one.
      Value firstGroup = sideBySide ? c.div(firstColumn, c.i64(groupColumns)) : group;
      starts.push_back(startOf(phase, index, firstGroup));
      Indices place = placeOf(phase, index);
      place[1] = {column, 0};
      k.prefetchOperands(place, 1, columns);
    }
    bool apart = !together && rowLoops.size() > 1;
    SmallVector<int64_t> pieces = registers().piecesOf(columns);
    SmallVector<Value> sums = multiply(phase, starts, apart, pieces, group, firstColumn, column);
    if (throughScratch)
      return storeThroughScratch(phase, row, rows, pieces, sums, column, columns);
    for (auto [r, index] : llvm::enumerate(pixels))
      whereItLies(placeOf(phase, index), [&](Indices place) {
        for (size_t p = 0, at = 0; p < pieces.size(); at += pieces[p++]) {
          place[1] = {c.add(column, at), pieces[p] > 1 ? 1 : 0};
          store(place, sums[r * pieces.size() + p], pieces[p]);
        }
      });
  }

  SmallVector<Value> multiply(const Phase &phase, ArrayRef<Value> starts, bool apart, ArrayRef<int64_t> stored,
                              Value group, Value firstColumn, Value column) {
    RegisterTile tile = registers();
    tile.rowsApart = apart && !e.target.multipliesByLane();
    SmallVector<int64_t> pieces = sideBySide ? SmallVector<int64_t>(stored) : tile.wholePieces(stored);
    int64_t size = starts.size() * pieces.size(), sets = sideBySide ? 1 : tile.setsFor(size, channels);
    SmallVector<Value> first = tile.resized(tile.firstSums(op.getBias(), column, starts.size(), stored), pieces);
    llvm::append_range(first, tile.zeros(starts.size() * (sets - 1), pieces));
    // The rows of a group within its panel; where groups stand side by side, a row is all of them.
    Value panel = sideBySide ? firstColumn
                             : c.add(c.mul(c.div(firstColumn, c.i64(width)), c.expr(weight.layout.blockStride)),
                                     c.mul(c.mul(group, channels), width));
    Type leftType = input.type.getElementType();
    std::function<SmallVector<Value>(int64_t, SmallVector<Value>, Value, SmallVector<Value>)> nest =
        [&](int64_t d, SmallVector<Value> from, Value taps, SmallVector<Value> carried) -> SmallVector<Value> {
      if (d == spatial && sideBySide)
        return tile.multiplyGroups(input.pointer, leftType, from, groupColumns, channels, /*swapsPairs=*/false, taps,
                                   pieces, carried);
      if (d == spatial)
        return tile.multiply(input.pointer, leftType, from, taps, c.i64(channels), pieces, sets, /*ahead=*/{}, carried);
      const Phase::Axis &axis = phase.axes[d];
      return c.loop(c.i64(0), axis.count, 1, carried, [&](Value i, ValueRange values) {
        Value back = c.mul(c.mul(i, axes[d].inputStep), c.expr(input.layout.strides[2 + d]));
        Value tap = c.add(axis.first, c.mul(i, axes[d].tapStep));
        SmallVector<Value> moved;
        for (Value start : from)
          moved.push_back(c.sub(start, back));
        return nest(d + 1, moved, c.add(taps, c.mul(tap, c.expr(weight.layout.strides[2 + d]))),
                    llvm::to_vector(values));
      });
    };
    return tile.resized(tile.joinSets(nest(0, llvm::to_vector(starts), panel, first), sets), stored);
  }

  // Phases may have a position less than others along a dimension.
  void whereItLies(const Indices &place, llvm::function_ref<void(Indices)> body) {
    Value isInside;
    for (int64_t d = 0; d < spatial; ++d)
      if (mayEndEarly[d]) {
        Value inside = c.cmp(arith::CmpIPredicate::slt, place[2 + d].base, c.expr(sizesOf(type)[2 + d]));
        isInside = isInside ? c.both(isInside, inside) : inside;
      }
    isInside ? c.when(isInside, [&] { body(place); }) : body(place);
  }

  void store(ArrayRef<Index> place, Value value, int64_t count) {
    Type element = type.getElementType();
    if (registerType(element) != acc)
      value = arith::TruncFOp::create(c.b, c.loc, vectorType(element, count), value);
    k.storeAnchor(place, value, count);
  }

  // Consumers with math functions have all registers to themselves.
  void storeThroughScratch(const Phase &phase, Value row, int64_t rows, ArrayRef<int64_t> pieces, ValueRange sums,
                           Value column, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
      for (size_t p = 0, at = 0; p < pieces.size(); at += pieces[p++])
        c.store(sums[r * pieces.size() + p], k.scratch, c.i64(r * width + at), acc);
    c.loop(rows, [&](Value r) {
      Indices index = e.zeros(type.getRank());
      delinearize(c, c.add(row, r), rowLoops, index);
      whereItLies(placeOf(phase, index), [&](Indices place) {
        int64_t lanes = registers().lanes();
        vectorLoop(c, c.i64(0), c.i64(columns),
                   llvm::bit_floor(uint64_t(std::min(width, schedule.storeVectors * lanes))), lanes,
                   [&](Value at, int64_t count) {
                     place[1] = {c.add(column, at), count > 1 ? 1 : 0};
                     store(place, c.load(k.scratch, c.add(c.mul(r, width), at), acc, count), count);
                   });
      });
    });
  }

  KernelBody &k;
  const TransposedSchedule &schedule;
  Emitter &e;
  Code &c;
  ConvTransposeOp op;
  const Buffer &input, &weight;
  RankedTensorType type;
  SmallVector<PhaseAxis> axes;
  int64_t spatial, groups;
  int64_t channels, groupColumns; // of a group: of the input, of the result
  int64_t tileM, width;           // of the register tile; `width` is that of a panel
  bool sideBySide;
  int64_t panelColumns = 0, ofGroup = 0; // columns that panels divide, and how many panels these are
  Type acc;
  SmallVector<Loop> rowLoops;    // over the pixels of a phase
  SmallVector<bool> mayEndEarly; // along each spatial dimension
  Value rowLow, rowHigh;         // the task's pixels
  bool throughScratch = false;
};

} // namespace

Grid emitTransposed(KernelBody &k, const TransposedSchedule &schedule) { return TransposedConv(k, schedule).emit(); }

} // namespace fathom
