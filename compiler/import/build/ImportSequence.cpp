// Sequences and optionals at a model's border, where each is a group of tensors, and SequenceMap.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/graph/SmallTypes.h"
#include "compiler/import/build/Importer.h"
#include "compiler/import/read/DeclaredType.h"
#include "compiler/import/rules/ml/Ml.h"
#include "compiler/import/sequence/Sequence.h"

using namespace mlir;

namespace fathom::importer {

using Values = FailureOr<SmallVector<Value>>;

// A node that stands for an input or output while ops are made for it.
static onnx::NodeProto nodeFor(const std::string &name) {
  onnx::NodeProto proto;
  proto.set_name(name);
  proto.add_output(name);
  return proto;
}

// Whether the model calls a dimension of its inputs so.
static bool isDimension(const onnx::GraphProto &graph, StringRef name) {
  return llvm::any_of(graph.input(), [&](const onnx::ValueInfoProto &input) {
    const onnx::TypeProto::Tensor *tensor = tensorIn(input.type());
    return tensor &&
           llvm::any_of(tensor->shape().dim(), [&](const auto &dim) { return StringRef(dim.dim_param()) == name; });
  });
}

SmallVector<std::string> Importer::sequenceSymbols(const onnx::ValueInfoProto &input) {
  const onnx::TypeProto &type =
      input.type().has_optional_type() ? input.type().optional_type().elem_type() : input.type();
  SmallVector<std::string> names;
  if (!type.has_sequence_type())
    return names;
  for (const char *what : {"values", "length", "rank"}) {
    names.push_back(input.name() + "." + what);
    while (isDimension(model->graph(), names.back()))
      names.back() += "'";
  }
  return names;
}

FailureOr<SmallVector<Importer::BorderTensor>> Importer::compoundInput(const onnx::ValueInfoProto &input) {
  std::optional<DeclaredType> declared = readType(input.type(), loc, "input '" + input.name() + "'");
  if (!declared)
    return failure();
  if (declared->rank.value_or(0) > int64_t(options.limits.rank))
    return emitError(loc, ErrorCode::Limit)
           << "input '" << input.name() << "' has rank " << *declared->rank << ", the limit is " << options.limits.rank;
  MLIRContext *context = session.builder.getContext();
  SmallVector<BorderTensor> tensors;
  if (declared->isOptional)
    tensors.push_back({input.name(), "present", RankedTensorType::get({}, session.builder.getI1Type())});
  if (declared->isSequence) {
    auto newSize = [&](const std::string &name, DimRange range) -> AffineExpr {
      if (auto given = ranges.find(name); given != ranges.end())
        range = given->second;
      if (range.min == range.max)
        return getAffineConstantExpr(range.min, context);
      symbols.push_back({name, range.min, range.max, /*isComputed=*/false, range.likely});
      return getAffineSymbolExpr(symbols.size() - 1, context);
    };
    SmallVector<std::string> names = sequenceSymbols(input);
    AffineExpr values = newSize(names[0], {/*min=*/0}), length = newSize(names[1], {/*min=*/0});
    // A rank of 0 is what models declare that know nothing.
    AffineExpr rank = declared->rank.value_or(0) ? getAffineConstantExpr(*declared->rank, context)
                                                 : newSize(names[2], {/*min=*/0, /*max=*/int64_t(options.limits.rank)});
    tensors.push_back({input.name(), "data", graph::tensorOf({values}, declared->element)});
    tensors.push_back({input.name(), "shapes", graph::tensorOf({length, rank}, session.builder.getI64Type())});
  } else {
    FailureOr<RankedTensorType> type = inputType(input);
    if (failed(type))
      return failure();
    tensors.push_back({input.name(), "value", *type});
  }
  return tensors;
}

// How many sizes of elements are none that a tensor may have, and how many elements have too many values, which the
// product of their sizes may hide by overflowing: floating point does not.
static Value countWrongSizes(Node &node, const Packed &parts) {
  Type i64 = node.builder().getI64Type(), f64 = node.builder().getF64Type();
  auto without = node.attr("keepdims", int64_t(0));
  auto as = [&](Value value, Type type, StringRef name) {
    return node.emit("Cast", value, node.attr("to", TypeAttr::get(type)), name);
  };
  auto count = [&](Value flags, StringRef name) { return node.emit("ReduceSum", as(flags, i64, name), without, name); };
  Value isNegative = node.emit("Less", {parts.shapes, node.scalar(0, i64, "zero")}, {}, "is_negative");
  Value isHuge = node.emit("Greater", {parts.shapes, node.scalar(INT32_MAX, i64, "largest_size")}, {}, "is_huge");
  Value counts =
      node.emit("ReduceProd", {as(parts.shapes, f64, "sizes"), node.ints({1}, "axis")}, without, "rough_counts");
  Value tooMany = node.emit("Greater", {counts, node.scalar(INT32_MAX, f64, "most_values")}, {}, "too_many");
  return node.emit(
      "Add",
      {count(node.emit("Or", {isNegative, isHuge}, {}, "is_wrong"), "wrong_sizes"), count(tooMany, "wrong_elements")},
      {}, "wrong");
}

// What a caller gives is checked before anything relies on it: sizes are possible, and there are as many values as they
// say.
static LogicalResult checkPacked(Node &node, const Packed &parts) {
  auto without = node.attr("keepdims", int64_t(0));
  Value wrong = countWrongSizes(node, parts);
  Value counts = node.emit("ReduceProd", {parts.shapes, node.ints({1}, "axis")}, without, "counts");
  Value total = counts ? node.pinned(node.emit("ReduceSum", counts, without, "total"), "total") : Value();
  wrong = node.pinned(wrong, "wrong");
  if (!total || !wrong)
    return failure();
  AffineExpr sum = graph::elementsOf(total)->front(), values = graph::sizesOf(parts.data)[0];
  assertNotNegative(node, {graph::size::mul(graph::elementsOf(wrong)->front(), -1), graph::size::sub(sum, values),
                           graph::size::sub(values, sum)});
  return success();
}

LogicalResult Importer::bindCompound(const onnx::ValueInfoProto &input, ValueRange arguments, Scope &scope) {
  std::optional<DeclaredType> declared = readType(input.type(), loc, "input '" + input.name() + "'");
  onnx::NodeProto proto = nodeFor(input.name());
  Node node(session, proto, {}, {}, scope.opsets.lookup(""), "");
  ValueRange content = arguments.drop_front(declared->isOptional);
  Value value = content.front();
  if (declared->isSequence) {
    if (failed(checkPacked(node, {content[0], content[1]})))
      return failure();
    value = packed(node, content[0], content[1]);
    if (declared->rank == 0)
      value.getDefiningOp<graph::PackedOp>().setScalars(true);
  }
  scope.values[input.name()] = declared->isOptional ? maybe(node, arguments.front(), value) : value;
  return success();
}

static bool holdsNothing(Value value) {
  Value content = isOptional(value) ? value.getDefiningOp<graph::MaybeOp>().getValue() : value;
  auto list = content.getDefiningOp<graph::ListedOp>();
  return list && list.getElements().empty();
}

FailureOr<SmallVector<Importer::BorderTensor>> Importer::compoundOutput(const onnx::ValueInfoProto &output, Value value,
                                                                        SmallVectorImpl<Value> &values) {
  onnx::NodeProto proto = nodeFor(output.name());
  Node node(session, proto, {}, {}, 0, "");
  // A loop may carry an optional that is always there in the end, where the model says so.
  if (isOptional(value) && !output.type().has_optional_type() &&
      output.type().value_case() != onnx::TypeProto::VALUE_NOT_SET)
    if (value = contentOf(node, value); !value)
      return failure();
  Kind kind = kindOf(node, value);
  kind.isOptional |= output.type().has_optional_type();
  kind.present = std::nullopt;
  if (kind.form != Kind::Tensor) {
    kind.form = Kind::Packed;
    kind.ranks.clear();
  }
  const onnx::TypeProto::Tensor *declared = tensorIn(output.type());
  if (!kind.rank && declared && declared->has_shape())
    kind.rank = declared->shape().dim_size();
  // An empty sequence is of every rank, an absent tensor too.
  if (!kind.rank && (kind.form == Kind::Tensor || holdsNothing(value)))
    kind.rank = 0;
  Values parts = takeApart(node, value, kind);
  if (failed(parts))
    return failure();
  SmallVector<StringRef> names;
  if (kind.isOptional)
    names.push_back("present");
  if (kind.form == Kind::Tensor)
    names.push_back("value");
  else
    names.append({"data", "shapes"});
  SmallVector<BorderTensor> tensors;
  for (auto [name, part] : llvm::zip_equal(names, *parts))
    tensors.push_back({output.name(), name, cast<RankedTensorType>(part.getType())});
  llvm::append_range(values, *parts);
  return tensors;
}

SmallVector<std::string> Importer::nameBorders(ArrayRef<BorderTensor> tensors) {
  // What is a tensor of its own keeps its name, whatever others are called.
  auto keepsName = [](const BorderTensor &tensor) { return tensor.part.empty() || tensor.part == "value"; };
  llvm::StringSet<> taken;
  for (const BorderTensor &tensor : tensors)
    if (keepsName(tensor))
      taken.insert(tensor.of);
  SmallVector<std::string> names;
  for (const BorderTensor &tensor : tensors) {
    std::string name = tensor.of;
    if (!keepsName(tensor))
      for (name += "." + tensor.part.str(); !taken.insert(name).second;)
        name += "'";
    names.push_back(name);
  }
  return names;
}

SmallVector<NamedAttribute> Importer::describeBorder(const BorderTensor &tensor, StringRef name) {
  Builder &builder = session.builder;
  SmallVector<NamedAttribute> attrs{builder.getNamedAttr("graph.name", builder.getStringAttr(name))};
  if (!tensor.part.empty()) {
    attrs.push_back(builder.getNamedAttr("graph.of", builder.getStringAttr(tensor.of)));
    attrs.push_back(builder.getNamedAttr("graph.part", builder.getStringAttr(tensor.part)));
  }
  if (Type element = tensor.type.getElementType(); graph::isSmall(element))
    attrs.push_back(builder.getNamedAttr(graph::smallTypeAttrName, TypeAttr::get(element)));
  if (tensor.keys)
    attrs.push_back(builder.getNamedAttr(keysAttrName, tensor.keys));
  return attrs;
}

void Importer::eraseCompounds(ModuleOp module) {
  SmallVector<Operation *> compounds;
  module.walk([&](Operation *op) {
    if (isa<graph::ListedOp, graph::PackedOp, graph::MaybeOp>(op))
      compounds.push_back(op);
  });
  for (Operation *op : llvm::reverse(compounds))
    op->erase();
}

Values Importer::importMap(Node &node, const Attributes &attributes, Scope &scope) {
  const onnx::GraphProto *graph = graphOf(node, attributes, "body");
  if (!graph)
    return failure();
  SmallVector<Value> inputs;
  for (Value input : node.allInputs())
    inputs.push_back(isOptional(input) ? contentOf(node, input) : input);
  if (inputs.empty() || llvm::is_contained(inputs, Value()) || !isSequence(inputs.front()))
    return node.error(ErrorCode::BadType) << "SequenceMap needs a sequence as its first input";
  AffineExpr length = lengthOf(node, inputs.front());
  bool areListed = true;
  for (Value input : inputs) {
    if (!isSequence(input))
      continue;
    areListed &= bool(input.getDefiningOp<graph::ListedOp>());
    AffineExpr other = lengthOf(node, input);
    if (graph::constantSize(length) && graph::constantSize(other) && length != other)
      return node.error(ErrorCode::BadShape) << "its sequences have " << *graph::constantSize(length) << " and "
                                             << *graph::constantSize(other) << " elements";
    assertNotNegative(node, {graph::size::sub(length, other), graph::size::sub(other, length)},
                      "its sequences differ in length");
  }
  // The elements that the body gets for one position.
  auto argumentsAt = [&](Value position) {
    return llvm::map_to_vector(
        inputs, [&](Value input) { return isSequence(input) ? sequenceAt(node, input, position) : input; });
  };
  auto bodyAt = [&](Value position) -> Values {
    SmallVector<Value> arguments = argumentsAt(position);
    return llvm::is_contained(arguments, Value()) ? Values(failure()) : importGraph(*graph, arguments, scope, node, "");
  };
  // A sequence with what the body gave for a position; a body whose declaration was wrong may give anything.
  auto appended = [&](Value sequence, Value value) -> Value {
    if (!isCompound(value))
      return sequenceInsert(node, sequence, value, Value());
    node.error(ErrorCode::BadType) << "its body must give tensors";
    return {};
  };
  SmallVector<Value> results;
  for (const auto &output : graph->output()) {
    std::optional<DeclaredType> declared = readType(output.type(), node.loc(), "output '" + output.name() + "'");
    if (!declared)
      return failure();
    if (declared->isSequence || declared->isOptional)
      return node.error(ErrorCode::BadType) << "its body must give tensors";
    results.push_back(listed(node, {}, declared->element));
  }
  if (areListed) {
    for (int64_t i = 0; i < *graph::constantSize(length); ++i) {
      Values made = bodyAt(node.scalar(i, node.builder().getI64Type(), "position"));
      if (failed(made))
        return failure();
      for (auto [result, value] : llvm::zip_equal(results, *made))
        if (result = appended(result, value); !result)
          return failure();
    }
    return results;
  }
  auto body = [&](Value iteration, Value condition, ValueRange carried) -> Values {
    Values made = bodyAt(iteration);
    if (failed(made))
      return failure();
    SmallVector<Value> next{condition};
    for (auto [sequence, value] : llvm::zip_equal(carried, *made))
      if (next.push_back(appended(sequence, value)); !next.back())
        return failure();
    return next;
  };
  return loopOf(node, sizeScalar(node, length, "length"), Value(), results,
                SmallVector<std::optional<int64_t>>(results.size()), body);
}

} // namespace fathom::importer
