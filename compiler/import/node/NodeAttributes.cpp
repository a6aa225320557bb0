// The attributes of a node: typed reading, and conversion to the attributes of a graph op.
#include "compiler/import/node/Node.h"
#include "compiler/import/node/Wording.h"
#include "compiler/import/read/ElementTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using onnx::AttributeProto;

namespace fathom::importer {

const AttributeProto *Node::takeAttr(StringRef name, AttributeProto::AttributeType type) {
  auto it = attributes.find(name);
  if (it == attributes.end())
    return nullptr;
  const AttributeProto *attribute = it->second;
  attributes.erase(it);
  if (attribute->type() == type)
    return attribute;
  error(ErrorCode::BadAttribute) << "attribute '" << name << "' of " << this->type() << " has type "
                                 << AttributeProto::AttributeType_Name(attribute->type()) << ", expected "
                                 << AttributeProto::AttributeType_Name(type);
  failedReading = true;
  return nullptr;
}

int64_t Node::intAttr(StringRef name, int64_t absent) {
  const AttributeProto *attribute = takeAttr(name, AttributeProto::INT);
  return attribute ? attribute->i() : absent;
}

double Node::floatAttr(StringRef name, double absent) {
  const AttributeProto *attribute = takeAttr(name, AttributeProto::FLOAT);
  return attribute ? attribute->f() : absent;
}

StringRef Node::stringAttr(StringRef name, StringRef absent) {
  const AttributeProto *attribute = takeAttr(name, AttributeProto::STRING);
  return attribute ? StringRef(attribute->s()) : absent;
}

std::optional<SmallVector<int64_t>> Node::intsAttr(StringRef name) {
  const AttributeProto *attribute = takeAttr(name, AttributeProto::INTS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<SmallVector<double>> Node::floatsAttr(StringRef name) {
  const AttributeProto *attribute = takeAttr(name, AttributeProto::FLOATS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<double>(attribute->floats().begin(), attribute->floats().end());
}

std::optional<SmallVector<StringRef>> Node::stringsAttr(StringRef name) {
  const AttributeProto *attribute = takeAttr(name, AttributeProto::STRINGS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<StringRef>(attribute->strings().begin(), attribute->strings().end());
}

ElementsAttr Node::tensorAttr(StringRef name) {
  const AttributeProto *attribute = takeAttr(name, AttributeProto::TENSOR);
  if (!attribute)
    return {};
  return cast_or_null<ElementsAttr>(convert(*attribute));
}

Type Node::typeAttr(StringRef name) {
  const AttributeProto *attribute = takeAttr(name, AttributeProto::INT);
  if (!attribute)
    return {};
  return elementTypeOf(attribute->i(), name);
}

const onnx::TypeProto *Node::typeProtoAttr(StringRef name) {
  const AttributeProto *attribute = takeAttr(name, AttributeProto::TYPE_PROTO);
  return attribute ? &attribute->tp() : nullptr;
}

Type Node::elementTypeOf(int64_t onnxType, StringRef attribute) {
  // Out of int's range is out of the enumeration's range too.
  int number = onnxType == int(onnxType) ? int(onnxType) : -1;
  Type type = elementTypeFor(number, location, "attribute '" + attribute + "' of " + this->type());
  // Strings are compared and moved, but nothing makes new ones.
  if (type && graph::isString(type)) {
    error(ErrorCode::UnsupportedType) << "attribute '" << attribute << "' of " << this->type()
                                      << " has element type STRING, which is not supported";
    type = {};
  }
  failedReading |= !type;
  return type;
}

// Null, with a report, for what has no counterpart.
Attribute Node::convert(const AttributeProto &attribute) {
  Builder &builder = session.builder;
  switch (attribute.type()) {
  case AttributeProto::INT:
    return builder.getI64IntegerAttr(attribute.i());
  case AttributeProto::FLOAT:
    return builder.getF32FloatAttr(attribute.f());
  case AttributeProto::STRING:
    return builder.getStringAttr(attribute.s());
  case AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(SmallVector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
  case AttributeProto::FLOATS:
    return builder.getDenseF32ArrayAttr(SmallVector<float>(attribute.floats().begin(), attribute.floats().end()));
  case AttributeProto::STRINGS:
    return builder.getStrArrayAttr(SmallVector<StringRef>(attribute.strings().begin(), attribute.strings().end()));
  case AttributeProto::TENSOR: {
    FailureOr<ElementsAttr> tensor = session.loader.load(attribute.t(), nameFor(attribute.name()), location);
    failedReading |= failed(tensor);
    return succeeded(tensor) ? Attribute(*tensor) : Attribute();
  }
  case AttributeProto::UNDEFINED:
    error(ErrorCode::BadAttribute) << "attribute '" << attribute.name() << "' of " << type() << " has no type";
    break;
  default:
    error(ErrorCode::UnsupportedAttribute)
        << "attribute '" << attribute.name() << "' of " << type() << " has type "
        << AttributeProto::AttributeType_Name(attribute.type()) << ", which is not supported";
  }
  failedReading = true;
  return {};
}

FailureOr<SmallVector<NamedAttribute>> Node::takeAttrs(StringRef op) {
  OperationName name(("graph." + op).str(), context());
  NamedAttrList list;
  // Taking an attribute changes the map, so the names come first.
  for (StringRef key : llvm::to_vector(llvm::make_first_range(attributes))) {
    if (!llvm::is_contained(name.getAttributeNames(), key))
      continue; // checkAllRead() reports it
    if (key == "to" || key == "dtype") {
      if (Type type = typeAttr(key))
        list.set(key, TypeAttr::get(type));
      continue;
    }
    const AttributeProto *attribute = attributes.find(key)->second;
    attributes.erase(key);
    if (Attribute value = convert(*attribute))
      list.set(key, value);
  }
  if (failedReading || failed(checkAllRead()))
    return failure();
  std::string message;
  {
    ScopedDiagnosticHandler handler(context(), [&](Diagnostic &diagnostic) {
      message = diagnostic.str();
      return success();
    });
    if (succeeded(name.verifyInherentAttrs(list, [&] { return mlir::emitError(location); })))
      message.clear();
  }
  if (!message.empty())
    return error(ErrorCode::BadAttribute) << inOnnxWords(message, op);
  return SmallVector<NamedAttribute>(list.getAttrs());
}

LogicalResult Node::checkAllRead() {
  if (failedReading)
    return failure();
  for (const auto &[name, attribute] : attributes)
    return error(ErrorCode::UnsupportedAttribute)
           << "attribute '" << name << "' of " << type() << " (operator set " << version << ") is not known";
  return success();
}

NamedAttribute Node::attr(StringRef name, int64_t value) { return attr(name, builder().getI64IntegerAttr(value)); }
NamedAttribute Node::attr(StringRef name, StringRef value) { return attr(name, builder().getStringAttr(value)); }
NamedAttribute Node::attr(StringRef name, Attribute value) { return builder().getNamedAttr(name, value); }
NamedAttribute Node::floatAttrOf(StringRef name, double value) { return attr(name, builder().getF32FloatAttr(value)); }

} // namespace fathom::importer
