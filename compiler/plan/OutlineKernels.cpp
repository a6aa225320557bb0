// Outlining: fusion groups become functions, equal functions become one.
#include "compiler/plan/Program.h"

#include "compiler/graph/Layout.h"
#include "compiler/graph/Pieces.h"
#include "compiler/graph/SymbolRewrite.h"
#include "compiler/kernel/Attention.h"
#include "compiler/passes/Passes.h"
#include "compiler/support/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// Constants that belong into the code: numbers broadcast over everything, and operands that say how an op works (axes,
// pads, ...).
bool isInlined(Value value) {
  if (value.getDefiningOp<SizesOp>())
    return true;
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return false;
  // Products read their rows from memory, and trees all they have, also where all elements are the same.
  if (llvm::any_of(value.getUses(), [](OpOperand &use) {
        return (isa<MatMulOp, StrassenOp, ConvOp, MatMulNBitsOp>(use.getOwner()) && use.getOperandNumber() == 0) ||
               isa<TreeEnsembleOp>(use.getOwner());
      }))
    return false;
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (dense && dense.isSplat() && constant.getType() == dense.getType())
    return true;
  bool givesScales = llvm::any_of(
      value.getUses(), [](OpOperand &use) { return isa<ResizeOp>(use.getOwner()) && use.getOperandNumber() > 0; });
  if (dense && givesScales)
    return true;
  return isa<IntegerType>(constant.getType().getElementType()) && constant.getType().getNumElements() <= 64 &&
         elementsOf(value).has_value();
}

// Whether the op sorts or selects in the memory of its first result, which it needs even if only their number is used.
bool worksInFirstResult(Operation *op) { return isa<NonMaxSuppressionOp, UniqueOp>(op); }

// Whether the operand is a number that a kernel can just as well read from memory: arithmetic, and no more than that,
// is done with it.
bool isPlainNumber(OpOperand &operand) {
  auto constant = operand.get().getDefiningOp<ConstantOp>();
  return constant && isa<AddOp, SubOp, MulOp, MaxOp, MinOp>(operand.getOwner()) &&
         constant.getType().getNumElements() == 1 && isa<FloatType>(constant.getType().getElementType());
}

// Groups that differ in nothing but plain numbers. Where there are so many that their codes would take most of the
// compile time, they share one that reads its numbers from memory.
class AlikeGroups {
public:
  static constexpr unsigned mostCodes = 32;

  void add(ArrayRef<Operation *> group) {
    if (std::optional<llvm::hash_code> hash = hashOf(group))
      ++counts[size_t(*hash)];
  }
  bool shareNumbers(ArrayRef<Operation *> group) const {
    std::optional<llvm::hash_code> hash = hashOf(group);
    return hash && counts.lookup(size_t(*hash)) > mostCodes;
  }

private:
  // Of ops, types and how they are connected; none where there is no plain number.
  static std::optional<llvm::hash_code> hashOf(ArrayRef<Operation *> group) {
    bool hasNumbers = false;
    llvm::hash_code hash(group.size());
    DenseMap<Value, size_t> known;
    for (Operation *op : group) {
      hash = llvm::hash_combine(hash, op->getName().getAsOpaquePointer());
      for (NamedAttribute attribute : op->getAttrs())
        if (attribute.getName() != "graph.name")
          hash = llvm::hash_combine(hash, attribute.getName(), attribute.getValue());
      for (OpOperand &operand : op->getOpOperands()) {
        bool isNumber = isPlainNumber(operand);
        hasNumbers |= isNumber;
        size_t which = isNumber ? SIZE_MAX : known.try_emplace(operand.get(), known.size()).first->second;
        hash = llvm::hash_combine(hash, which, operand.get().getType());
      }
      for (Value result : op->getResults()) {
        known.try_emplace(result, known.size());
        hash = llvm::hash_combine(hash, result.getType());
      }
    }
    return hasNumbers ? std::optional(hash) : std::nullopt;
  }

  DenseMap<size_t, unsigned> counts;
};

// A symbol that assemblers, debuggers and profilers take.
std::string symbolFor(StringRef text) {
  std::string symbol;
  for (char c : text.take_front(120))
    symbol += llvm::isAlnum(c) || c == '.' ? c : '_';
  if (symbol.empty() || llvm::isDigit(symbol[0]))
    symbol.insert(symbol.begin(), 'k');
  return symbol;
}

// Renumbers the symbols that a kernel uses from 0 on and gives it a list of its own, so that kernels that differ only
// in the names of sizes are the same code. Returns which symbols of the module they are. `local` is a table for it,
// which calls share: there may be as many symbols as kernels.
SmallVector<unsigned> localizeSymbols(func::FuncOp kernel, ModuleOp module, SmallVectorImpl<AffineExpr> &local) {
  SymbolList all = getSymbols(module), mine;
  SmallVector<unsigned> used = usedSymbols(kernel);
  if (used.empty())
    return used;
  local.resize(all.size(), getAffineConstantExpr(0, module.getContext()));
  for (auto [i, position] : llvm::enumerate(used)) {
    local[position] = getAffineSymbolExpr(i, module.getContext());
    mine.push_back(Symbol{"", all[position].min, all[position].max, all[position].isComputed, all[position].likely});
  }
  replaceSymbols(kernel, local);
  setSymbols(kernel, mine);
  return used;
}

