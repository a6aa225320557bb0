// The ops made for a node: created with their result types inferred, named after the node's first output.
#include "compiler/import/node/Node.h"
#include "compiler/graph/Graph.h"
#include "compiler/import/node/Scales.h"
#include "compiler/import/node/Wording.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;

namespace fathom::importer {

static std::string locationName(const onnx::NodeProto &proto, StringRef prefix) {
  return (prefix + nameOf(proto)).str();
}

Node::Node(Session &session, const onnx::NodeProto &proto, Attributes attributes, SmallVector<Value> inputs,
           int64_t opset, std::string prefix)
    : session(session), proto(proto), attributes(std::move(attributes)), inputs(std::move(inputs)), version(opset),
      prefix(std::move(prefix)),
      location(NameLoc::get(session.builder.getStringAttr(locationName(proto, this->prefix)))),
      outputCount(proto.output_size()) {
  while (!this->inputs.empty() && !this->inputs.back())
    this->inputs.pop_back();
  while (outputCount > 0 && proto.output(outputCount - 1).empty())
    --outputCount;
}

SmallVector<Value> Node::allInputs() {
  SmallVector<Value> all;
  for (unsigned i = 0; i < inputs.size(); ++i)
    all.push_back(input(i));
  return all;
}

// Names inside the main graph are unique as they stand; those made here and those of inlined functions may need a
// number.
std::string Node::nameFor(StringRef suffix) {
  std::string base = prefix;
  for (unsigned i = 0; i < outputCount; ++i)
    if (hasOutput(i)) {
      base += output(i);
      break;
    }
  if (suffix.empty() && prefix.empty())
    return base;
  if (!suffix.empty())
    base += ("." + suffix).str();
  std::string name = base;
  for (unsigned i = 1; !session.names.insert(name).second; ++i)
    name = base + "." + std::to_string(i);
  return name;
}

TypedAttr numberOf(double value, Type element) {
  if (isa<FloatType>(element))
    return FloatAttr::get(element, value);
  // Values from a model may lie outside the type; they saturate, and NaN is 0.
  llvm::APSInt integer(element.getIntOrFloatBitWidth(), element.isUnsignedInteger() || element.isInteger(1));
  bool exact;
  APFloat(value).convertToInteger(integer, APFloat::rmTowardZero, &exact);
  return IntegerAttr::get(element, integer);
}

Value Node::none() {
  if (!session.none) {
    OpBuilder::InsertionGuard guard(session.builder);
    session.builder.setInsertionPointToStart(&session.main.getBody().front());
    session.none = graph::NoneOp::create(session.builder, builder().getUnknownLoc(), builder().getNoneType());
  }
  return session.none;
}

Value Node::constant(ElementsAttr value, StringRef suffix) {
  if (!value)
    return {};
  auto op = graph::ConstantOp::create(session.builder, location, value.getType(), value);
  op->setAttr("graph.name", builder().getStringAttr(nameFor(suffix)));
  return op;
}

Value Node::ints(ArrayRef<int64_t> values, StringRef suffix) {
  auto type = RankedTensorType::get({int64_t(values.size())}, builder().getI64Type());
  return constant(DenseElementsAttr::get(type, values), suffix);
}

Value Node::strings(ArrayRef<StringRef> values, StringRef suffix) {
  SmallVector<int64_t> codes;
  for (StringRef value : values)
    codes.push_back(codeOf(value));
  auto type = RankedTensorType::get({int64_t(values.size())}, graph::stringType(context()));
  return table(ArrayRef(reinterpret_cast<const char *>(codes.data()), codes.size() * sizeof(int64_t)), type, suffix);
}

Value Node::table(ArrayRef<char> bytes, RankedTensorType type, StringRef suffix) {
  // Small ones fold and print.
  constexpr int64_t smallElements = 1024;
  if (type.getNumElements() == 0)
    return constant(DenseElementsAttr::get(type, ArrayRef<Attribute>()), suffix);
  if (type.getNumElements() <= smallElements)
    return constant(DenseElementsAttr::getFromRawBuffer(type, bytes), suffix);
  AsmResourceBlob blob = HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, /*align=*/8, /*dataIsMutable=*/false);
  return constant(DenseResourceElementsAttr::get(type, nameFor(suffix), std::move(blob)), suffix);
}

