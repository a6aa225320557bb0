// Addresses as expressions of loop counters.
#include "compiler/analysis/ExtractLoops.h"

#include "compiler/codegen/common/AssemblyLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fathom {
namespace {

// Positions of a function's arguments behind its pointers.
unsigned pointersOf(const KernelCalls &calls) { return calls.operands + calls.results; }
unsigned firstTask(const KernelCalls &calls) { return pointersOf(calls) + calls.symbols.size(); }

int64_t bytesOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * bytesOf(vector.getElementType());
  if (type.isIntOrFloat())
    return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
  return 8;
}

struct Place {
  unsigned buffer;
  AffineExpr offset; // in bytes
};

class Extraction {
public:
  Extraction(const CodeParts &parts, const Executions &executions, const KernelCalls &calls)
      : parts(parts), calls(calls), context(parts.function().getContext()) {
    tree.nodes.clear();
    for (unsigned part = 0; part < parts.size(); ++part) {
      LoopNode &node = tree.nodes.emplace_back();
      const PartExecutions &counted = executions.parts[part];
      node.trips = counted.trips, node.parent = parts[part].parent;
      double around = part == 0 ? 1 : executions.parts[node.parent].iterations;
      node.share = around > 0 ? counted.iterations / (around * double(counted.trips)) : 0;
      if (part != 0)
        tree.nodes[node.parent].children.push_back(part);
    }
    for (unsigned i = 0; i < pointersOf(calls); ++i)
      tree.buffers.push_back(i < calls.operands ? "operand " + std::to_string(i)
                                                : "result " + std::to_string(i - calls.operands));
    tree.buffers.insert(tree.buffers.end(), {"scratch", "stack", "tables", "unknown"});
    scratch = pointersOf(calls), stack = scratch + 1, tables = scratch + 2, elsewhere = scratch + 3;
  }

  LoopTree run() {
    for (unsigned part = 0; part < parts.size(); ++part) {
      if (parts[part].kind == CodePart::Assembly) {
        visitAssembly(part);
        continue;
      }
      for (Operation &op : parts[part].region->front())
        visit(op, part);
    }
    return std::move(tree);
  }

private:
  const CodeParts &parts;
  const KernelCalls &calls;
  MLIRContext *context;
  LoopTree tree;
  unsigned scratch, stack, tables, elsewhere; // numbers of buffers
  llvm::DenseMap<Value, AffineExpr> numbers;
  llvm::DenseMap<Value, Place> places;

  AffineExpr constant(int64_t number) { return getAffineConstantExpr(number, context); }

  void access(unsigned part, Value pointer, int64_t bytes, bool isWrite) {
    Place place = placeOf(pointer);
    tree.nodes[part].accesses.push_back({place.buffer, place.offset, bytes, isWrite});
  }

  void visit(Operation &op, unsigned part) {
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      return access(part, load.getAddr(), bytesOf(load.getType()), false);
    if (auto store = dyn_cast<LLVM::StoreOp>(op))
      return access(part, store.getAddr(), bytesOf(store.getValue().getType()), true);
    if (auto set = dyn_cast<LLVM::MemsetOp>(op)) {
      auto bytes = dyn_cast<AffineConstantExpr>(numberOf(set.getLen()));
      access(part, set.getDst(), bytes ? std::max<int64_t>(1, bytes.getValue()) : 64, true);
    }
  }

  void visitAssembly(unsigned part) {
    Operation *op = parts[part].op;
    auto streams = op->getAttrOfType<DenseI64ArrayAttr>(assembly_loop::streams).asArrayRef();
    auto loads = op->getAttrOfType<DenseI64ArrayAttr>(assembly_loop::loads).asArrayRef();
    ValueRange pointers = op->getOperands().drop_back().take_back(streams.size());
    for (size_t i = 0; i + 1 < loads.size(); i += 2) {
      Place place = placeOf(pointers[loads[i]]);
      AffineExpr moved = getAffineDimExpr(part, context) * streams[loads[i]];
      tree.nodes[part].accesses.push_back(
          {place.buffer, place.offset + moved + loads[i + 1], assembly_loop::loadBytes, false});
    }
  }

  Place placeOf(Value pointer) {
    if (auto found = places.find(pointer); found != places.end())
      return found->second;
    Place place = findPlace(pointer);
    return places[pointer] = place;
  }

  Place findPlace(Value pointer) {
    if (auto argument = dyn_cast<BlockArgument>(pointer)) {
      Operation *owner = argument.getOwner()->getParentOp();
      if (isa<func::FuncOp>(owner))
        return {argument.getArgNumber() < pointersOf(calls) ? argument.getArgNumber() : scratch, constant(0)};
      if (auto loop = dyn_cast<scf::ForOp>(owner); loop && argument != loop.getInductionVar())
        return placeOf(loop.getTiedLoopInit(argument)->get());
      return {elsewhere, unknown(pointer)};
    }
    return llvm::TypeSwitch<Operation *, Place>(pointer.getDefiningOp())
        .Case([&](LLVM::GEPOp gep) {
          Place place = placeOf(gep.getBase());
          if (gep.getIndices().size() != 1)
            return Place{place.buffer, unknown(pointer)};
          auto index = gep.getIndices()[0];
          auto number = dyn_cast<IntegerAttr>(index);
          AffineExpr moved = number ? constant(number.getInt()) : numberOf(cast<Value>(index));
          return Place{place.buffer, place.offset + moved * bytesOf(gep.getElemType())};
        })
        .Case([&](LLVM::LaunderInvariantGroupOp op) { return placeOf(op->getOperand(0)); })
        .Case([&](LLVM::AllocaOp) { return Place{stack, constant(0)}; })
        .Case([&](LLVM::AddressOfOp) { return Place{tables, constant(0)}; })
        .Case([&](arith::SelectOp op) { return placeOf(op.getTrueValue()); })
        .Case(
            [&](scf::IfOp op) { return placeOf(op.thenYield().getOperand(cast<OpResult>(pointer).getResultNumber())); })
        .Default([&](Operation *) { return Place{elsewhere, unknown(pointer)}; });
  }

