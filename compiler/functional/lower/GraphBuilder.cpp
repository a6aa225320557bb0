// Adds nodes to graphs; constants are initializers of the whole model, where branches see them.
#include "compiler/functional/lower/GraphBuilder.h"

#include "compiler/graph/Shape.h"
#include "compiler/import/read/ModelCheck.h"

using namespace llvm;

namespace fathom::functional {

GraphBuilder::GraphBuilder(StringRef name) {
  model.set_ir_version(10);
  model.set_producer_name("fathom");
  model.mutable_graph()->set_name(name.str());
  model.add_opset_import()->set_version(importer::newestOpset);
  graphs.push_back(model.mutable_graph());
}

void GraphBuilder::enter(onnx::GraphProto &graph) {
  graph.set_name("part");
  graphs.push_back(&graph);
}

void GraphBuilder::splice(onnx::GraphProto &branch) {
  for (onnx::NodeProto &node : *branch.mutable_node())
    *graph().add_node() = std::move(node);
}

// No name of the program has such signs in it.
std::string GraphBuilder::fresh(StringRef op, Place place) {
  std::string name = (op + "@" + place.text()).str();
  if (unsigned count = uses[name]++)
    name += "#" + std::to_string(count + 1);
  made.try_emplace(name, made.size());
  return name;
}

onnx::NodeProto &GraphBuilder::node(StringRef op, ArrayRef<std::string> operands, unsigned results, Place place) {
  onnx::NodeProto &node = *graph().add_node();
  node.set_op_type(op.str());
  for (const std::string &operand : operands)
    node.add_input(operand);
  for (unsigned i = 0; i < results; ++i)
    node.add_output(fresh(op, place));
  node.set_name(node.output(0));
  return node;
}

onnx::NodeProto &GraphBuilder::node(const Expr &op, ArrayRef<std::string> operands) {
  onnx::NodeProto &made = node(op.name, operands, op.index, op.place);
  describeNode(op, made);
  if (!made.domain().empty() &&
      none_of(model.opset_import(), [&](const auto &opset) { return opset.domain() == made.domain(); })) {
    auto *opset = model.add_opset_import();
    opset->set_domain(made.domain());
    opset->set_version(1);
  }
  return made;
}

std::string GraphBuilder::constant(const Literal &literal) {
  onnx::TensorProto tensor;
  describeConstant(literal, tensor);
  auto [entry, isNew] = constants.try_emplace(tensor.SerializeAsString());
  if (isNew) {
    entry->second = "constant@" + std::to_string(constants.size());
    tensor.set_name(entry->second);
    *model.mutable_graph()->add_initializer() = std::move(tensor);
  }
  return entry->second;
}

std::string GraphBuilder::input(const TensorType &type, Place place) {
  onnx::ValueInfoProto &input = *graph().add_input();
  input.set_name(fresh("carried", place));
  auto &tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(int(type.element));
  tensor.mutable_shape();
  for (mlir::AffineExpr size : type.sizes) {
    auto &dim = *tensor.mutable_shape()->add_dim();
    if (std::optional<int64_t> constant = graph::constantSize(size))
      dim.set_dim_value(*constant);
  }
  return input.name();
}

} // namespace fathom::functional
