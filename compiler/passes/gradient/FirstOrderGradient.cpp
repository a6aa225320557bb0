// Reverse-mode differentiation: behind the ops that compute the loss come those that compute its gradients, from the
// last op to the first, each by a rule of its operator.
#include "compiler/passes/gradient/Request.h"
#include "compiler/passes/gradient/Rules.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;
using namespace fathom::gradient;

namespace fathom {
#define GEN_PASS_DEF_FIRSTORDERGRADIENTPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// The gradients of the function's first result, which become results behind it.
LogicalResult differentiate(func::FuncOp main, ArrayRef<StringRef> names, StringRef suffix = ".gradient") {
  Operation *end = main.front().getTerminator();
  if (end->getNumOperands() == 0)
    return emitError(main.getLoc(), ErrorCode::BadInput) << "there is no result to differentiate";
  Value loss = end->getOperand(0);
  auto type = cast<RankedTensorType>(loss.getType());
  StringRef lossName = resultName(main, 0);
  if (!isa<FloatType>(type.getElementType()))
    return emitError(main.getLoc(), ErrorCode::BadType)
           << "the loss '" << lossName << "' has no floating-point numbers, and no gradients";
  if (llvm::any_of(sizesOf(type), [](AffineExpr size) { return !isConstant(size, 1); }))
    return hint(emitError(main.getLoc(), ErrorCode::BadShape) << "the loss '" << lossName << "' is not one number",
                "sum:" + lossName + " and mean:" + lossName + " make one of it, mse: and cross-entropy: compare it");
  SmallVector<Value> sources;
  for (StringRef name : names) {
    sources.push_back(findArgument(main, name));
    if (!sources.back())
      return emitError(main.getLoc(), ErrorCode::BadInput) << "there is no input '" << name << "'";
  }
  OpBuilder builder(end);
  Backward back(builder);
  back.activate(sources, main.front());
  back.setOp(end);
  if (back.isActive(loss)) {
    back.addExact(loss, Term(back.ops(), makeScalar(builder, end, type.getElementType(), 1)).reshaped(sizesOf(type)));
    if (failed(back.run(main.front())))
      return failure();
  }
  // What else the function has as results stays behind the gradients.
  SmallVector<Value> results{end->getOperand(0)};
  SmallVector<std::string> resultNames{lossName.str()}, others;
  for (unsigned i = 1; i < end->getNumOperands(); ++i)
    others.push_back(resultName(main, i).str());
  back.setOp(end);
  for (auto [name, source] : llvm::zip_equal(names, sources)) {
    Value gradient = back.adjointOf(source);
    if (!gradient) {
      hint(emitWarning(main.getLoc()) << "the loss does not change with '" << name << "': its gradient is zero",
           "it is not used, or only where no small change matters");
      Type element = cast<RankedTensorType>(source.getType()).getElementType();
      gradient = Term(back.ops(), makeScalar(builder, end, element, 0)).expanded(sizesOf(source));
    }
    results.push_back(gradient);
    resultNames.push_back((name + suffix).str());
  }
  llvm::append_range(results, end->getOperands().drop_front());
  llvm::append_range(resultNames, others);
  setResults(main, results, resultNames);
  return success();
}

// The second derivatives times directions, which are inputs: the gradients of how the loss changes along these.
LogicalResult addCurvature(func::FuncOp main, ArrayRef<StringRef> names) {
  Operation *end = main.front().getTerminator();
  SmallVector<Value> results(end->getOperands());
  SmallVector<std::string> resultNames{"slope"};
  for (unsigned i = 0; i < results.size(); ++i)
    resultNames.push_back(resultName(main, i).str());
  OpBuilder builder(end);
  Emitter emitter{builder, end, ".slope"};
  std::optional<Term> slope;
  for (auto [i, name] : llvm::enumerate(names)) {
    Term gradient(emitter, results[i + 1]);
    if (Operation *source = results[i + 1].getDefiningOp())
      emitter.like = source;
    Term part = gradient * Term(emitter, addArgument(main, gradient.type(), (name + ".direction").str()));
    part = part.sum(llvm::to_vector(llvm::seq<int64_t>(0, part.rank())), /*keeps=*/false);
    slope = slope ? *slope + part.cast(slope->type().getElementType()) : part;
  }
  results.insert(results.begin(), *slope);
  setResults(main, results, resultNames);
  if (failed(differentiate(main, names, ".curvature")))
    return failure();
  // Behind the gradients, and without the slope.
  size_t count = names.size();
  results.assign(end->operand_begin() + 1, end->operand_end());
  resultNames.clear();
  for (unsigned i = 1; i <= results.size(); ++i)
    resultNames.push_back(resultName(main, i).str());
  std::rotate(results.begin(), results.begin() + count, results.begin() + 2 * count + 1);
  std::rotate(resultNames.begin(), resultNames.begin() + count, resultNames.begin() + 2 * count + 1);
  setResults(main, results, resultNames);
  return success();
}

struct FirstOrderGradientPass : impl::FirstOrderGradientPassBase<FirstOrderGradientPass> {
  LogicalResult runOnFunction(func::FuncOp main) override {
    auto wrt = getOperation()->getAttrOfType<ArrayAttr>(wrtAttrName);
    if (!wrt)
      return success();
    auto names = llvm::to_vector(wrt.getAsValueRange<StringAttr>());
    if (failed(differentiate(main, names)))
      return failure();
    bool isTwice = getOperation()->removeAttr(curvatureAttrName) != nullptr;
    return isTwice && !names.empty() ? addCurvature(main, names) : success();
  }
};

} // namespace
} // namespace fathom