  // Another number whenever it is computed.
  AffineExpr unknown(Value value) {
    tree.symbols.push_back(parts.of(value));
    return getAffineSymbolExpr(tree.symbols.size() - 1, context);
  }

  AffineExpr numberOf(Value value) {
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return constant(number.getSExtValue());
    if (auto found = numbers.find(value); found != numbers.end())
      return found->second;
    AffineExpr expr = isa<BlockArgument>(value) ? ofArgument(cast<BlockArgument>(value)) : ofResult(value);
    if (!expr)
      expr = unknown(value);
    return numbers[value] = expr;
  }

  AffineExpr ofArgument(BlockArgument argument) {
    Operation *owner = argument.getOwner()->getParentOp();
    unsigned number = argument.getArgNumber();
    if (isa<func::FuncOp>(owner)) {
      unsigned first = firstTask(calls);
      AffineExpr start = getAffineDimExpr(0, context) * calls.groupTasks;
      if (number == first || number == first + 1)
        return start + (number == first ? 0 : calls.groupTasks);
      return number >= pointersOf(calls) && number < first ? constant(calls.symbols[number - pointersOf(calls)])
                                                           : AffineExpr();
    }
    auto loop = dyn_cast<scf::ForOp>(owner);
    if (!loop)
      return {};
    AffineExpr counter = getAffineDimExpr(parts.of(&loop.getRegion()), context);
    if (argument == loop.getInductionVar()) {
      auto step = dyn_cast<AffineConstantExpr>(numberOf(loop.getStep()));
      return step ? numberOf(loop.getLowerBound()) + counter * step.getValue() : AffineExpr();
    }
    // What grows by a constant is one more counter.
    AffineExpr init = numberOf(loop.getTiedLoopInit(argument)->get());
    if (auto add = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp<arith::AddIOp>();
        add && add.getLhs() == argument)
      if (auto step = dyn_cast<AffineConstantExpr>(numberOf(add.getRhs())))
        return init + counter * step.getValue();
    return init;
  }

  AffineExpr ofResult(Value value) {
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    auto operand = [&](unsigned i) { return numberOf(op->getOperand(i)); };
    auto by = [&](AffineExprKind kind) -> AffineExpr {
      AffineExpr x = operand(0), y = operand(1);
      auto divisor = dyn_cast<AffineConstantExpr>(y);
      return divisor && divisor.getValue() > 0 ? getAffineBinaryOpExpr(kind, x, y) : AffineExpr();
    };
    // One of two that are alike: what is not the bound.
    auto either = [&](unsigned first) {
      AffineExpr x = operand(first), y = operand(first + 1);
      return isa<AffineConstantExpr>(x) ? y : x;
    };
    return llvm::TypeSwitch<Operation *, AffineExpr>(op)
        .Case([&](arith::AddIOp) { return operand(0) + operand(1); })
        .Case([&](arith::SubIOp) { return operand(0) - operand(1); })
        .Case([&](arith::MulIOp) -> AffineExpr {
          AffineExpr x = operand(0), y = operand(1);
          return isa<AffineConstantExpr>(x) || isa<AffineConstantExpr>(y) ? x * y : AffineExpr();
        })
        .Case<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>([&](auto) { return by(AffineExprKind::FloorDiv); })
        .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) { return by(AffineExprKind::Mod); })
        .Case([&](arith::CeilDivSIOp) -> AffineExpr {
          AffineExpr x = operand(0);
          auto divisor = dyn_cast<AffineConstantExpr>(operand(1));
          return divisor && divisor.getValue() > 0 ? (x + (divisor.getValue() - 1)).floorDiv(divisor) : AffineExpr();
        })
        .Case<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>([&](auto) { return either(0); })
        .Case([&](arith::SelectOp) { return either(1); })
        .Case<arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>([&](auto) { return operand(0); })
        .Case([&](scf::IfOp branch) { return numberOf(branch.thenYield().getOperand(number)); })
        .Case([&](scf::ForOp loop) { return numberOf(loop.getInitArgs()[number]); })
        .Default([](Operation *) { return AffineExpr(); });
  }
};

} // namespace

Executions countExecutions(const CodeParts &parts, const KernelCalls &calls) {
  return countExecutions(parts, calls.calls(), [&](size_t call, MutableArrayRef<std::optional<int64_t>> arguments) {
    for (auto [i, symbol] : llvm::enumerate(calls.symbols))
      arguments[pointersOf(calls) + i] = symbol;
    unsigned first = firstTask(calls);
    arguments[first] = int64_t(call) * calls.groupTasks;
    arguments[first + 1] = std::min<int64_t>(calls.tasks, int64_t(call + 1) * calls.groupTasks);
    arguments[first + 2] = 0;
  });
}

LoopTree extractLoops(const CodeParts &parts, const Executions &executions, const KernelCalls &calls) {
  return Extraction(parts, executions, calls).run();
}

} // namespace fathom
