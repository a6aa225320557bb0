// The manifest.
#include "compiler/driver/Manifest.h"

using namespace mlir;

namespace fathom {
namespace {

std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

llvm::json::Array describeTensors(func::FuncOp main, TypeRange types, bool inputs, ArrayRef<graph::Symbol> symbols) {
  llvm::json::Array tensors;
  for (auto [i, type] : llvm::enumerate(types)) {
    auto name = inputs ? main.getArgAttrOfType<StringAttr>(i, "graph.name")
                       : main.getResultAttrOfType<StringAttr>(i, "graph.name");
    llvm::json::Array shape;
    for (AffineExpr size : graph::sizesOf(cast<RankedTensorType>(type))) {
      if (auto known = graph::constantSize(size))
        shape.push_back(*known);
      else if (auto symbol = dyn_cast<AffineSymbolExpr>(size); symbol && !symbols[symbol.getPosition()].isComputed)
        shape.push_back(symbols[symbol.getPosition()].name);
      else
        shape.push_back("?");
    }
    tensors.push_back(llvm::json::Object{{"name", name ? name.str() : ""},
                                         {"type", spell(cast<RankedTensorType>(type).getElementType())},
                                         {"shape", std::move(shape)}});
  }
  return tensors;
}

} // namespace

llvm::json::Object describeArtifact(const Program &program, const MemoryPlan &memory, const CompileOptions &options) {
  func::FuncOp main = program.main;
  SmallVector<graph::Symbol> symbols = graph::getSymbols(program.module);
  llvm::json::Array kernels, symbolList;
  for (const Kernel &kernel : program.kernels) {
    llvm::json::Object knobs;
    for (const auto &[name, value] : kernel.schedule.knobs)
      knobs[name] = value;
    kernels.push_back(llvm::json::Object{{"symbol", program.codes[kernel.code].symbol},
                                         {"class", kernel.kernelClass->name},
                                         {"result", kernel.name},
                                         {"nodes", kernel.nodes},
                                         {"schedule", std::move(knobs)}});
  }
  for (const graph::Symbol &symbol : symbols)
    if (!symbol.isComputed)
      symbolList.push_back(llvm::json::Object{{"name", symbol.name}, {"min", symbol.min}, {"max", symbol.max}});
  int64_t sourceBytes = 0;
  for (const Weight &weight : memory.weights)
    sourceBytes += weight.source.getNumElements() * elementBytes(weight.source.getElementType());
  auto hash = program.module->getAttrOfType<StringAttr>("graph.model_hash");
  return llvm::json::Object{
      {"fathom", compilerVersion},
      {"fp", options.strict ? "strict" : "fast"},
      {"model_hash", hash ? hash.str() : ""},
      {"target", llvm::json::Object{{"triple", options.target.triple},
                                    {"cpu", options.target.cpu},
                                    {"features", llvm::json::Array(options.target.required)}}},
      {"inputs", describeTensors(main, main.getArgumentTypes(), true, symbols)},
      {"outputs", describeTensors(main, main.getBody().front().getTerminator()->getOperandTypes(), false, symbols)},
      {"symbols", std::move(symbolList)},
      {"weight_bytes", memory.weightBytes},
      {"source_weight_bytes", sourceBytes},
      {"arena_bytes", memory.slots.empty() ? llvm::json::Value(memory.fixedBytes) : llvm::json::Value(nullptr)},
      {"kernels", std::move(kernels)}};
}

} // namespace fathom
