// Turns gradients into a training step: weights and what an optimizer remembers are inputs, and, updated, results of
// the same names.
#include "compiler/passes/gradient/Request.h"
#include "compiler/passes/gradient/Term.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;
using namespace fathom::gradient;

namespace fathom {
#define GEN_PASS_DEF_UPDATEWEIGHTSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

class Update {
public:
  Update(func::FuncOp main, const Optimizer &optimizer)
      : main(main), optimizer(optimizer), builder(main.front().getTerminator()),
        emitter{builder, main.front().getTerminator(), ".update"}, end(main.front().getTerminator()) {}

  void run(ArrayRef<StringRef> names) {
    results.push_back(end->getOperand(0));
    resultNames.push_back(resultName(main, 0).str());
    for (unsigned i = 1; i <= names.size(); ++i) {
      StringRef name = names[i - 1];
      Operation *source = end->getOperand(i).getDefiningOp();
      emitter.like = source ? source : end;
      Term weight(emitter, findArgument(main, name)), gradient(emitter, end->getOperand(i));
      give(name, optimizer.kind == Optimizer::Sgd ? descend(name, weight, gradient) : adapt(name, weight, gradient));
    }
    for (auto [name, value] : steps)
      give(name, value);
    for (unsigned i = names.size() + 1; i < end->getNumOperands(); ++i)
      give(resultName(main, i), end->getOperand(i));
    setResults(main, results, resultNames);
  }

private:
  void give(StringRef name, Value value) {
    results.push_back(value);
    resultNames.push_back(name.str());
  }

  // A scalar input, once for each type of numbers.
  Term scalarInput(StringRef name, Type element) {
    std::string whole = name.str();
    if (Value given = findArgument(main, whole);
        given && cast<RankedTensorType>(given.getType()).getElementType() != element)
      return Term(emitter, given).cast(element);
    else if (given)
      return {emitter, given};
    return {emitter, addArgument(main, RankedTensorType::get({}, element), whole)};
  }
  Term rateFor(Term weight) {
    Type element = weight.type().getElementType();
    return optimizer.rate ? weight.number(*optimizer.rate) : scalarInput("optimizer.rate", element);
  }
  // What is remembered of a weight from step to step.
  Term memory(StringRef name, StringRef what, Term like) {
    return {emitter, addArgument(main, like.type(), (name + "." + what).str())};
  }

  Value descend(StringRef name, Term weight, Term gradient) {
    if (optimizer.decay != 0)
      gradient = gradient + optimizer.decay * weight;
    if (optimizer.momentum != 0) {
      Term speed = optimizer.momentum * memory(name, "momentum", weight) + gradient;
      give((name + ".momentum").str(), speed);
      gradient = optimizer.nesterov ? gradient + optimizer.momentum * speed : speed;
    }
    return weight - rateFor(weight) * gradient;
  }

  Value adapt(StringRef name, Term weight, Term gradient) {
    Type element = weight.type().getElementType();
    bool isApart = optimizer.kind == Optimizer::AdamW;
    if (optimizer.decay != 0 && !isApart)
      gradient = gradient + optimizer.decay * weight;
    Term mean = optimizer.beta1 * memory(name, "mean", weight) + (1 - optimizer.beta1) * gradient;
    Term square = optimizer.beta2 * memory(name, "square", weight) + (1 - optimizer.beta2) * (gradient * gradient);
    give((name + ".mean").str(), mean);
    give((name + ".square").str(), square);
    // Both begin at zero, which early steps are corrected for.
    Term step = stepFor(element), rate = rateFor(weight);
    Term meanScale = 1 - pow(step.number(optimizer.beta1), step);
    Term squareScale = 1 - pow(step.number(optimizer.beta2), step);
    Term change = (mean / meanScale) / (sqrt(square / squareScale) + optimizer.epsilon);
    if (optimizer.decay != 0 && isApart)
      weight = weight * (1 - optimizer.decay * rate);
    return weight - rate * change;
  }

  // The step's number, from 1 on.
  Term stepFor(Type element) {
    if (Value given = findArgument(main, "optimizer.step"))
      return Term(emitter, steps.front().second).cast(element);
    Term before = scalarInput("optimizer.step", element), now = before + 1;
    steps.push_back({"optimizer.step", now});
    return now;
  }

  func::FuncOp main;
  Optimizer optimizer;
  OpBuilder builder;
  Emitter emitter;
  Operation *end;
  SmallVector<Value> results;
  SmallVector<std::string> resultNames;
  SmallVector<std::pair<std::string, Value>> steps;
};

struct UpdateWeightsPass : impl::UpdateWeightsPassBase<UpdateWeightsPass> {
  LogicalResult runOnFunction(func::FuncOp main) override {
    ModuleOp module = getOperation();
    auto train = module->getAttrOfType<StringAttr>(trainAttrName);
    auto wrt = module->getAttrOfType<ArrayAttr>(wrtAttrName);
    if (!train || !wrt)
      return success();
    llvm::Expected<Optimizer> optimizer = parseOptimizer(train.getValue());
    if (!optimizer)
      return emitError(main.getLoc(), ErrorCode::BadInput)
             << "the optimizer '" << train.getValue() << "': " << llvm::toString(optimizer.takeError());
    Update(main, *optimizer).run(llvm::to_vector(wrt.getAsValueRange<StringAttr>()));
    module->removeAttr(trainAttrName);
    return success();
  }
};

} // namespace
} // namespace fathom
