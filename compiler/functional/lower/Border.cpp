// The model's inputs and outputs: the tensors that the parameters and the result of `main` consist of.
#include "compiler/functional/lower/Evaluate.h"

#include "compiler/functional/syntax/Codes.h"
#include "compiler/graph/Shape.h"

using namespace llvm;

namespace fathom::functional {

ValueRef Evaluator::inputOf(Type *type, const std::string &name, Place place) {
  type = Unifier::known(type);
  if (type->kind == Type::Tuple) {
    std::vector<ValueRef> parts;
    for (auto [i, part] : enumerate(type->parts))
      if (!parts.emplace_back(inputOf(part, name + "." + std::to_string(i), place)))
        return nullptr;
    return makeValue(Value::Tuple, std::move(parts));
  }
  if (type->kind == Type::Data)
    return tableInput(type, name, place);
  if (type->kind != Type::Tensor)
    return hint(source.error(place, notLowered) << "an input cannot be a " << typing.unifier.spell(type),
                "inputs are tensors, tuples and data of them"),
           nullptr;
  return tensorInput(type->sizes, Unifier::known(type->parts[0])->element, name);
}

ValueRef Evaluator::tensorInput(ArrayRef<mlir::AffineExpr> sizes, ElementType element, const std::string &name) {
  onnx::ValueInfoProto &input = *builder.graph().add_input();
  input.set_name(name);
  auto &tensor = *input.mutable_type()->mutable_tensor_type();
  TensorType made{element, {}};
  tensor.set_elem_type(int(element));
  tensor.mutable_shape();
  for (mlir::AffineExpr size : sizes) {
    size = typing.unifier.known(size);
    auto &dim = *tensor.mutable_shape()->add_dim();
    if (std::optional<int64_t> constant = graph::constantSize(size))
      dim.set_dim_value(*constant);
    else
      dim.set_dim_param(typing.unifier.spell(size));
    sizeInputs.try_emplace(size, name, int64_t(made.sizes.size()));
    made.sizes.push_back(size);
  }
  return makeTensor(name, std::move(made));
}

bool Evaluator::addOutputs(const Value &value, const std::string &name, Place place) {
  if (value.kind == Value::Tuple) {
    for (auto [i, part] : enumerate(value.parts))
      if (!addOutputs(*part, name + "." + std::to_string(i), place))
        return false;
    return true;
  }
  if (value.kind != Value::Tensor)
    return hint(source.error(place, notLowered) << "what 'main' gives is neither a tensor nor a tuple of tensors",
                "match it, and give tensors"),
           false;
  onnx::NodeProto &node = builder.node("Identity", {joiner.nameOf(value)}, 1, place);
  node.set_output(0, name);
  builder.graph().add_output()->set_name(name);
  return true;
}

LogicalResult Evaluator::run() {
  const Function &main = *typing.functions.lookup("main");
  std::vector<ValueRef> inputs;
  for (auto [parameter, type] : zip(main.parameters, typing.main->parts))
    if (!inputs.emplace_back(inputOf(type, parameter.name, parameter.place)))
      return failure();
  Bindings none;
  ValueRef result = call(closureOf(main, none), std::move(inputs), main.place, /*isTail=*/false);
  return success(result && addOutputs(*result, "out", main.place));
}

} // namespace fathom::functional
