// Loops that append to a sequence, as frameworks write lists. Carried, it would be copied in every iteration. Where the
// elements have sizes that are known before the loop, they are stacked instead, in memory that grows by doubling, and
// become a sequence behind it.
#include "compiler/graph/Graph.h"
#include "compiler/import/build/Importer.h"
#include "compiler/import/sequence/Sequence.h"

using namespace mlir;

namespace fathom::importer {

using Values = FailureOr<SmallVector<Value>>;

// How often a graph, and those inside it, name a value.
static unsigned countUses(const onnx::GraphProto &graph, StringRef name) {
  unsigned uses = llvm::count_if(graph.output(), [&](const auto &output) { return StringRef(output.name()) == name; });
  for (const onnx::NodeProto &node : graph.node()) {
    uses += llvm::count(node.input(), name);
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        uses += countUses(attribute.g(), name);
  }
  return uses;
}

// Whether all that the body does with a sequence is to append one element.
static bool isAppended(const onnx::GraphProto &body, const std::string &before, const std::string &after) {
  auto isAppend = [&](const onnx::NodeProto &node) {
    bool isAtEnd = node.input_size() == 2 || (node.input_size() == 3 && node.input(2).empty());
    return node.op_type() == "SequenceInsert" && node.domain().empty() && isAtEnd && node.input(0) == before &&
           node.output_size() == 1 && node.output(0) == after;
  };
  return countUses(body, before) == 1 && countUses(body, after) == 1 && llvm::any_of(body.node(), isAppend);
}

std::optional<Values> Importer::importAppending(Node &node, const onnx::GraphProto &body, ArrayRef<Value> carried,
                                                ArrayRef<std::optional<int64_t>> ranks, Scope &scope) {
  SmallVector<unsigned> appended;
  SmallVector<Value> others;
  SmallVector<std::optional<int64_t>> otherRanks;
  for (auto [i, value] : llvm::enumerate(carried)) {
    if (isSequence(value) && int(2 + i) < body.input_size() &&
        isAppended(body, body.input(2 + i).name(), body.output(1 + i).name())) {
      appended.push_back(i);
      continue;
    }
    others.push_back(value);
    otherRanks.push_back(ranks[i]);
  }
  if (appended.empty())
    return std::nullopt;
  unsigned known = node.symbols().size();
  bool isFit = true;
  auto imported = [&](Value iteration, Value condition, ValueRange values) -> Values {
    // To an empty list the body adds what it would append.
    SmallVector<Value> given(values);
    for (unsigned i : appended)
      given.insert(given.begin() + i, listed(node, {}, elementTypeOf(carried[i])));
    Values made = importBody(node, body, iteration, condition, given, scope);
    if (failed(made))
      return failure();
    for (unsigned i : appended) {
      auto list = (*made)[1 + i].getDefiningOp<graph::ListedOp>();
      llvm::SmallBitVector used;
      isFit &= list && list.getElements().size() == 1;
      if (!isFit)
        return failure();
      for (AffineExpr size : graph::sizesOf(list.getElements().front()))
        graph::collectSymbols(size, used);
      isFit &= used.find_last() < int(known);
      made->push_back(list.getElements().front());
    }
    for (unsigned i : llvm::reverse(appended))
      made->erase(made->begin() + 1 + i);
    return isFit ? made : Values(failure());
  };
  Values made = loopOf(node, node.hasInput(0) ? node.input(0) : Value(), node.hasInput(1) ? node.input(1) : Value(),
                       others, otherRanks, imported);
  if (!isFit)
    return std::nullopt;
  if (failed(made))
    return made;
  SmallVector<Value> stacks(llvm::drop_begin(*made, made->size() - appended.size()));
  made->truncate(made->size() - appended.size());
  for (auto [i, stack] : llvm::zip_equal(appended, stacks)) {
    graph::Sizes sizes = graph::sizesOf(stack);
    Value elements = unstack(node, stack, 0, ArrayRef(sizes).drop_front());
    Value sequence = elements ? sequenceJoined(node, carried[i], elements) : Value();
    if (!sequence)
      return Values(failure());
    made->insert(made->begin() + i, sequence);
  }
  return made;
}

} // namespace fathom::importer
