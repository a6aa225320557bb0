// An interpreter of the integers that control flow depends on.
#include "compiler/analysis/Executions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fathom {
namespace {

using Number = std::optional<int64_t>;

constexpr size_t mostCalls = 256;
// Iterations that are looked at: of a loop, and of all of them, behind which few have to do.
constexpr int64_t mostSteps = 1024, mostOfAll = 20000, fewSteps = 8;
constexpr double guessedIterations = 16; // of a loop that data ends

int64_t floorDivided(int64_t x, int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }

Number compare(arith::CmpIPredicate predicate, int64_t x, int64_t y) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return x == y;
  case P::ne:
    return x != y;
  case P::slt:
    return x < y;
  case P::sle:
    return x <= y;
  case P::sgt:
    return x > y;
  case P::sge:
    return x >= y;
  case P::ult:
    return uint64_t(x) < uint64_t(y);
  case P::ule:
    return uint64_t(x) <= uint64_t(y);
  case P::ugt:
    return uint64_t(x) > uint64_t(y);
  case P::uge:
    return uint64_t(x) >= uint64_t(y);
  }
  return std::nullopt;
}

class Interpreter {
public:
  explicit Interpreter(const CodeParts &parts) : parts(parts) {
    result.parts.resize(parts.size());
    for (unsigned part = 0; part < parts.size(); ++part)
      collectControl(parts[part]);
    while (!pending.empty())
      collectOperands(pending.pop_back_val());
  }

  Executions result;

  void call(llvm::ArrayRef<Number> arguments, double weight) {
    values.clear();
    Block &entry = parts.function().getBody().front();
    for (auto [argument, number] : llvm::zip(entry.getArguments(), arguments))
      values[argument] = number;
    result.parts[0].iterations += weight;
    run(entry, weight);
  }

private:
  const CodeParts &parts;
  llvm::DenseSet<Value> control; // what bounds and conditions are computed from
  SmallVector<Value> pending;
  llvm::DenseMap<Value, Number> values;
  int64_t steps = 0;

  void need(Value value) {
    if (value && isa<IntegerType, IndexType>(value.getType()) && control.insert(value).second)
      pending.push_back(value);
  }

  void collectControl(const CodePart &part) {
    if (auto loop = dyn_cast<scf::ForOp>(part.op)) {
      need(loop.getLowerBound()), need(loop.getUpperBound()), need(loop.getStep());
    } else if (auto branch = dyn_cast<scf::IfOp>(part.op)) {
      need(branch.getCondition());
    } else if (part.kind == CodePart::Assembly) {
      need(part.op->getOperands().back());
    }
  }

