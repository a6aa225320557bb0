// Asks the importer about a model of one node and reads the answer from the module: the types of what it returns, and
// what it found out about the sizes that it takes.
#include "compiler/functional/types/OpRelation.h"

#include "compiler/functional/syntax/Literals.h"
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/Import.h"
#include "compiler/import/read/ElementTypes.h"
#include "compiler/import/read/ModelCheck.h"
#include "compiler/support/ErrorCodeText.h"
#include "onnx.pb.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace fathom::functional {
namespace {

// The sizes of a question and the names that they have in the model.
class SizeNames {
public:
  explicit SizeNames(MLIRContext *context) : context(context) {}
  void describe(const TensorType &type, onnx::ValueInfoProto &input) {
    auto &tensor = *input.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(int(type.element));
    tensor.mutable_shape();
    for (AffineExpr size : type.sizes) {
      auto &dim = *tensor.mutable_shape()->add_dim();
      if (std::optional<int64_t> constant = graph::constantSize(size))
        dim.set_dim_value(*constant);
      else
        dim.set_dim_param("s" + std::to_string(sizes.insert({size, sizes.size()}).first->second));
    }
  }
  // The size that is meant by one of the module; null if it is none of the question's.
  AffineExpr meant(AffineExpr size, const graph::SymbolList &symbols) {
    llvm::DenseMap<AffineExpr, AffineExpr> found;
    llvm::SmallBitVector used;
    graph::collectSymbols(size, used);
    for (unsigned position : used.set_bits()) {
      AffineExpr whole = ofSymbol(symbols[position]);
      if (!whole)
        return {};
      found[getAffineSymbolExpr(position, context)] = whole;
    }
    AffineExpr replaced = size.replace(found), canonical = graph::size::canonical(replaced);
    return canonical ? canonical : replaced;
  }
  AffineExpr ofSymbol(const graph::Symbol &symbol) {
    unsigned index;
    StringRef name = symbol.name;
    if (symbol.isComputed || !name.consume_front("s") || name.getAsInteger(10, index) || index >= sizes.size())
      return {};
    return sizes.begin()[index].first;
  }

  // A message of the importer's with the program's names for sizes.
  std::string rename(StringRef text, llvm::function_ref<std::string(AffineExpr)> spell) {
    std::string made;
    while (!text.empty()) {
      StringRef rest = text;
      unsigned index;
      bool begins = made.empty() || !llvm::isAlnum(made.back());
      if (begins && rest.consume_front("s") && !rest.consumeInteger(10, index) && index < sizes.size()) {
        made += spell(sizes.begin()[index].first);
        text = rest;
      } else {
        made += text.front();
        text = text.drop_front();
      }
    }
    return made;
  }

private:
  MLIRContext *context;
  llvm::MapVector<AffineExpr, unsigned> sizes;
};

TensorType typeOf(RankedTensorType type, SizeNames &names, const graph::SymbolList &symbols) {
  TensorType made;
  Type element = type.getElementType();
  for (const ElementName &entry : elementNames)
    if (importer::elementTypeFor(int(entry.type), type.getContext()) == element)
      made.element = entry.type;
  for (AffineExpr size : graph::sizesOf(type))
    made.sizes.push_back(names.meant(size, symbols));
  return made;
}

} // namespace

Related OpRelations::ask(const Expr &op, llvm::ArrayRef<std::optional<Operand>> operands) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  auto *opset = model.add_opset_import();
  opset->set_version(importer::newestOpset);
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name("op");
  onnx::NodeProto &node = *graph.add_node();
  describeNode(op, node);
  if (!node.domain().empty()) {
    opset = model.add_opset_import();
    opset->set_domain(node.domain());
    opset->set_version(1);
  }
  node.set_name("op");
  SizeNames names(context);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    std::string name = operand ? "x" + std::to_string(i) : "";
    node.add_input(name);
    if (!operand)
      continue;
    if (operand->constant) {
      onnx::TensorProto &tensor = *graph.add_initializer();
      describeConstant(*operand->constant, tensor);
      tensor.set_name(name);
      continue;
    }
    onnx::ValueInfoProto &input = *graph.add_input();
    input.set_name(name);
    names.describe(operand->type, input);
  }
  for (int64_t i = 0; i < op.index; ++i) {
    node.add_output("y" + std::to_string(i));
    graph.add_output()->set_name(node.output(i));
  }

  Related related;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && related.problem.empty()) {
      related.problem = diagnostic.str();
      related.code = takeErrorCode(related.problem);
    }
    return success();
  });
  std::string bytes = model.SerializeAsString();
  OwningOpRef<ModuleOp> module = importOnnx(ModelSource::memory(bytes, ""), *context);
  if (!module) {
    if (related.problem.empty())
      related.problem = "it is not defined for these operands";
    related.problem = names.rename(related.problem, spell);
    return related;
  }
  auto main = module->lookupSymbol<func::FuncOp>("main");
  graph::SymbolList symbols = graph::getSymbols(*module);
  for (Type type : main.getFunctionType().getResults())
    related.results.push_back(typeOf(cast<RankedTensorType>(type), names, symbols));
  // What the importer made of the sizes of inputs: the same symbol for two, or a number.
  unsigned argument = 0;
  for (const auto &operand : operands) {
    if (!operand || operand->constant || argument >= main.getNumArguments())
      continue;
    auto found = graph::sizesOf(main.getArgument(argument++));
    for (auto [given, size] : llvm::zip(operand->type.sizes, found))
      if (AffineExpr meant = names.meant(size, symbols); meant && meant != given)
        related.same.push_back({given, meant});
  }
  for (const graph::Symbol &symbol : symbols)
    if (AffineExpr whole = names.ofSymbol(symbol); whole && symbol.min == symbol.max)
      related.same.push_back({whole, getAffineConstantExpr(symbol.min, context)});
  // Two conditions that leave nothing but equality.
  main.walk([&](graph::AssertOp op) {
    ArrayRef<AffineExpr> conditions = op.getConditions().getResults();
    for (AffineExpr condition : conditions) {
      AffineExpr negated = graph::size::mul(condition, -1), meant = names.meant(condition, symbols);
      if (negated && meant && llvm::is_contained(conditions, negated))
        related.same.push_back({meant, getAffineConstantExpr(0, context)});
    }
  });
  return related;
}

const Related &OpRelations::relate(const Expr &op, llvm::ArrayRef<std::optional<Operand>> operands) {
  std::string key;
  llvm::raw_string_ostream out(key);
  onnx::NodeProto node;
  describeNode(op, node);
  out << node.SerializeAsString() << op.index;
  for (const auto &operand : operands) {
    out << "|";
    if (operand && operand->constant) {
      onnx::TensorProto tensor;
      describeConstant(*operand->constant, tensor);
      out << tensor.SerializeAsString();
    } else if (operand) {
      out << int(operand->type.element);
      for (AffineExpr size : operand->type.sizes)
        out << "," << size;
    }
  }
  auto [entry, isNew] = answers.try_emplace(key);
  if (isNew)
    entry->second = ask(op, operands);
  return entry->second;
}

} // namespace fathom::functional
