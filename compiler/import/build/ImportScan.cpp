// Scan: a loop over slices of its inputs, and for operator set 8 one for every entry of the batch.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/build/Importer.h"
#include "compiler/import/sequence/Sequence.h"

using namespace mlir;

namespace fathom::importer {

using Values = FailureOr<SmallVector<Value>>;

// Directions and axes concern how slices are taken and laid down.
Values Importer::scan(Node &node, const Scan &what, ArrayRef<Value> states, ArrayRef<Value> scanned, Value trip,
                      Scope &scope) {
  Value last;
  if (llvm::any_of(what.inputWays, [](int64_t isReverse) { return isReverse != 0; }))
    last = node.emit("Sub", {trip, node.scalar(1, node.builder().getI64Type(), "one")}, {}, "last");
  auto body = [&](Value iteration, Value condition, ValueRange values) -> Values {
    SmallVector<Value> given(values);
    for (auto [i, input] : llvm::enumerate(scanned)) {
      Value at = what.inputWays[i] ? node.emit("Sub", {last, iteration}, {}, "at") : iteration;
      Value slice = node.emit("Gather", {input, at}, node.attr("axis", what.inputAxes[i]), "slice");
      if (!slice)
        return failure();
      given.push_back(slice);
    }
    Values made = importGraph(*what.body, given, scope, node, "");
    if (failed(made))
      return failure();
    if (llvm::any_of(*made, isCompound))
      return node.error(ErrorCode::BadType) << "its body must give tensors";
    made->insert(made->begin(), condition);
    return made;
  };
  Values results = node.loop(trip, Value(), states, body);
  if (failed(results))
    return failure();
  for (auto [i, stacked] : llvm::enumerate(MutableArrayRef(*results).drop_front(states.size()))) {
    int64_t rank = cast<RankedTensorType>(stacked.getType()).getRank();
    if (what.outputWays[i])
      stacked = node.emit("Slice",
                          {stacked, node.ints({-1}, "from"), node.ints({INT64_MIN}, "to"), node.ints({0}, "axis"),
                           node.ints({-1}, "step")},
                          {}, "reversed");
    auto axis = graph::normalizeAxis(what.outputAxes[i], rank);
    if (!axis)
      return node.error(ErrorCode::BadAttribute) << "scan_output_axes is out of range";
    if (!stacked || *axis == 0)
      continue;
    SmallVector<int64_t> perm;
    for (int64_t d = 1; d <= *axis; ++d)
      perm.push_back(d);
    perm.push_back(0);
    for (int64_t d = *axis + 1; d < rank; ++d)
      perm.push_back(d);
    stacked = node.emit("Transpose", stacked, node.attr("perm", node.builder().getDenseI64ArrayAttr(perm)), "axis");
  }
  return results;
}

Values Importer::importScan(Node &node, const Attributes &attributes, Scope &scope) {
  Scan what;
  what.body = graphOf(node, attributes, "body");
  if (!what.body)
    return failure();
  bool isBatched = node.opset() < 9;
  SmallVector<Value> all = node.allInputs();
  Value lengths = isBatched && node.hasInput(0) ? all.front() : Value();
  if (isBatched && !all.empty())
    all.erase(all.begin());
  int64_t scanned = node.intAttr("num_scan_inputs", 0), inputs = all.size();
  if (scanned < 1 || scanned > inputs)
    return node.error(ErrorCode::BadAttribute) << "num_scan_inputs is " << scanned << " for " << inputs << " inputs";
  if (auto absent = llvm::find_if(all, [](Value value) { return isa<NoneType>(value.getType()); }); absent != all.end())
    return node.error(ErrorCode::BadGraph) << "input " << absent - all.begin() + isBatched << " of Scan is missing";
  int64_t states = inputs - scanned, outputs = what.body->output_size() - states;
  if (outputs < 0)
    return node.error(ErrorCode::BadGraph) << "its body gives fewer values than it has states";
  auto listOf = [&](StringRef name, int64_t count) {
    auto list = node.intsAttr(name).value_or(SmallVector<int64_t>(count, 0));
    list.resize(count);
    return list;
  };
  what.inputWays = listOf(isBatched ? "directions" : "scan_input_directions", scanned);
  what.inputAxes = listOf("scan_input_axes", scanned);
  what.outputAxes = listOf("scan_output_axes", outputs), what.outputWays = listOf("scan_output_directions", outputs);
  AffineExpr batch, length;
  auto sizesFor = [&](Value value) -> std::optional<graph::Sizes> {
    graph::Sizes sizes = graph::sizesOf(value);
    if (!isBatched)
      return sizes;
    if (sizes.empty())
      return node.error(ErrorCode::BadShape) << "inputs of Scan must have a dimension for the batch", std::nullopt;
    batch = batch ? batch : sizes.front();
    if (failed(node.requireSame(batch, sizes.front(), "the batches of inputs")))
      return std::nullopt;
    return graph::Sizes(llvm::drop_begin(sizes));
  };
  for (auto [i, value] : llvm::enumerate(all)) {
    std::optional<graph::Sizes> sizes = sizesFor(value);
    if (!sizes)
      return failure();
    if (int64_t(i) < states)
      continue;
    if (sizes->empty())
      return node.error(ErrorCode::BadShape) << "input " << i + isBatched << " of Scan has no dimension to scan along";
    auto axis = graph::normalizeAxis(what.inputAxes[i - states], sizes->size());
    if (!axis)
      return node.error(ErrorCode::BadAttribute) << "scan_input_axes is out of range";
    what.inputAxes[i - states] = *axis;
    length = length ? length : (*sizes)[*axis];
    if (failed(node.requireSame(length, (*sizes)[*axis], "the scanned inputs")))
      return failure();
  }
  Value trip = node.sizesValue({length}, /*isScalar=*/true, "length");
  if (!isBatched)
    return scan(node, what, ArrayRef(all).take_front(states), ArrayRef(all).drop_front(states), trip, scope);
  if (lengths && (!sizesFor(lengths) || getElementTypeOrSelf(lengths) != node.builder().getI64Type()))
    return node.error(ErrorCode::BadType) << "input 0 of Scan, the lengths, must be an int64 for each of the batch";
  if (lengths && failed(node.requireBelow(lengths, graph::size::add(length, 1),
                                          "sequence_lens is negative or above the length of what is scanned")))
    return failure();
  // Every entry of the batch is scanned on its own, as far as it reaches; what is behind that is 0.
  auto body = [&](Value entry, Value condition, ValueRange) -> Values {
    auto own = [&](Value value) { return node.emit("Gather", {value, entry}, {}, "own"); };
    SmallVector<Value> parts = llvm::map_to_vector(all, own);
    Value reach = lengths ? own(lengths) : trip;
    if (!reach || llvm::is_contained(parts, Value()))
      return failure();
    Values made =
        scan(node, what, ArrayRef(parts).take_front(states), ArrayRef(parts).drop_front(states), reach, scope);
    if (failed(made))
      return failure();
    for (Value &stacked : MutableArrayRef(*made).drop_front(states)) {
      graph::Sizes sizes = graph::sizesOf(stacked);
      AffineExpr rest = graph::size::sub(length, sizes.front());
      SmallVector<AffineExpr> pads(2 * sizes.size(), getAffineConstantExpr(0, node.context()));
      pads[sizes.size()] = rest;
      if (!graph::isConstant(rest, 0))
        stacked = node.emit("Pad", {stacked, node.sizesValue(pads, false, "pads")}, {}, "filled");
      if (!stacked)
        return failure();
    }
    made->insert(made->begin(), condition);
    return made;
  };
  return node.loop(node.sizesValue({batch}, /*isScalar=*/true, "batch"), Value(), {}, body);
}

} // namespace fathom::importer