  void collectOperands(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
        if (argument != loop.getInductionVar()) {
          need(loop.getTiedLoopInit(argument)->get());
          need(loop.getTiedLoopYieldedValue(argument)->get());
        }
      return;
    }
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return need(loop.getRegionIterArg(number));
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      need(branch.thenYield().getOperand(number));
      return need(branch.elseYield().getOperand(number));
    }
    if (op->getNumRegions() == 0 && op->getDialect()->getNamespace() == arith::ArithDialect::getDialectNamespace())
      for (Value operand : op->getOperands())
        need(operand);
  }

  Number get(Value value) const {
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return number.getBitWidth() == 1 ? int64_t(number.getZExtValue()) : number.getSExtValue();
    return values.lookup(value);
  }

  Number evaluate(Operation *op) const {
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      Number condition = get(select.getCondition());
      return condition ? get(*condition ? select.getTrueValue() : select.getFalseValue()) : std::nullopt;
    }
    Number x = op->getNumOperands() > 0 ? get(op->getOperand(0)) : std::nullopt;
    Number y = op->getNumOperands() > 1 ? get(op->getOperand(1)) : std::nullopt;
    // One side can be enough.
    if (isa<arith::AndIOp>(op) && op->getResult(0).getType().isInteger(1) && (x == 0 || y == 0))
      return 0;
    if (!x)
      return std::nullopt;
    if (isa<arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
      return x;
    if (!y)
      return std::nullopt;
    bool divides = *y != 0;
    return llvm::TypeSwitch<Operation *, Number>(op)
        .Case([&](arith::AddIOp) { return *x + *y; })
        .Case([&](arith::SubIOp) { return *x - *y; })
        .Case([&](arith::MulIOp) { return *x * *y; })
        .Case([&](arith::DivUIOp) { return divides ? Number(int64_t(uint64_t(*x) / uint64_t(*y))) : Number(); })
        .Case([&](arith::RemUIOp) { return divides ? Number(int64_t(uint64_t(*x) % uint64_t(*y))) : Number(); })
        .Case([&](arith::DivSIOp) { return divides ? Number(*x / *y) : Number(); })
        .Case([&](arith::RemSIOp) { return divides ? Number(*x % *y) : Number(); })
        .Case([&](arith::FloorDivSIOp) { return divides ? Number(floorDivided(*x, *y)) : Number(); })
        .Case([&](arith::CeilDivSIOp) { return divides ? Number(-floorDivided(-*x, *y)) : Number(); })
        .Case([&](arith::MinSIOp) { return std::min(*x, *y); })
        .Case([&](arith::MaxSIOp) { return std::max(*x, *y); })
        .Case([&](arith::MinUIOp) { return int64_t(std::min(uint64_t(*x), uint64_t(*y))); })
        .Case([&](arith::MaxUIOp) { return int64_t(std::max(uint64_t(*x), uint64_t(*y))); })
        .Case([&](arith::AndIOp) { return *x & *y; })
        .Case([&](arith::OrIOp) { return *x | *y; })
        .Case([&](arith::XOrIOp) { return *x ^ *y; })
        .Case([&](arith::CmpIOp compared) { return compare(compared.getPredicate(), *x, *y); })
        .Default([](Operation *) { return Number(); });
  }

  // Runs a block that is executed `weight` times, all alike as far as control flow goes.
  void run(Block &block, double weight) {
    for (Operation &op : block) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        runLoop(loop, weight);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        runBranch(branch, weight);
      } else if (unsigned part = parts.ofAssembly(&op)) {
        Number count = get(op.getOperands().back());
        result.isExact &= count.has_value();
        note(part, count ? *count + 1 : int64_t(guessedIterations), weight);
      } else if (op.getNumRegions() > 0) {
        result.isExact = false;
        for (Region &region : op.getRegions())
          if (!region.empty()) {
            note(parts.of(&region), int64_t(guessedIterations), weight);
            run(region.front(), weight * guessedIterations);
          }
      } else if (op.getNumResults() == 1 && control.contains(op.getResult(0))) {
        values[op.getResult(0)] = evaluate(&op);
      }
    }
  }

  void note(unsigned part, int64_t trips, double weight) {
    PartExecutions &noted = result.parts[part];
    noted.iterations += double(trips) * weight;
    noted.trips = std::max(noted.trips, trips);
  }

  void runLoop(scf::ForOp loop, double weight) {
    Number low = get(loop.getLowerBound()), high = get(loop.getUpperBound()), step = get(loop.getStep());
    int64_t trips = int64_t(guessedIterations);
    if (low && high && step && *step > 0)
      trips = *high > *low ? int64_t(llvm::divideCeil(uint64_t(*high - *low), uint64_t(*step))) : 0;
    else
      result.isExact = false;
    note(parts.of(&loop.getRegion()), trips, weight);
    for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
      if (control.contains(argument))
        values[argument] = get(init);
    Block *body = loop.getBody();
    if (trips > 0)
      runIterations(loop, *body, trips, low, step, weight);
    for (auto [value, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
      if (control.contains(argument))
        values[value] = get(argument);
  }

  void runIterations(scf::ForOp loop, Block &body, int64_t trips, Number low, Number step, double weight) {
    bool carries = llvm::any_of(loop.getRegionIterArgs(), [&](Value argument) { return control.contains(argument); });
    auto iteration = [&](int64_t i, double share) {
      values[loop.getInductionVar()] = low && step ? Number(*low + i * *step) : Number();
      run(body, share);
      SmallVector<Number> next;
      for (Value yielded : loop.getYieldedValues())
        next.push_back(control.contains(yielded) || yielded.getDefiningOp() ? get(yielded) : Number());
      for (auto [argument, number] : llvm::zip(loop.getRegionIterArgs(), next))
        if (control.contains(argument))
          values[argument] = number;
    };
    if (!carries && !control.contains(loop.getInductionVar()))
      return iteration(0, weight * double(trips));
    int64_t looked = std::min(trips, steps < mostOfAll ? mostSteps : fewSteps);
    steps += looked;
    result.isExact &= looked == trips;
    // Evenly among all; the last one, which may be different, stands for itself.
    for (int64_t i = 0; i < looked; ++i) {
      bool isLast = i + 1 == looked;
      double share = looked == trips ? 1 : isLast ? 1 : double(trips - 1) / double(looked - 1);
      iteration(isLast ? trips - 1 : i * trips / looked, weight * share);
    }
  }

  void runBranch(scf::IfOp branch, double weight) {
    Number condition = get(branch.getCondition());
    result.isExact &= condition.has_value();
    SmallVector<Number> yielded(branch.getNumResults());
    auto arm = [&](Region &region, double share) {
      if (region.empty())
        return;
      note(parts.of(&region), 1, share);
      run(region.front(), share);
      for (auto [number, value] : llvm::zip(yielded, region.front().getTerminator()->getOperands()))
        number = condition ? get(value) : Number();
    };
    if (!condition || *condition)
      arm(branch.getThenRegion(), condition ? weight : weight / 2);
    if (!condition || !*condition)
      arm(branch.getElseRegion(), condition ? weight : weight / 2);
    for (auto [value, number] : llvm::zip(branch.getResults(), yielded))
      if (control.contains(value))
        values[value] = number;
  }
};

} // namespace

Executions countExecutions(const CodeParts &parts, size_t calls,
                           llvm::function_ref<void(size_t, llvm::MutableArrayRef<std::optional<int64_t>>)> fill) {
  Interpreter interpreter(parts);
  SmallVector<Number> arguments(parts.function().getNumArguments());
  size_t looked = std::min(calls, mostCalls);
  interpreter.result.isExact = looked == calls;
  for (size_t i = 0; i < looked; ++i) {
    bool isLast = i + 1 == looked;
    llvm::fill(arguments, std::nullopt);
    fill(isLast ? calls - 1 : i * calls / looked, arguments);
    interpreter.call(arguments, looked == calls || isLast ? 1 : double(calls - 1) / double(looked - 1));
  }
  interpreter.result.parts[0].trips = std::max<int64_t>(1, int64_t(calls));
  return std::move(interpreter.result);
}

} // namespace fathom
