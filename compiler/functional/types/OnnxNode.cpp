// Operators and constants of a program as ONNX has them.
#include "compiler/functional/types/OpRelation.h"

#include "onnx.pb.h"
#include "llvm/ADT/APFloat.h"

using namespace llvm;

namespace fathom::functional {

void describeNode(const Expr &op, onnx::NodeProto &node) {
  // A quoted name has its domain in front.
  auto [domain, name] = StringRef(op.name).rsplit('.');
  node.set_op_type(name.empty() ? op.name : name.str());
  if (!name.empty())
    node.set_domain(domain.str());
  for (const Attribute &attribute : op.attributes) {
    onnx::AttributeProto &made = *node.add_attribute();
    made.set_name(attribute.name);
    switch (attribute.kind) {
    case Attribute::Int:
    case Attribute::Element:
      made.set_type(onnx::AttributeProto::INT);
      made.set_i(attribute.ints[0]);
      break;
    case Attribute::Float:
      made.set_type(onnx::AttributeProto::FLOAT);
      made.set_f(attribute.floats[0]);
      break;
    case Attribute::String:
      made.set_type(onnx::AttributeProto::STRING);
      made.set_s(attribute.strings[0]);
      break;
    case Attribute::Ints:
      made.set_type(onnx::AttributeProto::INTS);
      for (int64_t value : attribute.ints)
        made.add_ints(value);
      break;
    case Attribute::Floats:
      made.set_type(onnx::AttributeProto::FLOATS);
      for (double value : attribute.floats)
        made.add_floats(value);
      break;
    case Attribute::Strings:
      made.set_type(onnx::AttributeProto::STRINGS);
      for (const std::string &value : attribute.strings)
        made.add_strings(value);
      break;
    }
  }
}

// The bits of an element, and how many bytes they are.
static std::pair<uint64_t, unsigned> bitsOf(const Literal &literal, size_t i) {
  auto floatBits = [&](const fltSemantics &semantics) {
    APFloat value(literal.floats[i]);
    bool losesInfo;
    value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    return value.bitcastToAPInt().getZExtValue();
  };
  switch (literal.element) {
  case ElementType::Float64:
    return {floatBits(APFloat::IEEEdouble()), 8};
  case ElementType::Float32:
    return {floatBits(APFloat::IEEEsingle()), 4};
  case ElementType::Float16:
    return {floatBits(APFloat::IEEEhalf()), 2};
  case ElementType::BFloat16:
    return {floatBits(APFloat::BFloat()), 2};
  case ElementType::Int64:
  case ElementType::UInt64:
    return {literal.integers[i], 8};
  case ElementType::Int32:
  case ElementType::UInt32:
    return {literal.integers[i], 4};
  case ElementType::Int16:
  case ElementType::UInt16:
    return {literal.integers[i], 2};
  default:
    return {literal.integers[i], 1};
  }
}

void describeConstant(const Literal &literal, onnx::TensorProto &tensor) {
  tensor.set_data_type(int(literal.element));
  for (int64_t dim : literal.dims)
    tensor.add_dims(dim);
  std::string bytes;
  for (size_t i = 0; i < std::max(literal.integers.size(), literal.floats.size()); ++i) {
    auto [bits, count] = bitsOf(literal, i);
    for (unsigned byte = 0; byte < count; ++byte)
      bytes.push_back(char(bits >> (8 * byte)));
  }
  tensor.set_raw_data(std::move(bytes));
}

} // namespace fathom::functional
