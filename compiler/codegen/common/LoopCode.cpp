// Emits loops.
#include "compiler/codegen/common/LoopCode.h"

using namespace mlir;

namespace fathom {

void delinearize(Code &c, Value position, ArrayRef<Loop> loops, Indices &index) {
  for (size_t i = loops.size(); i-- > 0;) {
    Value size = c.expr(loops[i].size);
    index[loops[i].dim] = {i == 0 ? position : c.rem(position, size), 0};
    position = i == 0 ? position : c.div(position, size);
  }
}

void vectorLoop(Code &c, Value lower, Value upper, int64_t wide, int64_t narrow,
                llvm::function_ref<void(Value, int64_t)> body) {
  SmallVector<int64_t, 3> widths{wide};
  if (narrow < wide)
    widths.push_back(narrow);
  if (widths.back() > 1)
    widths.push_back(1);
  vectorLoop(c, lower, upper, widths, body);
}

void vectorLoop(Code &c, Value lower, Value upper, ArrayRef<int64_t> widths,
                llvm::function_ref<void(Value, int64_t)> body) {
  Value at = lower;
  for (int64_t lanes : widths) {
    Value end = upper;
    if (lanes > 1) {
      Value count = c.sub(upper, at);
      end = c.sub(upper, c.rem(count, c.i64(lanes)));
    }
    c.loop(at, end, lanes, [&](Value i) { body(i, lanes); });
    at = end;
  }
}

} // namespace fathom
