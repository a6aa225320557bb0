// Kernels that were changed by hand, in the place of those that the passes made.
#include "compiler/driver/GivenStages.h"
#include "compiler/graph/Symbols.h"
#include "compiler/plan/FuseOps.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// Looks for what does not fit before anything is changed.
class KernelTexts {
public:
  KernelTexts(Program &program, ModuleOp given, const Target &target)
      : program(program), given(given), target(target) {}

  LogicalResult check(StringRef path) {
    std::string problem = checkMain();
    for (const KernelCode &code : program.codes)
      if (problem.empty())
        problem = checkCode(code);
    for (auto function : given.getOps<func::FuncOp>())
      if (problem.empty() && !program.module.lookupSymbol(function.getName()))
        problem = "the program has no kernel '" + function.getName().str() + "'";
    if (problem.empty())
      return success();
    return hint(emitError(program.module.getLoc(), ErrorCode::BadPlan)
                    << "cannot go on from '" << path << "': " << problem,
                "start from what --emit kernels prints of this model, with the same target, plan and options");
  }

private:
  // As calls have them: a kernel numbers its symbols itself.
  struct Call {
    func::CallOp op;
    bool fits(Call other) {
      return op.getCallee() == other.op.getCallee() && op.getOperandTypes() == other.op.getOperandTypes() &&
             op.getResultTypes() == other.op.getResultTypes();
    }
  };

  static std::vector<func::CallOp> callsOf(func::FuncOp main) {
    std::vector<func::CallOp> calls;
    main.walk([&](func::CallOp call) { calls.push_back(call); });
    return calls;
  }
  static std::optional<size_t> kernelOf(func::CallOp call) {
    auto number = call->getAttrOfType<IntegerAttr>("graph.kernel");
    return number && number.getInt() >= 0 ? std::optional<size_t>(number.getInt()) : std::nullopt;
  }

  std::string checkMain() {
    auto main = given.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal())
      return "it has no function 'main'";
    if (main.getFunctionType() != program.main.getFunctionType() ||
        main.getArgAttrsAttr() != program.main.getArgAttrsAttr() ||
        main.getResAttrsAttr() != program.main.getResAttrsAttr())
      return "the inputs and outputs of 'main' are not those of the program";
    if (getSymbols(given).size() != getSymbols(program.module).size())
      return "its symbols are not those of the program";
    std::vector<func::CallOp> ours(program.kernels.size());
    for (func::CallOp call : callsOf(program.main))
      ours[*kernelOf(call)] = call;
    size_t calls = 0;
    std::string problem;
    main.getBody().walk([&](Operation *op) {
      auto call = dyn_cast<func::CallOp>(op);
      if (!call) {
        bool belongs = isa_and_nonnull<GraphDialect>(op->getDialect()) ? needsNoKernel(op) : isa<func::ReturnOp>(op);
        if (!belongs && problem.empty())
          problem = "'" + op->getName().getStringRef().str() + "' in 'main' is in no kernel";
        return;
      }
      std::optional<size_t> kernel = kernelOf(call);
      func::CallOp known = kernel && *kernel < ours.size() ? std::exchange(ours[*kernel], nullptr) : nullptr;
      ++calls;
      if (problem.empty() && !(known && Call{call}.fits({known})))
        problem = "a call of '" + call.getCallee().str() + "' in 'main' is not one of the program's";
    });
    if (problem.empty() && calls != program.kernels.size())
      problem =
          "'main' calls " + std::to_string(calls) + " kernels, the program " + std::to_string(program.kernels.size());
    return problem;
  }

  std::string checkCode(const KernelCode &code) {
    func::FuncOp ours = code.function;
    auto function = given.lookupSymbol<func::FuncOp>(ours.getName());
    std::string name = "kernel '" + ours.getName().str() + "'";
    if (!function || function.isExternal())
      return name + " is missing";
    if (function.getFunctionType() != ours.getFunctionType() || !function.isPrivate() ||
        function->getAttr(symbolsAttrName) != ours->getAttr(symbolsAttrName))
      return name + " has other operands or results than the program's";
    for (Operation &op : function.getBody().front())
      if (!isa_and_nonnull<GraphDialect>(op.getDialect()) && !isa<func::ReturnOp>(op))
        return name + " has an op '" + op.getName().getStringRef().str() + "'";
    if (llvm::hasSingleElement(function.getBody().front()))
      return name + " computes nothing";
    if (program.backend->classOf(function) != code.kernelClass)
      return name + " is not of class " + code.kernelClass->name.str() + " any more, which its schedule is for";
    if (llvm::Error error = checkSchedule(*code.kernelClass, code.schedule, anchorOrEnd(function), target))
      return name + " does not fit its schedule: " + llvm::toString(std::move(error));
    return "";
  }

  Program &program;
  ModuleOp given;
  const Target &target;
};

} // namespace

LogicalResult takeKernels(Program &program, const Target &target, const StageText &given) {
  OwningOpRef<ModuleOp> parsed =
      parseStage(given.path, given.text, /*line=*/1, Calls::NumberSymbols, program.module.getLoc());
  if (!parsed || failed(KernelTexts(program, *parsed, target).check(given.path)))
    return failure();
  for (KernelCode &code : program.codes)
    code.function = parsed->lookupSymbol<func::FuncOp>(code.function.getName());
  program.main = parsed->lookupSymbol<func::FuncOp>("main");
  program.module.getBodyRegion().takeBody(parsed->getBodyRegion());
  return success();
}

} // namespace fathom
