// The manifest.
#include "compiler/driver/Manifest.h"

#include "compiler/explain/KernelCost.h"
#include "compiler/explain/KernelNotes.h"
#include "compiler/graph/SmallTypes.h"
#include "compiler/graph/TypeText.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;

namespace fathom {
namespace {

std::string spell(Type type) {
  if (graph::isString(type))
    return "string";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// A number, or an expression in prefix form: ["*", 2, "batch"]. Null where it is unknown.
llvm::json::Value spell(AffineExpr expr, const graph::SymbolList &symbols) {
  if (!expr)
    return nullptr;
  if (auto constant = graph::constantSize(expr))
    return *constant;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()].name;
  static constexpr StringRef signs[] = {"+", "*", "mod", "floordiv", "ceildiv"};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  return llvm::json::Array{signs[int(expr.getKind())], spell(binary.getLHS(), symbols),
                           spell(binary.getRHS(), symbols)};
}

// The ranges that an input's integers must lie in, each as its two ends.
llvm::json::Array describeValues(AffineMap ends, const graph::SymbolList &symbols) {
  llvm::json::Array ranges;
  for (unsigned i = 0; i + 1 < ends.getNumResults(); i += 2)
    ranges.push_back(llvm::json::Array{spell(ends.getResult(i), symbols), spell(ends.getResult(i + 1), symbols)});
  return ranges;
}

llvm::json::Array describeTensors(func::FuncOp main, TypeRange types, bool inputs, const graph::SymbolList &symbols) {
  llvm::json::Array tensors;
  for (auto [i, type] : llvm::enumerate(types)) {
    auto attr = [&, i = i](StringRef name) {
      return inputs ? main.getArgAttrOfType<StringAttr>(i, name) : main.getResultAttrOfType<StringAttr>(i, name);
    };
    auto name = attr("graph.name");
    auto small = cast_or_null<TypeAttr>(inputs ? main.getArgAttr(i, graph::smallTypeAttrName)
                                               : main.getResultAttr(i, graph::smallTypeAttrName));
    llvm::json::Array shape;
    for (AffineExpr size : graph::sizesOf(cast<RankedTensorType>(type))) {
      if (auto known = graph::constantSize(size))
        shape.push_back(*known);
      else if (auto symbol = dyn_cast<AffineSymbolExpr>(size); symbol && !symbols[symbol.getPosition()].isComputed)
        shape.push_back(symbols[symbol.getPosition()].name);
      else
        shape.push_back("?");
    }
    llvm::json::Object tensor{{"name", name ? name.str() : ""},
                              {"type", small ? graph::smallTypeName(small.getValue()).str()
                                             : spell(cast<RankedTensorType>(type).getElementType())},
                              {"shape", std::move(shape)}};
    // A part of a sequence or an optional, which are several tensors.
    if (auto part = attr("graph.part")) {
      tensor["of"] = attr("graph.of").str();
      tensor["part"] = part.str();
    }
    // A row of values is a map.
    if (auto keys = inputs ? ArrayAttr() : main.getResultAttrOfType<ArrayAttr>(i, "graph.keys")) {
      llvm::json::Array list;
      for (Attribute key : keys)
        if (auto text = dyn_cast<StringAttr>(key))
          list.push_back(llvm::json::fixUTF8(text.getValue()));
        else
          list.push_back(cast<IntegerAttr>(key).getInt());
      tensor["keys"] = std::move(list);
    }
    if (auto values = inputs ? main.getArgAttrOfType<AffineMapAttr>(i, valuesAttrName) : AffineMapAttr())
      tensor["values"] = describeValues(values.getValue(), symbols);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// What the kernel does at least, over the module's symbols.
void describeCost(const Program &program, const Kernel &kernel, const graph::SymbolList &symbols,
                  llvm::json::Object &into) {
  KernelCost cost = costOf(program.codes[kernel.code].function);
  SmallVector<AffineExpr> names;
  for (unsigned symbol : kernel.symbols)
    names.push_back(getAffineSymbolExpr(symbol, ModuleOp(program.module).getContext()));
  auto global = [&](AffineExpr expr) { return expr ? expr.replaceSymbols(names) : expr; };
  into["flop"] = spell(global(cost.flop), symbols);
  into["bytes"] = spell(global(cost.bytes), symbols);
}

// In whole cycles.
llvm::json::Object describeParts(const cost::Parts &parts, const Target &target) {
  auto cycles = [](double count) { return int64_t(std::round(std::min(count, 1e18))); };
  llvm::json::Object described{{"total", cycles(parts.sum())},         {"arithmetic", cycles(parts.arithmetic)},
                               {"tails", cycles(parts.tails)},         {"packing", cycles(parts.packing)},
                               {"results", cycles(parts.results)},     {"tasks", cycles(parts.tasks)},
                               {"imbalance", cycles(parts.imbalance)}, {"exchange", cycles(parts.exchange)},
                               {"spreading", cycles(parts.spreading)}};
  size_t behind = std::min(target.caches.size(), cost::mostSources) - 1; // caches behind the first
  for (size_t level = 0; level < behind; ++level)
    described[llvm::formatv("from_l{0}", level + 2).str()] = cycles(parts.movement[level]);
  described["from_memory"] = cycles(parts.movement.back());
  return described;
}

llvm::json::Object describeEstimate(const KernelCode &code, const Schedule &schedule, const Target &target) {
  KernelEstimate estimate = estimateOf(code.function, *code.kernelClass, schedule, target);
  return llvm::json::Object{{"threads", target.cores},
                            {"one_thread", describeParts(estimate.alone, target)},
                            {"all_threads", describeParts(estimate.together, target)}};
}

llvm::json::Object describeSchedule(const Schedule &schedule) {
  llvm::json::Object knobs;
  for (const auto &[name, value] : schedule.knobs)
    knobs[name] = value;
  return knobs;
}

llvm::json::Array describeOps(ArrayRef<OpNote> notes) {
  llvm::json::Array ops;
  for (const OpNote &note : notes)
    ops.push_back(llvm::json::Object{{"op", note.op}, {"node", note.node}, {"why", note.why}, {"type", note.type}});
  return ops;
}

// What was chosen before kernels and not left to the draft, and which entry of a database says so.
llvm::json::Object describeChoices(const Program &program) {
  llvm::json::Array made;
  for (const PlannedChoice &choice : program.plan.choices)
    made.push_back(llvm::json::Object{{"op", choice.op}, {"choice", choice.kind}, {"take", choice.take}});
  llvm::json::Object described{{"made", std::move(made)}};
  if (!program.choicesEntry.empty())
    described["entry"] = program.choicesEntry;
  return described;
}

// Some of the strings that the model knows: enough to make up inputs from.
llvm::json::Array describeStrings(ModuleOp module) {
  constexpr size_t most = 256;
  llvm::json::Array strings;
  if (auto vocabulary = module->getAttrOfType<ArrayAttr>(graph::vocabularyAttrName))
    for (Attribute text : vocabulary.getValue().take_front(most))
      strings.push_back(llvm::json::fixUTF8(cast<StringAttr>(text).getValue()));
  return strings;
}

} // namespace

std::string printManifest(const Program &program, const MemoryPlan &memory, const CompileOptions &options,
                          const ArtifactInfo &info) {
  func::FuncOp main = program.main;
  graph::SymbolList symbols = graph::getSymbols(program.module);
  llvm::json::Array kernels, symbolList;
  // An array that grows copies what it has: a value's move may throw.
  kernels.reserve(program.kernels.size());
  std::vector<KernelNotes> notes = explainKernels(program);
  for (const auto &[kernel, note] : llvm::zip_equal(program.kernels, notes)) {
    llvm::json::Array versions;
    for (const Version &version : kernel.versions)
      versions.push_back(llvm::json::Object{{"up_to", version.upTo}, {"schedule", describeSchedule(version.schedule)}});
    llvm::json::Array apart;
    for (const auto &[other, why] : note.apart)
      apart.push_back(llvm::json::Object{{"kernel", other}, {"why", why}});
    llvm::json::Object described{{"symbol", program.codes[kernel.code].symbol},
                                 {"class", kernel.kernelClass->name},
                                 {"result", kernel.name},
                                 {"nodes", kernel.nodes},
                                 {"schedule", describeSchedule(kernel.schedule)},
                                 {"versions", std::move(versions)},
                                 {"algorithm", note.algorithm},
                                 {"sequential", note.sequential},
                                 {"stages", llvm::json::Array(note.stages)},
                                 {"ops", describeOps(note.ops)},
                                 {"apart", std::move(apart)}};
    describeCost(program, kernel, symbols, described);
    if (!kernel.scheduleEntry.empty())
      described["schedule_entry"] = kernel.scheduleEntry;
    described["estimate"] = describeEstimate(program.codes[kernel.code], kernel.schedule, options.target);
    kernels.push_back(std::move(described));
  }
  for (const graph::Symbol &symbol : symbols)
    if (!symbol.isComputed) {
      llvm::json::Object described{{"name", symbol.name}, {"min", symbol.min}, {"max", symbol.max}};
      if (symbol.likely)
        described["likely"] = symbol.likely;
      symbolList.push_back(std::move(described));
    }
  auto hash = program.module->getAttrOfType<StringAttr>("graph.model_hash");
  llvm::json::Object manifest{
      {"fathom", compilerVersion},
      {"fp", name(options.fp)},
      {"model_hash", hash ? hash.str() : ""},
      {"target", llvm::json::Object{{"triple", options.target.triple},
                                    {"cpu", options.target.cpu},
                                    {"features", llvm::json::Array(hostTargetOf(options.target).required)},
                                    {"host", options.target.host}}},
      {"inputs", describeTensors(main, main.getArgumentTypes(), true, symbols)},
      {"outputs", describeTensors(main, main.getBody().front().getTerminator()->getOperandTypes(), false, symbols)},
      {"symbols", std::move(symbolList)},
      {"strings", describeStrings(program.module)},
      {"weight_bytes", memory.weightBytes},
      {"source_weight_bytes", program.sourceWeightBytes},
      {"arena_bytes", memory.slots.empty() ? llvm::json::Value(memory.fixedBytes) : llvm::json::Value(nullptr)},
      {"scratch_bytes", memory.scratchBytes},
      {"plan", printPlan(program.plan)},
      {"choices", describeChoices(program)},
      {"kernels", std::move(kernels)},
      {"other_ops", describeOps(explainOthers(program))}};
  int64_t programBytes = 0;
  for (const std::string &text : info.programs)
    programBytes += int64_t(text.size());
  if (programBytes)
    manifest["program_bytes"] = programBytes;
  if (!info.variants.empty())
    manifest["variants"] = llvm::json::Array(info.variants);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(manifest));
  return text;
}

} // namespace fathom