Value Node::scalar(double value, Type element, StringRef suffix) {
  auto type = RankedTensorType::get({}, element);
  return constant(DenseElementsAttr::get(type, Attribute(numberOf(value, element))), suffix);
}

std::optional<unsigned> arityOf(OperationName op) {
  if (op.hasTrait<OpTrait::ZeroOperands>())
    return 0;
  if (op.hasTrait<OpTrait::OneOperand>())
    return 1;
  if (op.hasTrait<OpTrait::NOperands<2>::Impl>())
    return 2;
  if (op.hasTrait<OpTrait::NOperands<3>::Impl>())
    return 3;
  if (op.hasTrait<OpTrait::NOperands<4>::Impl>())
    return 4;
  if (op.hasTrait<OpTrait::NOperands<5>::Impl>())
    return 5;
  if (op.hasTrait<OpTrait::NOperands<6>::Impl>())
    return 6;
  if (op.hasTrait<OpTrait::NOperands<7>::Impl>())
    return 7;
  if (op.hasTrait<OpTrait::NOperands<8>::Impl>())
    return 8;
  if (op.hasTrait<OpTrait::NOperands<9>::Impl>())
    return 9;
  return std::nullopt;
}

Operation *Node::create(StringRef op, ValueRange given, ArrayRef<NamedAttribute> attrs, unsigned numResults,
                        StringRef suffix) {
  SmallVector<Value> operands(given);
  if (failedReading || llvm::is_contained(operands, Value()) || !alignForBroadcast(op, operands, attrs))
    return nullptr;
  OperationState state(location, ("graph." + op).str());
  state.addOperands(operands);
  std::optional<unsigned> arity = arityOf(state.name);
  for (unsigned i = operands.size(); arity && i < *arity; ++i)
    state.addOperands(none());
  state.addAttributes(attrs);
  state.addAttribute("graph.name", builder().getStringAttr(nameFor(suffix)));
  // The shape function trusts what the definition promises, so that is checked first, with stand-ins for the results.
  state.addTypes(SmallVector<Type>(numResults, RankedTensorType::get({}, builder().getF32Type())));
  Operation *created = builder().create(state);
  std::string message;
  {
    ScopedDiagnosticHandler handler(context(), [&](Diagnostic &diagnostic) {
      message = diagnostic.str();
      return success();
    });
    if (succeeded(created->getName().verifyInvariants(created)))
      message.clear();
  }
  if (!message.empty()) {
    // Required inputs that are absent show as operands of type none.
    error(StringRef(message).contains("operand") ? ErrorCode::BadGraph : ErrorCode::BadAttribute)
        << inOnnxWords(message, op);
  } else {
    graph::CollectAssumptions assumptions;
    OpBuilder::InsertionGuard guard(session.builder);
    session.builder.setInsertionPoint(created);
    if (succeeded(graph::inferResultTypes(created)) && succeeded(checkAssumptions(assumptions)) &&
        succeeded(checkScales(created)))
      return created;
  }
  created->erase();
  return nullptr;
}

Value Node::emit(StringRef op, ValueRange operands, ArrayRef<NamedAttribute> attrs, StringRef suffix) {
  Operation *created = create(op, operands, attrs, 1, suffix);
  return created ? created->getResult(0) : Value();
}

Value Node::tryEmit(StringRef op, ValueRange operands, ArrayRef<NamedAttribute> attrs, StringRef suffix) {
  ScopedDiagnosticHandler quiet(context(), [](Diagnostic &) { return success(); });
  return emit(op, operands, attrs, suffix);
}

LogicalResult Node::finishAs(StringRef op, ValueRange operands, ArrayRef<NamedAttribute> more) {
  FailureOr<SmallVector<NamedAttribute>> attrs = takeAttrs(op);
  if (failed(attrs))
    return failure();
  attrs->append(more.begin(), more.end());
  return finish(emit(op, operands, *attrs));
}

LogicalResult Node::finish(ValueRange results) {
  if (failed(checkAllRead()) || llvm::is_contained(results, Value()))
    return failure();
  for (unsigned i = 0; i < outputCount; ++i)
    if (hasOutput(i) && i >= results.size())
      return error(ErrorCode::UnsupportedAttribute)
             << "output " << i << " ('" << output(i) << "') of " << type() << " is not supported";
  values.assign(results.begin(), results.end());
  return success();
}

} // namespace fathom::importer