class Outliner {
public:
  Outliner(Program &program, Chooser &chooser) : program(program), chooser(chooser), b(program.module.getContext()) {}

  // All groups, before the first is outlined.
  void announce(ArrayRef<FusionGroup> groups) {
    for (const FusionGroup &group : groups)
      alike.add(group);
  }

  LogicalResult outline(const FusionGroup &group) {
    Kernel kernel;
    kernel.name = opName(group.back()).str();
    SmallVector<Value> inputs, outputs;
    func::FuncOp function = buildFunction(group, inputs, outputs, kernel);
    Operation *anchor = anchorOf(function);
    kernel.kernelClass = &kernelClassOf(function, *program.backend);
    std::string text;
    llvm::raw_string_ostream(text) << OpWithFlags(function,
                                                  OpPrintingFlags().useLocalScope().elideLargeElementsAttrs(1 << 20));
    FailureOr<ScheduleChoice> choice =
        chooser.schedule({function, *kernel.kernelClass, anchor, group.back(), kernel.name, text});
    if (failed(choice))
      return failure();
    kernel.schedule = std::move(choice->schedule), kernel.versions = std::move(choice->versions);
    PlannedKernel planned{kernel.name, kernel.kernelClass->name.str(), {}, kernel.schedule, kernel.versions};
    for (Operation *op : group)
      planned.ops.push_back(opName(op).str());
    program.plan.kernels.push_back(std::move(planned));
    if (!kernel.versions.empty())
      kernel.extent = kernel.kernelClass->extent(anchor);
    share(kernel, function, text, group);

    b.setInsertionPoint(group.back());
    SmallVector<Type> types;
    for (Value output : outputs)
      types.push_back(output.getType());
    auto call =
        func::CallOp::create(b, group.back()->getLoc(), program.codes[kernel.code].function.getName(), types, inputs);
    call->setAttr("graph.kernel", b.getI64IntegerAttr(program.kernels.size()));
    DenseSet<Operation *> members(group.begin(), group.end());
    for (auto [output, result] : llvm::zip(outputs, call.getResults()))
      output.replaceUsesWithIf(result, [&](OpOperand &use) { return !members.contains(use.getOwner()); });
    for (Operation *op : llvm::reverse(group))
      op->erase();
    program.kernels.push_back(std::move(kernel));
    return success();
  }

private:
  // Constants have many uses.
  bool isInlinedValue(Value value) {
    auto [known, isNew] = inlined.try_emplace(value, false);
    if (isNew)
      known->second = isInlined(value);
    return known->second;
  }

