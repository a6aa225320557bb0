// Transposed convolutions, each result element gathered from the inputs whose windows reach it.
#include "compiler/codegen/common/Sequential.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

Grid emitConvTranspose(KernelBody &k, const SequentialSchedule &schedule) {
  Emitter &e = k.e;
  Code &c = e.c;
  auto op = cast<ConvTransposeOp>(k.anchor);
  auto type = op.getType();
  Type element = type.getElementType();
  bool isHalf = element.getIntOrFloatBitWidth() == 16;
  Type acc = isHalf ? Type(c.b.getF32Type()) : element;
  auto widened = [&](Value x) { return isHalf ? arith::ExtFOp::create(c.b, c.loc, acc, x).getResult() : x; };
  Window window = *getWindow(op);
  int64_t spatial = window.kernel.size(), group = op.getGroup();
  Sizes weight = sizesOf(op.getWeight());
  Value channels = c.expr(weight[0].floorDiv(group)), outputs = c.expr(weight[1]);
  return overElements(k, schedule, loopsOver(type, {}), type.getRank(), [&](Indices &index) {
    Value which = c.div(index[1].base, outputs), channel = c.rem(index[1].base, outputs);
    Indices from = index, tap = e.zeros(spatial + 2);
    tap[1] = {channel, 0};
    Value start = c.number(acc, 0);
    if (!isa<NoneType>(op.getBias().getType()))
      start = widened(e.element(op.getBias(), Indices{index[1]}, 1));
    // One loop per spatial dimension over the taps; a tap counts where its input lies on the stride's grid and inside.
    std::function<Value(int64_t, Value)> gather = [&](int64_t d, Value sum) -> Value {
      if (d == spatial)
        return c.loop(c.i64(0), channels, 1, ValueRange{sum}, [&](Value i, ValueRange carried) {
          from[1] = tap[0] = {c.add(c.mul(which, channels), i), 0};
          Value x = widened(e.element(op.getInput(), from, 1)), w = widened(e.element(op.getWeight(), tap, 1));
          Value product = arith::MulFOp::create(c.b, c.loc, x, w);
          return SmallVector<Value>{arith::AddFOp::create(c.b, c.loc, carried[0], product)};
        })[0];
      return c.loop(c.i64(0), c.i64(window.kernel[d]), 1, ValueRange{sum}, [&](Value t, ValueRange carried) {
        Value reach = c.sub(c.add(index[2 + d].base, window.padsBegin[d]), c.mul(t, window.dilations[d]));
        Value stride = c.i64(window.strides[d]), at = c.div(reach, stride);
        Value counts = c.both(c.cmp(arith::CmpIPredicate::eq, c.rem(reach, stride), c.i64(0)),
                              c.both(c.cmp(arith::CmpIPredicate::sge, reach, c.i64(0)),
                                     c.cmp(arith::CmpIPredicate::slt, at, e.size(op.getInput(), 2 + d))));
        Value before = carried[0];
        return SmallVector<Value>{c.when(
            counts,
            [&] {
              from[2 + d] = {at, 0};
              tap[2 + d] = {t, 0};
              return gather(d + 1, before);
            },
            [&] { return before; })};
      })[0];
    };
    Value sum = gather(0, start);
    e.store(k.outputs[0], index, isHalf ? arith::TruncFOp::create(c.b, c.loc, element, sum).getResult() : sum, 1);
  });
}

} // namespace fathom
