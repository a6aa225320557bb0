// One table says what operators take for granted; ops that only move or shift integers lead back to the input.
#include "compiler/import/node/ElementRanges.h"

#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"

using namespace mlir;
namespace size = fathom::graph::size;

namespace fathom::importer {
namespace {

// Inclusive; a null end means that it cannot be said.
struct Range {
  AffineExpr low, high;
};

// A node as the table sees it.
struct Use {
  const Attributes &attributes;
  ArrayRef<Value> inputs;
  MLIRContext *context;

  AffineExpr number(int64_t value) const { return getAffineConstantExpr(value, context); }
  Range upTo(AffineExpr high, int64_t low = 0) const { return {number(low), high}; }
  bool has(unsigned input) const { return input < inputs.size() && inputs[input]; }
  int64_t attribute(StringRef name, int64_t absent) const {
    const onnx::AttributeProto *found = attributes.lookup(name);
    return found ? found->i() : absent;
  }
  int64_t rank(unsigned input) const {
    auto type = has(input) ? dyn_cast<RankedTensorType>(inputs[input].getType()) : RankedTensorType();
    return type ? type.getRank() : 0;
  }
  // Null where there is no such dimension.
  AffineExpr size(unsigned input, int64_t axis) const {
    auto dim = graph::normalizeAxis(axis, rank(input));
    return dim ? graph::sizesOf(inputs[input])[*dim] : AffineExpr();
  }
  // Positions in a dimension of that size, of which `taken` are used from there on.
  Range positions(AffineExpr length, AffineExpr taken) const {
    return {number(0), length && taken ? size::sub(length, taken) : AffineExpr()};
  }
  Range positions(AffineExpr length) const { return positions(length, number(1)); }
};

Range alongAxis(const Use &use) { return use.positions(use.size(0, use.attribute("axis", 0))); }

// Every column counts along another dimension, and one range must do for all.
Range tuples(const Use &use) {
  AffineExpr width = use.size(1, -1);
  std::optional<int64_t> columns = width ? graph::constantSize(width) : std::nullopt;
  int64_t first = use.attribute("batch_dims", 0);
  AffineExpr least = columns ? use.size(0, first) : AffineExpr();
  for (int64_t i = 1; least && i < *columns; ++i) {
    AffineExpr other = use.size(0, first + i);
    if (!other)
      return {};
    if (size::isAtLeast(least, other))
      least = other;
    else if (!size::isAtLeast(other, least))
      return {};
  }
  return use.positions(least);
}

Range recurrentLengths(const Use &use) { return use.upTo(use.size(0, use.attribute("layout", 0) ? 1 : 0), 1); }
Range reversedLengths(const Use &use) { return use.upTo(use.size(0, use.attribute("time_axis", 0)), 1); }
Range counts(const Use &use) { return use.upTo(use.size(0, use.attribute("axis", -1)), 1); }
Range divisors(const Use &use) { return use.upTo(use.number(100), 1); }
Range repeats(const Use &use) { return use.upTo(use.number(3), 1); }
Range trips(const Use &use) { return use.upTo(use.number(10)); }
Range freeSizes(const Use &use) { return use.upTo(use.number(16), 1); }
Range firstPosition(const Use &use) { return use.upTo(use.number(0)); }
Range axes(const Use &use) { return use.positions(use.number(use.rank(0))); }

// GroupQueryAttention: all positions of a cache that has room for them, else those so far and the new ones.
AffineExpr totalLength(const Use &use) {
  AffineExpr sequence = use.size(0, 1), past = use.size(3, 2);
  if (use.has(6))
    if (auto known = graph::elementsOf(use.inputs[6]); known && known->size() == 1)
      return known->front();
  if (!past)
    return sequence;
  bool hasRoom = graph::constantSize(past).value_or(0) > 0;
  return hasRoom ? past : size::add(past, sequence);
}
Range lastPositions(const Use &use) {
  AffineExpr total = totalLength(use), last = total ? size::add(total, -1) : AffineExpr();
  return {last, last};
}
Range totalLengths(const Use &use) {
  AffineExpr total = totalLength(use);
  return {total, total};
}

Range rotaryPositions(const Use &use, unsigned table, unsigned positions) {
  AffineExpr rows = use.size(table, 0);
  // One number is where all sequences start.
  bool isStart = use.rank(positions) == 1;
  AffineExpr taken = isStart ? use.size(0, use.rank(0) == 4 ? 2 : 1) : use.number(1);
  return use.positions(rows, taken);
}
Range microsoftRotary(const Use &use) { return rotaryPositions(use, 2, 1); }
Range rotary(const Use &use) { return rotaryPositions(use, 1, 3); }
Range groupQueryRotary(const Use &use) { return rotaryPositions(use, 7, 9); }

Range cachePlaces(const Use &use) {
  int64_t axis = use.attribute("axis", -2);
  return use.positions(use.size(0, axis), use.size(1, axis));
}
Range keyLengths(const Use &use) { return use.upTo(use.size(1, -2), 1); }

struct Entry {
  StringLiteral op;
  unsigned input;
  Range (*range)(const Use &use);
};

// Where not every integer will do. Operators that clamp or ignore what is outside, such as Slice and OneHot, are not
// here.
constexpr Entry table[] = {
    {"Gather", 1, alongAxis},
    {"GatherElements", 1, alongAxis},
    {"GatherND", 1, tuples},
    {"Scatter", 1, alongAxis},
    {"ScatterElements", 1, alongAxis},
    {"ScatterND", 1, tuples},
    {"TensorScatter", 2, cachePlaces},
    {"RNN", 4, recurrentLengths},
    {"GRU", 4, recurrentLengths},
    {"LSTM", 4, recurrentLengths},
    {"DynamicQuantizeLSTM", 4, recurrentLengths},
    {"ReverseSequence", 1, reversedLengths},
    {"TopK", 1, counts},
    {"CumSum", 1, axes},
    {"Div", 1, divisors},
    {"Mod", 1, divisors},
    {"Tile", 1, repeats},
    {"Pad", 1, repeats},
    {"Loop", 0, trips},
    {"ConstantOfShape", 0, freeSizes},
    {"SequenceAt", 1, firstPosition},
    {"SequenceErase", 1, firstPosition},
    {"SequenceInsert", 2, firstPosition},
    {"Attention", 6, keyLengths},
    {"GroupQueryAttention", 5, lastPositions},
    {"GroupQueryAttention", 6, totalLengths},
    {"GroupQueryAttention", 9, groupQueryRotary},
};

class Notes {
public:
  explicit Notes(func::FuncOp main) : main(main) {}