  // The group as a function of its inputs; names and weights stay outside.
  func::FuncOp buildFunction(const FusionGroup &group, SmallVector<Value> &inputs, SmallVector<Value> &outputs,
                             Kernel &kernel) {
    DenseSet<Operation *> members(group.begin(), group.end());
    bool sharesNumbers = alike.shareNumbers(group);
    llvm::SmallSetVector<Value, 8> external;
    for (Operation *op : group)
      for (OpOperand &use : op->getOpOperands()) {
        Value operand = use.get();
        if (!isa<NoneType>(operand.getType()) && !members.contains(operand.getDefiningOp()) &&
            (!isInlinedValue(operand) || (sharesNumbers && isPlainNumber(use))))
          external.insert(operand);
      }
    inputs = llvm::to_vector(external);
    for (Operation *op : group)
      for (OpResult result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !members.contains(user); }) ||
            (result.getResultNumber() == 0 && worksInFirstResult(op)))
          outputs.push_back(result);
    // A result that nobody uses still has a buffer when its op has to run for another one; a dead group returns its
    // last result.
    if (outputs.empty())
      outputs.push_back(group.back()->getResult(0));

    SmallVector<Type> inputTypes, outputTypes;
    for (Value input : inputs)
      inputTypes.push_back(input.getType());
    for (Value output : outputs)
      outputTypes.push_back(output.getType());
    b.setInsertionPointToEnd(program.module.getBody());
    SmallVector<Location> locations;
    for (Operation *op : group)
      locations.push_back(op->getLoc());
    auto function =
        func::FuncOp::create(b, b.getFusedLoc(locations), "kernel", b.getFunctionType(inputTypes, outputTypes));
    function.setPrivate();
    Block *body = function.addEntryBlock();
    b.setInsertionPointToStart(body);
    IRMapping mapping;
    for (auto [input, argument] : llvm::zip(inputs, body->getArguments()))
      mapping.map(input, argument);
    llvm::SmallSetVector<StringRef, 4> nodes;
    for (Operation *op : group) {
      for (Value operand : op->getOperands())
        if (!mapping.contains(operand) && !members.contains(operand.getDefiningOp())) {
          Operation *known = b.clone(*operand.getDefiningOp());
          known->removeAttr("graph.name");
          mapping.map(operand, known->getResult(0));
        }
      Operation *copy = b.clone(*op, mapping);
      copy->removeAttr("graph.name");
      if (std::optional<AttentionCosts> costs = notedCosts(op))
        kernel.attention = costs;
      removeNotedCosts(copy); // equal code is shared, whatever it is a part of
      if (StringRef node = nodeName(op->getLoc()); !node.empty())
        nodes.insert(node);
    }
    kernel.nodes = llvm::join(nodes, ",");
    SmallVector<Value> returned;
    for (Value output : outputs)
      returned.push_back(mapping.lookup(output));
    func::ReturnOp::create(b, function.getLoc(), returned);
    kernel.symbols = localizeSymbols(function, program.module, localSymbols);
    return function;
  }

  // Finds a function with the same text, or keeps this one, and the codes for the kernel's schedules.
  void share(Kernel &kernel, func::FuncOp function, StringRef text, const FusionGroup &group) {
    auto [known, isNew] = functions.try_emplace(text, function);
    if (!isNew)
      function.erase();
    function = known->second;
    kernel.code = codeFor(kernel, kernel.schedule, text, function, group);
    if (isNew)
      function.setName(program.codes[kernel.code].symbol);
    for (const Version &version : kernel.versions)
      kernel.versionCodes.push_back(codeFor(kernel, version.schedule, text, function, group));
  }

  size_t codeFor(const Kernel &kernel, const Schedule &schedule, StringRef text, func::FuncOp function,
                 const FusionGroup &group) {
    std::string key = text.str();
    llvm::raw_string_ostream out(key);
    for (const auto &[name, value] : schedule.knobs)
      out << name << '=' << value << ';';
    auto [found, isNew] = codes.try_emplace(key, program.codes.size());
    if (!isNew)
      return found->second;
    std::string symbol;
    for (Operation *op : group)
      if (symbol.size() < 40)
        symbol += op->getName().stripDialect().str() + "_";
    StringRef node = nodeName(group.front()->getLoc());
    symbol =
        symbolFor(symbol + (node.empty() ? StringRef(kernel.name) : node).str()) + "." + std::to_string(found->second);
    program.codes.push_back({function, kernel.kernelClass, schedule, symbol, {}});
    return found->second;
  }

  SmallVector<AffineExpr> localSymbols;
  Program &program;
  Chooser &chooser;
  OpBuilder b;
  AlikeGroups alike;
  DenseMap<Value, bool> inlined;
  llvm::StringMap<func::FuncOp> functions; // by their text
  llvm::StringMap<size_t> codes;           // by the function's text and the schedule
};

// The layouts of all tensors that are not row-major or lie within another.
void listLayouts(func::FuncOp main, Plan &plan) {
  main.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == main || op->getNumResults() == 0 || (needsNoKernel(op) && !isInPlace(op)))
      return;
    Value result = op->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    Piece piece = pieceOf(result);
    // A relayout has the layout that its reader needs, and a copy into a whole no choice of its own.
    if (isa<RelayoutOp>(op) ? !piece || op->hasAttr("graph.output") : !piece && type == withoutLayout(type))
      return;
    PlannedLayout planned{opName(op).str(), {}, {}, piece ? opName(piece.whole).str() : ""};
    Layout layout = layoutOf(type);
    planned.order.assign(layout.order.begin(), layout.order.end());
    if (layout.hasHalo())
      for (int64_t d = 0; d < type.getRank(); ++d)
        planned.halo.insert(planned.halo.end(), {layout.haloLow[d], layout.haloHigh[d]});
    plan.layouts.push_back(std::move(planned));
  });
}

// The groups that ops are marked as parts of, in the order of the numbers.
std::vector<FusionGroup> takeGroups(func::FuncOp main) {
  std::vector<FusionGroup> groups;
  main.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto number = dyn_cast_or_null<IntegerAttr>(op->removeAttr("graph.kernel"));
    if (!number)
      return;
    groups.resize(std::max<size_t>(groups.size(), number.getInt() + 1));
    groups[number.getInt()].push_back(op);
  });
  return groups;
}

struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal()) {
      emitError(module.getLoc(), ErrorCode::BadGraph) << "the module has no function 'main' with a body";
      return signalPassFailure();
    }
    Program &program = *context().program;
    program.backend = &backendOf(context().target);
    program.module = module;
    program.main = main;
    program.plan.target = context().target.spelling();
    program.plan.choices = context().chooser->choices().vec();
    listLayouts(main, program.plan);
    std::vector<FusionGroup> groups = takeGroups(main);
    Outliner outliner(program, *context().chooser);
    outliner.announce(groups);
    for (const FusionGroup &group : groups)
      if (failed(outliner.outline(group)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace fathom
