// The types at a model's border: inputs with their symbols, outputs compared with what the model declares.
#include "compiler/graph/Graph.h"
#include "compiler/import/build/Importer.h"
#include "compiler/import/read/ElementTypes.h"
#include "compiler/import/rules/ml/Ml.h"
#include "compiler/import/sequence/Sequence.h"

using namespace mlir;

namespace fathom::importer {

// An input's own tensor, or that of an optional one; of no dimensions for a sequence, whose elements have sizes of
// their own.
static const onnx::TypeProto::Tensor &tensorOf(const onnx::ValueInfoProto &input) {
  return input.type().has_optional_type() ? input.type().optional_type().elem_type().tensor_type()
                                          : input.type().tensor_type();
}

// Some exporters write a dynamic dimension as -1.
static bool isStatic(const onnx::TensorShapeProto::Dimension &dim) {
  return dim.has_dim_value() && dim.dim_value() != -1;
}

// A dynamic dimension's symbol: its own name, or one made of the input's name and the axis.
static std::string symbolName(const onnx::ValueInfoProto &input, int axis) {
  const auto &dim = tensorOf(input).shape().dim(axis);
  // A question mark is no name: two of them need not be the same size.
  bool isNamed = !dim.dim_param().empty() && dim.dim_param() != "?";
  return isNamed ? dim.dim_param() : input.name() + "." + std::to_string(axis);
}

// An input of which the model does not even say how many dimensions it has; null if there is none.
static const onnx::ValueInfoProto *unrankedInput(const onnx::GraphProto &graph, function_ref<bool(StringRef)> isMeant) {
  auto input = llvm::find_if(graph.input(), [&](const auto &input) {
    return input.type().has_tensor_type() && !input.type().tensor_type().has_shape() && isMeant(input.name());
  });
  return input == graph.input().end() ? nullptr : &*input;
}

static std::string shapeHint(const onnx::ValueInfoProto &input) {
  return "give its sizes or ranges of them, such as --shape " + input.name() + ":1..8x3";
}

// A range for a dimension that the model does not have.
static LogicalResult refuseDim(const onnx::GraphProto &graph, StringRef given, const llvm::StringSet<> &known,
                               Location loc) {
  unsigned axis = 0;
  auto isAxisOf = [&](StringRef input) {
    StringRef rest = given;
    return rest.consume_front(input) && rest.consume_front(".") && !rest.getAsInteger(10, axis);
  };
  if (const onnx::ValueInfoProto *input = unrankedInput(graph, isAxisOf))
    return hint(emitError(loc, ErrorCode::BadInput)
                    << "dimension " << axis << " of input '" << input->name()
                    << "' cannot be given alone: the model does not say how many the input has",
                shapeHint(*input));
  auto diagnostic = emitError(loc, ErrorCode::BadInput) << "the model has no dynamic dimension '" << given << "'";
  SmallVector<StringRef> names(known.keys());
  llvm::sort(names);
  if (!names.empty())
    return hint(std::move(diagnostic), "it has " + llvm::join(names, ", "));
  const onnx::ValueInfoProto *input = unrankedInput(graph, [](StringRef) { return true; });
  return hint(std::move(diagnostic),
              input ? "of input '" + input->name() + "' it does not say how many there are; " + shapeHint(*input)
                    : "all its dimensions are static");
}

// Sorts the ranges that the user gave by symbol, and refuses those that no dynamic dimension of the model answers to.
LogicalResult Importer::checkDimOptions(const onnx::GraphProto &graph) {
  llvm::StringSet<> used, known;
  auto setRange = [&](const std::string &symbol, const std::string &key, DimRange range) -> LogicalResult {
    if (range.max < range.min)
      return emitError(loc, ErrorCode::BadInput) << "the range of dimension '" << key << "' is empty: its minimum "
                                                 << range.min << " is above its maximum " << range.max;
    if (range.min < 0)
      return emitError(loc, ErrorCode::BadInput) << "dimension '" << key << "' cannot be negative: " << range.min;
    auto [it, isNew] = ranges.try_emplace(symbol, range);
    if (!isNew && it->second != range)
      return emitError(loc, ErrorCode::BadInput) << "dimension '" << symbol << "' is given two ranges";
    return success();
  };
  for (const auto &entry : options.shapes) {
    auto input = llvm::find_if(graph.input(), [&](const auto &input) { return input.name() == entry.first(); });
    if (input == graph.input().end())
      return emitError(loc, ErrorCode::BadInput) << "the model has no input '" << entry.first() << "'";
    const auto &shape = tensorOf(*input).shape();
    if (shape.dim_size() != int(entry.second.size()))
      return emitError(loc, ErrorCode::BadInput) << "input '" << entry.first() << "' has " << shape.dim_size()
                                                 << " dimensions, not " << entry.second.size();
    for (auto [axis, range] : llvm::enumerate(entry.second)) {
      const auto &dim = shape.dim(axis);
      if (!isStatic(dim)) {
        if (failed(setRange(symbolName(*input, axis), symbolName(*input, axis), range)))
          return failure();
      } else if (range.min != dim.dim_value() || range.max != dim.dim_value()) {
        return emitError(loc, ErrorCode::BadInput) << "dimension " << axis << " of input '" << entry.first() << "' is "
                                                   << dim.dim_value() << " in the model and cannot be changed";
      }
    }
  }
  for (const auto &input : graph.input())
    for (int axis = 0; axis < tensorOf(input).shape().dim_size(); ++axis) {
      if (isStatic(tensorOf(input).shape().dim(axis)))
        continue;
      std::string symbol = symbolName(input, axis);
      known.insert(symbol);
      for (std::string key : {symbol, input.name() + "." + std::to_string(axis)}) {
        auto given = options.dims.find(key);
        if (given == options.dims.end())
          continue;
        used.insert(key);
        if (failed(setRange(symbol, key, given->second)))
          return failure();
      }
    }
  for (const auto &input : graph.input())
    for (const std::string &symbol : sequenceSymbols(input)) {
      known.insert(symbol);
      auto given = options.dims.find(symbol);
      if (given != options.dims.end() && used.insert(symbol).second && failed(setRange(symbol, symbol, given->second)))
        return failure();
    }
  for (const auto &entry : options.dims)
    if (!used.contains(entry.first()))
      return refuseDim(graph, entry.first(), known, loc);
  return success();
}

FailureOr<AffineExpr> Importer::inputSize(const onnx::ValueInfoProto &input, int axis) {
  const auto &dim = tensorOf(input).shape().dim(axis);
  MLIRContext *context = session.builder.getContext();
  if (isStatic(dim)) {
    if (dim.dim_value() < 0 || dim.dim_value() > INT32_MAX)
      return emitError(loc, ErrorCode::BadShape)
             << "input '" << input.name() << "' has size " << dim.dim_value() << " along axis " << axis;
    return getAffineConstantExpr(dim.dim_value(), context);
  }
  std::string name = symbolName(input, axis);
  DimRange range;
  if (auto it = ranges.find(name); it != ranges.end())
    range = it->second;
  if (range.min == range.max)
    return getAffineConstantExpr(range.min, context);
  auto it = llvm::find_if(symbols, [&](const graph::Symbol &symbol) { return symbol.name == name; });
  unsigned index = it - symbols.begin();
  if (it == symbols.end())
    symbols.push_back({name, range.min, range.max, /*isComputed=*/false, range.likely});
  return getAffineSymbolExpr(index, context);
}

FailureOr<RankedTensorType> Importer::inputType(const onnx::ValueInfoProto &input) {
  const auto &tensor = tensorOf(input);
  Type element = elementTypeFor(tensor.elem_type(), loc, "input '" + input.name() + "'");
  if (!element)
    return failure();
  if (!tensor.has_shape())
    return hint(emitError(loc, ErrorCode::UnsupportedShape)
                    << "the model does not say how many dimensions input '" << input.name() << "' has",
                shapeHint(input));
  if (unsigned(tensor.shape().dim_size()) > options.limits.rank)
    return emitError(loc, ErrorCode::Limit) << "input '" << input.name() << "' has rank " << tensor.shape().dim_size()
                                            << ", the limit is " << options.limits.rank;
  graph::Sizes sizes;
  for (int axis = 0; axis < tensor.shape().dim_size(); ++axis) {
    FailureOr<AffineExpr> size = inputSize(input, axis);
    if (failed(size))
      return failure();
    sizes.push_back(*size);
  }
  return graph::tensorOf(sizes, element);
}

func::FuncOp Importer::importInputs(const onnx::GraphProto &graph, ModuleOp module, Scope &scope) {
  if (failed(checkDimOptions(graph)))
    return {};
  SmallVector<BorderTensor> tensors;
  SmallVector<std::pair<const onnx::ValueInfoProto *, unsigned>> given; // and where its tensors begin
  bool good = true;
  for (const auto &input : graph.input()) {
    // Overriding an initializer at run time is not offered: it is a constant.
    if (scope.initializers.contains(input.name()))
      continue;
    FailureOr<SmallVector<BorderTensor>> parts = SmallVector<BorderTensor>();
    if (input.type().has_tensor_type()) {
      FailureOr<RankedTensorType> type = inputType(input);
      if (failed(type))
        parts = failure();
      else
        parts->push_back({input.name(), "", *type});
    } else {
      parts = compoundInput(input);
    }
    if (failed(parts)) {
      if (!keepGoing)
        return {};
      good = false;
      scope.values[input.name()] = {};
      continue;
    }
    given.push_back({&input, tensors.size()});
    llvm::append_range(tensors, *parts);
  }
  Builder &builder = session.builder;
  graph::setSymbols(module, symbols);
  noted = symbols;
  narrowedBy.resize(symbols.size());
  auto types = llvm::map_to_vector(tensors, [](const BorderTensor &tensor) { return Type(tensor.type); });
  auto main = func::FuncOp::create(session.builder, loc, "main", builder.getFunctionType(types, {}));
  Block *body = main.addEntryBlock();
  session.main = main;
  session.builder.setInsertionPointToStart(body);
  for (auto [i, name] : llvm::enumerate(nameBorders(tensors))) {
    main.setArgAttrs(i, describeBorder(tensors[i], name));
    body->getArgument(i).setLoc(NameLoc::get(builder.getStringAttr(name)));
  }
  for (auto [input, first] : given) {
    if (input->type().has_tensor_type())
      scope.values[input->name()] = body->getArgument(first);
    else if (failed(bindCompound(*input, body->getArguments().drop_front(first), scope)))
      return {};
  }
  failedSignature = !good;
  return main;
}

// Where a declared type says something that the inferred one contradicts; empty if nowhere.
static std::string conflict(const onnx::TypeProto &declared, RankedTensorType inferred) {
  if (!declared.has_tensor_type())
    return declared.value_case() == onnx::TypeProto::VALUE_NOT_SET ? ""
                                                                   : "it is declared as something else than a tensor";
  const auto &tensor = declared.tensor_type();
  Type element = elementTypeFor(tensor.elem_type(), inferred.getContext());
  if (tensor.elem_type() != onnx::TensorProto::UNDEFINED && element != inferred.getElementType())
    return "it is declared with element type " + elementTypeName(tensor.elem_type()) + " and has another";
  if (!tensor.has_shape())
    return "";
  if (tensor.shape().dim_size() != inferred.getRank())
    return "it is declared with rank " + std::to_string(tensor.shape().dim_size()) + " and has " +
           std::to_string(inferred.getRank());
  for (auto [axis, dim] : llvm::enumerate(tensor.shape().dim()))
    if (isStatic(dim) && !inferred.isDynamicDim(axis) && dim.dim_value() != inferred.getDimSize(axis))
      return "it is declared with size " + std::to_string(dim.dim_value()) + " along axis " + std::to_string(axis) +
             " and has " + std::to_string(inferred.getDimSize(axis));
  return "";
}

static bool hasOtherRank(const onnx::TypeProto &declared, Value value) {
  return declared.has_tensor_type() && declared.tensor_type().has_shape() &&
         declared.tensor_type().shape().dim_size() != cast<RankedTensorType>(value.getType()).getRank();
}

void Importer::compareWithInfo(const onnx::TypeProto &declared, Value value, Location at) {
  if (isCompound(value) || isZipMap(value))
    return;
  otherRanks += hasOtherRank(declared, value);
  std::string difference = conflict(declared, cast<RankedTensorType>(value.getType()));
  if (difference.empty() || warned)
    return;
  // One such report is enough: exporters that leave stale shapes leave many.
  warned = true;
  emitWarning(at) << "the model's value_info is wrong and ignored: " << difference;
}

LogicalResult Importer::importOutputs(const onnx::GraphProto &graph, func::FuncOp main, Scope &scope) {
  if (graph.output().empty())
    return emitError(loc, ErrorCode::BadGraph) << "the model has no outputs";
  llvm::StringSet<> names;
  SmallVector<Value> values;
  SmallVector<BorderTensor> tensors;
  for (const auto &output : graph.output()) {
    if (output.name().empty() || !names.insert(output.name()).second)
      return emitError(loc, ErrorCode::BadGraph) << "the output name '" << output.name() << "' is empty or used twice";
    FailureOr<Value> value = valueOf(output.name(), scope);
    if (failed(value))
      return emitError(loc, ErrorCode::BadGraph) << "nothing in the model defines its output '" << output.name() << "'";
    if (!*value)
      return failure();
    if (isCompound(*value) || output.type().has_optional_type()) {
      FailureOr<SmallVector<BorderTensor>> parts = compoundOutput(output, *value, values);
      if (failed(parts))
        return failure();
      llvm::append_range(tensors, *parts);
      continue;
    }
    auto inferred = cast<RankedTensorType>(value->getType());
    if (isZipMap(*value)) {
      values.push_back(*value);
      tensors.push_back({output.name(), "", inferred, value->getDefiningOp()->getAttr(keysAttrName)});
      continue;
    }
    otherRanks += hasOtherRank(output.type(), *value);
    std::string difference = conflict(output.type(), inferred);
    Type element = elementTypeFor(output.type().tensor_type().elem_type(), inferred.getContext());
    if (!difference.empty() && element != inferred.getElementType())
      return emitError(loc, ErrorCode::BadShape) << "output '" << output.name() << "': " << difference;
    // A stale shape is as harmless here as inside the graph.
    if (!difference.empty())
      emitWarning(loc) << "output '" << output.name() << "': " << difference << "; the nodes decide";
    values.push_back(*value);
    tensors.push_back({output.name(), "", inferred});
  }
  if (failedSignature)
    return failure();
  func::ReturnOp::create(session.builder, loc, values);
  main.setFunctionType(session.builder.getFunctionType(main.getArgumentTypes(), ValueRange(values).getTypes()));
  for (auto [i, name] : llvm::enumerate(nameBorders(tensors)))
    main.setResultAttrs(i, describeBorder(tensors[i], name));
  return success();
}

} // namespace fathom::importer