  // What a value may be, told to the arguments whose elements it has.
  void tell(Value value, Range range) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!range.low || !range.high || !type || !type.getElementType().isInteger() || !seen.insert(value).second)
      return;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == &main.getBody().front())
        add(argument.getArgNumber(), range);
      return;
    }
    llvm::TypeSwitch<Operation *>(value.getDefiningOp())
        .Case<graph::CastOp, graph::IdentityOp, graph::ReshapeOp, graph::FlattenOp, graph::SqueezeOp,
              graph::UnsqueezeOp, graph::TransposeOp, graph::ExpandOp, graph::TileOp, graph::SliceOp,
              graph::DynamicSliceOp, graph::SplitOp, graph::GatherOp, graph::GatherElementsOp, graph::GatherNDOp>(
            [&](Operation *op) { tell(op->getOperand(0), range); })
        .Case([&](graph::ConcatOp op) {
          for (Value operand : op->getOperands())
            tell(operand, range);
        })
        .Case([&](graph::WhereOp op) {
          tell(op->getOperand(1), range);
          tell(op->getOperand(2), range);
        })
        .Case<graph::AddOp, graph::SubOp>([&](Operation *op) { tellShifted(op, range); })
        .Case([&](graph::ReduceSumOp op) { tellSummands(op, range); });
  }

private:
  // x + c, x - c and c - x.
  void tellShifted(Operation *op, Range range) {
    bool isSum = isa<graph::AddOp>(op);
    for (unsigned i : {0, 1}) {
      AffineExpr shift = onlyElement(op->getOperand(1 - i));
      if (!shift)
        continue;
      Value other = op->getOperand(i);
      if (isSum)
        tell(other, {size::sub(range.low, shift), size::sub(range.high, shift)});
      else if (i == 0)
        tell(other, {size::add(range.low, shift), size::add(range.high, shift)});
      else
        tell(other, {size::sub(shift, range.high), size::sub(shift, range.low)});
    }
  }

  // A sum of n numbers is within n times the range of one.
  void tellSummands(Operation *op, Range range) {
    Value from = op->getOperand(0);
    AffineExpr all = graph::product(graph::sizesOf(from), op->getContext());
    AffineExpr sums = graph::product(graph::sizesOf(op->getResult(0)), op->getContext());
    if (AffineExpr each = all && sums ? size::exactDiv(all, sums) : AffineExpr())
      tell(from, {size::exactDiv(range.low, each), size::exactDiv(range.high, each)});
  }

  // The value that all elements have, where it is known.
  static AffineExpr onlyElement(Value value) {
    auto elements = graph::elementsOf(value);
    return elements && !elements->empty() && llvm::all_equal(*elements) ? elements->front() : AffineExpr();
  }

  void add(unsigned argument, Range range) {
    graph::SymbolList symbols = graph::getSymbols(main->getParentOfType<ModuleOp>());
    if (graph::isComputed(range.low, symbols) || graph::isComputed(range.high, symbols))
      return;
    SmallVector<AffineExpr> ends;
    if (auto known = main.getArgAttrOfType<AffineMapAttr>(argument, valuesAttrName))
      llvm::append_range(ends, known.getValue().getResults());
    constexpr size_t most = 16;
    for (size_t i = 0; i < ends.size(); i += 2)
      if ((ends[i] == range.low && ends[i + 1] == range.high) || ends.size() >= most)
        return;
    ends.append({range.low, range.high});
    main.setArgAttr(argument, valuesAttrName, AffineMapAttr::get(graph::shapeMapOf(ends, main.getContext())));
  }

  func::FuncOp main;
  llvm::SmallDenseSet<Value> seen;
};

} // namespace

void noteElementRanges(const onnx::NodeProto &node, const Attributes &attributes, ArrayRef<Value> inputs,
                       func::FuncOp main) {
  Use use{attributes, inputs, main.getContext()};
  auto tell = [&](unsigned input, Range (*range)(const Use &)) {
    if (use.has(input))
      Notes(main).tell(inputs[input], range(use));
  };
  for (const Entry &entry : table)
    if (entry.op == node.op_type())
      tell(entry.input, entry.range);
  // The operator of this name has its inputs in another order in each of its domains.
  if (node.op_type() == "RotaryEmbedding")
    node.domain() == "com.microsoft" ? tell(1, microsoftRotary) : tell(3, rotary);
}

} // namespace fathom::importer
