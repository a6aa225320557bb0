// Sequences and optionals as results of branches and as what loops carry: a value is taken apart into tensors, which
// the graph ops know, and put together again behind them.
#include "compiler/graph/Graph.h"
#include "compiler/import/sequence/Sequence.h"

using namespace mlir;

namespace fathom::importer {

using Values = FailureOr<SmallVector<Value>>;

Kind kindOf(Node &node, Value value) {
  Kind kind;
  if (isOptional(value)) {
    auto op = value.getDefiningOp<graph::MaybeOp>();
    auto known = graph::constantElementsOf(op.getPresent());
    kind = kindOf(node, op.getValue());
    kind.isOptional = true;
    if (known)
      kind.present = known->front() != 0;
    // A filler has no rank of its own.
    if (kind.present == false) {
      kind.rank = std::nullopt;
      kind.sizes.assign(1, untold);
    }
    return kind;
  }
  if (isSequence(value)) {
    kind.element = elementTypeOf(value);
    kind.rank = rankOf(node, value);
    auto list = value.getDefiningOp<graph::ListedOp>();
    kind.form = list ? Kind::Listed : Kind::Packed;
    if (list)
      for (Value element : list.getElements())
        kind.ranks.push_back(cast<RankedTensorType>(element.getType()).getRank());
    kind.sizes = commonSizes(value, kind.rank.value_or(1));
    return kind;
  }
  auto type = cast<RankedTensorType>(value.getType());
  kind.element = type.getElementType();
  kind.rank = type.getRank();
  return kind;
}

static StringRef wording(const Kind &kind) { return kind.form == Kind::Tensor ? "a tensor" : "a sequence"; }

std::optional<Kind> join(Node &node, const Kind &a, const Kind &b) {
  Kind kind = a;
  bool isTensor = a.form == Kind::Tensor;
  // Node::branch and Node::loop know better what to say about plain tensors that differ, and what can be done.
  if (isTensor && b.form == Kind::Tensor && !a.isOptional && !b.isOptional)
    return kind;
  if (isTensor != (b.form == Kind::Tensor) || a.element != b.element) {
    node.error(ErrorCode::BadType) << "a value is " << wording(a) << " of " << graph::elementText(a.element)
                                   << " in one case and " << wording(b) << " of " << graph::elementText(b.element)
                                   << " in another";
    return std::nullopt;
  }
  kind.isOptional = a.isOptional || b.isOptional;
  if (kind.isOptional) {
    std::optional<bool> x = a.isOptional ? a.present : true, y = b.isOptional ? b.present : true;
    kind.present = x == y ? x : std::nullopt;
  }
  if (!isTensor && (a.form != b.form || a.ranks != b.ranks)) {
    kind.form = Kind::Packed;
    kind.ranks.clear();
  }
  kind.rank = a.rank ? a.rank : b.rank;
  int64_t dimensions = kind.rank.value_or(1);
  if (kind.form == Kind::Packed)
    kind.sizes = commonSizes(forRank(a.sizes, dimensions), forRank(b.sizes, dimensions));
  if (a.rank && b.rank && *a.rank != *b.rank && kind.form != Kind::Listed) {
    hint(node.error(ErrorCode::UnsupportedShape) << "the elements of a sequence or optional have rank " << *a.rank
                                                 << " in one case and " << *b.rank << " in another",
         "only sizes may differ between the branches of an If or the iterations of a Loop");
    return std::nullopt;
  }
  return kind;
}

unsigned countTensors(const Kind &kind) {
  unsigned content = kind.form == Kind::Tensor ? 1 : kind.form == Kind::Packed ? 2 : kind.ranks.size();
  return content + kind.isOptional;
}

Values takeApart(Node &node, Value value, const Kind &kind) {
  SmallVector<Value> tensors;
  bool isAbsent = false;
  if (kind.isOptional) {
    auto op = isOptional(value) ? value.getDefiningOp<graph::MaybeOp>() : graph::MaybeOp();
    tensors.push_back(op ? Value(op.getPresent()) : node.scalar(1, node.builder().getI1Type(), "present"));
    auto known = graph::constantElementsOf(tensors.back());
    isAbsent = known && !known->front();
    value = op ? Value(op.getValue()) : value;
  }
  if (kind.form == Kind::Tensor) {
    tensors.push_back(isAbsent ? filler(node, kind.element, kind.rank.value_or(0)) : value);
  } else if (kind.form == Kind::Listed && !isAbsent) {
    llvm::append_range(tensors, value.getDefiningOp<graph::ListedOp>().getElements());
  } else if (kind.form == Kind::Listed) {
    for (int64_t rank : kind.ranks)
      tensors.push_back(filler(node, kind.element, rank));
  } else {
    Packed parts = pack(node, isAbsent ? listed(node, {}, kind.element) : value, kind.rank);
    tensors.append({parts.data, parts.shapes});
  }
  if (llvm::is_contained(tensors, Value()))
    return failure();
  return tensors;
}

Value putTogether(Node &node, ValueRange tensors, const Kind &kind) {
  Value present;
  if (kind.isOptional) {
    present = kind.present ? node.scalar(*kind.present, node.builder().getI1Type(), "present") : tensors.front();
    tensors = tensors.drop_front();
  }
  Value value = kind.form == Kind::Tensor   ? tensors.front()
                : kind.form == Kind::Listed ? listed(node, tensors, kind.element)
                                            : packed(node, tensors[0], tensors[1], kind.sizes);
  return kind.isOptional ? maybe(node, present, value) : value;
}

static SmallVector<Value> putAllTogether(Node &node, ArrayRef<Value> tensors, ArrayRef<Kind> kinds) {
  SmallVector<Value> values;
  for (const Kind &kind : kinds) {
    values.push_back(putTogether(node, tensors.take_front(countTensors(kind)), kind));
    tensors = tensors.drop_front(countTensors(kind));
  }
  llvm::append_range(values, tensors);
  return values;
}

// An empty list is of every rank, but its tensors need one. What stands in for it is never to be run.
static bool needsRank(Value value, const Kind &kind) {
  Value content = isOptional(value) ? value.getDefiningOp<graph::MaybeOp>().getValue() : value;
  return kind.form == Kind::Packed && !kind.rank && content.getDefiningOp<graph::ListedOp>();
}

// The tensors of values of these kinds, one after the other; `open` are those that lack a rank.
static Values takeEachApart(Node &node, ValueRange values, ArrayRef<Kind> kinds, SmallVectorImpl<unsigned> &open) {
  SmallVector<Value> tensors;
  for (auto [i, value, kind] : llvm::enumerate(values, kinds)) {
    if (needsRank(value, kind))
      open.push_back(i);
    Values parts = takeApart(node, value, kind);
    if (failed(parts))
      return failure();
    llvm::append_range(tensors, *parts);
  }
  return tensors;
}

// Takes values apart in the kinds given, or says that those are too narrow: then they are widened, and it starts again.
static Values takeAllApart(Node &node, ValueRange values, MutableArrayRef<Kind> kinds, bool &isWidened,
                           SmallVectorImpl<unsigned> &open) {
  for (auto [value, kind] : llvm::zip(values, kinds)) {
    std::optional<Kind> both = join(node, kind, kindOf(node, value));
    if (!both)
      return failure();
    isWidened |= !(*both == kind);
    kind = *both;
  }
  if (isWidened)
    return failure();
  Values parts = takeEachApart(node, values.take_front(kinds.size()), kinds, open);
  if (failed(parts))
    return failure();
  SmallVector<Value> tensors = std::move(*parts);
  for (Value value : values.drop_front(kinds.size())) {
    if (isCompound(value))
      return node.error(ErrorCode::BadType) << "only tensors can be stacked";
    tensors.push_back(value);
  }
  return tensors;
}

// A rank that nothing tells does not matter. Returns whether there was one.
static bool closeRanks(MutableArrayRef<Kind> kinds, ArrayRef<unsigned> open) {
  for (unsigned i : open) {
    kinds[i].rank = 0;
    kinds[i].sizes.clear();
  }
  return !open.empty();
}

// A kind is widened by its form, its rank and its being optional.
constexpr unsigned mostRounds = 16;

Values branchOf(Node &node, Value condition, Node::BranchBody body) {
  std::optional<SmallVector<Kind>> kinds;
  for (unsigned round = 0; round < mostRounds; ++round) {
    bool isWidened = false;
    SmallVector<unsigned> open;
    Values made = node.branch(condition, [&](bool isThen) -> Values {
      Values values = body(isThen);
      if (failed(values))
        return failure();
      if (!kinds)
        kinds = llvm::map_to_vector<4>(*values, [&](Value value) { return kindOf(node, value); });
      return takeAllApart(node, *values, *kinds, isWidened, open);
    });
    if (failed(made) && !isWidened)
      return failure();
    if (isWidened)
      continue;
    if (!closeRanks(*kinds, open))
      return putAllTogether(node, *made, *kinds);
    made->front().getDefiningOp()->erase();
  }
  return node.error(ErrorCode::UnsupportedShape) << "what the branches give cannot be brought into one form";
}

struct LoopMade {
  SmallVector<Value> tensors;
  SmallVector<Kind> kinds;
  SmallVector<unsigned> empty; // sequences to which no iteration adds an element
  SmallVector<Value> values(Node &node) const {
    SmallVector<Value> all = putAllTogether(node, tensors, kinds);
    // They are still of every rank.
    for (unsigned i : empty)
      all[i] = listed(node, {}, kinds[i].element);
    return all;
  }
};

// The loop for these kinds of what it carries, or wider ones.
static FailureOr<LoopMade> loopFrom(Node &node, Value trip, Value condition, ValueRange carried,
                                    SmallVector<Kind> kinds, Node::LoopBody body) {
  SmallVector<unsigned> empty;
  for (unsigned round = 0; round < mostRounds; ++round) {
    bool isWidened = false;
    SmallVector<unsigned> open;
    Values tensors = takeEachApart(node, carried, kinds, open);
    if (failed(tensors))
      return failure();
    auto bodyOfTensors = [&](Value iteration, Value goesOn, ValueRange values) -> Values {
      SmallVector<Value> given(values);
      Values made = body(iteration, goesOn, putAllTogether(node, given, kinds));
      if (failed(made))
        return failure();
      Values apart = takeAllApart(node, ValueRange(*made).drop_front(), kinds, isWidened, open);
      if (succeeded(apart))
        apart->insert(apart->begin(), made->front());
      return apart;
    };
    Values made = node.loop(trip, condition, *tensors, bodyOfTensors);
    if (isWidened)
      continue;
    if (failed(made))
      return failure();
    for (unsigned i : open)
      if (!kinds[i].isOptional && kinds[i].sizes == SmallVector<int64_t>{untold} && !llvm::is_contained(empty, i))
        empty.push_back(i);
    if (!closeRanks(kinds, open))
      return LoopMade{std::move(*made), std::move(kinds), std::move(empty)};
    made->front().getDefiningOp()->erase();
  }
  return node.error(ErrorCode::UnsupportedShape) << "what the loop carries cannot be brought into one form";
}

// The same without a report. Where it fails, ranges of symbols are what they were.
static FailureOr<LoopMade> tryLoopFrom(Node &node, Value trip, Value condition, ValueRange carried,
                                       ArrayRef<Kind> kinds, Node::LoopBody body) {
  graph::SymbolList before = node.symbols();
  ScopedDiagnosticHandler quiet(node.context(), [](Diagnostic &) { return success(); });
  FailureOr<LoopMade> made = loopFrom(node, trip, condition, carried, SmallVector<Kind>(kinds), body);
  if (failed(made))
    for (auto [i, symbol] : llvm::enumerate(before))
      node.limitSymbol(getAffineSymbolExpr(i, node.context()), symbol.min, symbol.max);
  return made;
}

// A body that reads an element before it adds one depends on a rank that only its end tells. It is the declared one if
// that agrees with the end, or the only one that does.
static void guessRanks(Node &node, Value trip, Value condition, ValueRange carried, SmallVectorImpl<Kind> &kinds,
                       ArrayRef<std::optional<int64_t>> declared, Node::LoopBody body) {
  SmallVector<SmallVector<Kind>> found;
  auto tryRank = [&](std::optional<int64_t> rank) {
    SmallVector<Kind> guess(kinds.begin(), kinds.end());
    for (auto [value, kind, own] : llvm::zip_equal(carried, guess, declared))
      if (needsRank(value, kind)) {
        kind.rank = rank ? rank : own;
        kind.sizes = forRank(kind.sizes, kind.rank.value_or(1));
      }
    bool wasGuess = node.setGuess(true);
    FailureOr<LoopMade> made = tryLoopFrom(node, trip, condition, carried, guess, body);
    node.setGuess(wasGuess);
    if (failed(made))
      return;
    made->tensors.front().getDefiningOp()->erase();
    found.push_back(std::move(guess));
  };
  tryRank(std::nullopt);
  constexpr int64_t highest = 6;
  for (int64_t rank = 0; rank <= highest && !(found.size() == 1 && rank == 0); ++rank)
    tryRank(rank);
  if (found.size() == 1)
    kinds = found.front();
}

Values loopOf(Node &node, Value trip, Value condition, ValueRange carried, ArrayRef<std::optional<int64_t>> ranks,
              Node::LoopBody body) {
  SmallVector<Kind> kinds;
  bool isOpen = false, isAbsent = false;
  for (Value value : carried) {
    Kind &kind = kinds.emplace_back(kindOf(node, value));
    isAbsent |= kind.present == false;
    if (kind.form != Kind::Tensor) {
      kind.form = Kind::Packed;
      kind.ranks.clear();
    }
    isOpen |= needsRank(value, kind);
  }
  // An optional that is absent has any rank until an iteration gives it one.
  if (isAbsent) {
    FailureOr<LoopMade> made = tryLoopFrom(node, trip, condition, carried, kinds, body);
    if (succeeded(made))
      return made->values(node);
  }
  for (Kind &kind : kinds)
    kind.present = std::nullopt;
  if (isOpen) {
    FailureOr<LoopMade> made = tryLoopFrom(node, trip, condition, carried, kinds, body);
    if (succeeded(made))
      return made->values(node);
    guessRanks(node, trip, condition, carried, kinds, ranks, body);
  }
  FailureOr<LoopMade> made = loopFrom(node, trip, condition, carried, kinds, body);
  if (failed(made))
    return failure();
  return made->values(node);
}

} // namespace fathom::importer
