// Brings a model into the form that is differentiated: its only result is the loss, and what gradients are asked of are
// inputs.
#include "compiler/graph/TypeText.h"
#include "compiler/passes/gradient/Request.h"
#include "compiler/passes/gradient/Rules.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_LIFTWEIGHTSPASS
#include "compiler/passes/Passes.h.inc"

namespace gradient {
namespace {

class Preparation {
public:
  explicit Preparation(func::FuncOp main)
      : main(main), builder(main.front().getTerminator()), emitter{builder, main.front().getTerminator(), ".loss"} {}

  LogicalResult setLoss(StringRef text) {
    llvm::Expected<Loss> loss = parseLoss(text);
    if (!loss)
      return emitError(main.getLoc(), ErrorCode::BadInput)
             << "the loss '" << text << "': " << llvm::toString(loss.takeError());
    Value output = findOutput(text);
    if (output)
      loss->function = Loss::Output, loss->output = text.str();
    else if (output = findOutput(loss->output); !output)
      return hint(emitError(main.getLoc(), ErrorCode::BadInput) << "the model has no output '" << loss->output << "'",
                  "it has " + outputNames());
    if (!isa<FloatType>(cast<RankedTensorType>(output.getType()).getElementType()))
      return emitError(main.getLoc(), ErrorCode::BadType)
             << "output '" << loss->output << "' has no floating-point numbers, and no gradients";
    if (Operation *source = output.getDefiningOp())
      emitter.like = source;
    FailureOr<Value> value = compute(*loss, Term(emitter, output));
    if (failed(value))
      return failure();
    setResults(main, *value, {loss->function == Loss::Output ? loss->output : "loss"});
    return success();
  }

  // The running statistics of normalisations that train are what the next step begins with.
  void carryStatistics() {
    SmallVector<Value> results(main.front().getTerminator()->getOperands());
    SmallVector<std::string> names{resultName(main, 0).str()};
    main.walk([&](BatchNormalizationOp op) {
      for (auto [operand, result] : {std::pair(3, 1), std::pair(4, 2)}) {
        auto constant = op->getOperand(operand).getDefiningOp<ConstantOp>();
        if (!op.getTrainingMode() || int(op.getNumResults()) <= result || !constant || !isWeight(constant))
          continue;
        StringRef name = opName(constant);
        Value given = addArgument(main, constant.getType(), name);
        constant.getResult().replaceAllUsesWith(given);
        results.push_back(op.getResult(result));
        names.push_back(name.str());
      }
    });
    setResults(main, results, names);
  }

  // Makes inputs of the constants that are asked for, and says what all that is asked for is called.
  FailureOr<SmallVector<StringRef>> lift(ArrayRef<StringRef> names) {
    llvm::MapVector<StringRef, Value> weights;
    main.walk([&](ConstantOp constant) {
      if (isWeight(constant))
        weights.try_emplace(opName(constant), constant);
    });
    SmallVector<StringRef> lifted;
    if (names.empty()) {
      DenseSet<Operation *> relevant = smoothSources();
      for (auto [name, value] : weights)
        if (relevant.contains(value.getDefiningOp()) && cast<RankedTensorType>(value.getType()).getRank() > 0)
          lifted.push_back(name);
      if (lifted.empty())
        return LogicalResult(
            hint(emitError(main.getLoc(), ErrorCode::BadInput) << "the loss depends on no weights of the model",
                 "--wrt names what gradients are taken of"));
    }
    for (StringRef name : names)
      if (!llvm::is_contained(lifted, name))
        lifted.push_back(name);
    for (StringRef name : lifted) {
      Value value = findArgument(main, name);
      if (!value) {
        auto weight = weights.find(name);
        if (weight == weights.end())
          return LogicalResult(
              hint(emitError(main.getLoc(), ErrorCode::BadInput) << "the model has no input or weight '" << name << "'",
                   "--wrt names what gradients are taken of; 'weights' means all weights"));
        Operation *constant = weight->second.getDefiningOp();
        value = addArgument(main, weight->second.getType(), name);
        weight->second.replaceAllUsesWith(value);
        constant->erase();
      }
      if (!isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType()))
        return emitError(main.getLoc(), ErrorCode::BadType)
               << "'" << name << "' has no floating-point numbers, and no gradient";
    }
    return lifted;
  }

private:
  // An initializer of the model: a place of its own, which is called as it is. Numbers that nodes bring are at theirs.
  static bool isWeight(ConstantOp constant) {
    auto type = cast<RankedTensorType>(constant.getType());
    StringRef name = opName(constant);
    return isa<FloatType>(type.getElementType()) && !name.empty() && nodeName(constant.getLoc()) == name;
  }

  Value findOutput(StringRef name) {
    for (auto [i, value] : llvm::enumerate(main.front().getTerminator()->getOperands()))
      if (resultName(main, i) == name)
        return value;
    return {};
  }

  std::string outputNames() {
    std::string names;
    for (unsigned i = 0; i < main.getNumResults(); ++i)
      names += (i ? ", '" : "'") + resultName(main, i).str() + "'";
    return names;
  }

  // The input that an output is compared with: one that the model has, or a new one.
  FailureOr<Value> inputOf(const Loss &loss, ArrayRef<AffineExpr> sizes, Type element) {
    RankedTensorType type = tensorOf(sizes, element);
    if (Value given = findArgument(main, loss.input)) {
      auto other = cast<RankedTensorType>(given.getType());
      if (sizesOf(given) != Sizes(sizes) || !(other.getElementType() == element ||
                                              (isa<IntegerType>(element) && isa<IntegerType>(other.getElementType()))))
        return emitError(main.getLoc(), ErrorCode::BadShape)
               << "input '" << loss.input << "' is " << typeText(other, symbolsFor(main))
               << " and cannot be compared with output '" << loss.output << "', which needs "
               << typeText(type, symbolsFor(main));
      return given;
    }
    SymbolList symbols = symbolsFor(main);
    for (AffineExpr size : sizes) {
      auto symbol = dyn_cast<AffineSymbolExpr>(size);
      if (!constantSize(size) && !(symbol && !symbols[symbol.getPosition()].isComputed))
        return LogicalResult(hint(emitError(main.getLoc(), ErrorCode::UnsupportedShape)
                                      << "a size of output '" << loss.output
                                      << "' follows from others, so that no input '" << loss.input
                                      << "' can be made to compare it with",
                                  "give the model's dynamic dimensions sizes with --dim, or compute the loss in it"));
    }
    return addArgument(main, type, loss.input);
  }

  FailureOr<Value> compute(const Loss &loss, Term output) {
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, output.rank()));
    auto mean = [&](Term x) -> Value {
      return x.rank() == 0 ? Value(x) : x.apply<ReduceMeanOp>(emitter.ints(all), emitter.attr(0), emitter.attr(0));
    };
    switch (loss.function) {
    case Loss::Output:
      return Value(output);
    case Loss::Sum:
      return Value(output.sum(all, /*keeps=*/false));
    case Loss::Mean:
      return mean(output);
    case Loss::SquaredError: {
      FailureOr<Value> target = inputOf(loss, output.sizes(), output.type().getElementType());
      if (failed(target))
        return failure();
      Term difference = output - Term(emitter, *target);
      return mean(difference * difference);
    }
    case Loss::CrossEntropy:
      return crossEntropy(loss, output);
    }
    llvm_unreachable("all functions are listed");
  }

  // The mean over all labels that are classes of what the softmax along axis 1 says of them. Labels are compared with
  // the classes' numbers, so that the gradient needs no scattering.
  FailureOr<Value> crossEntropy(const Loss &loss, Term logits) {
    Sizes sizes = logits.sizes();
    if (sizes.size() < 2 || !constantSize(sizes[1]))
      return LogicalResult(hint(emitError(main.getLoc(), ErrorCode::BadShape)
                                    << "output '" << loss.output << "' has no axis 1 of classes, of a size that is "
                                    << "known, along which to take the cross-entropy",
                                "its dimensions must be batch, classes, and others"));
    int64_t classes = *constantSize(sizes[1]);
    Sizes labelSizes = sizes, column = sizes;
    labelSizes.erase(labelSizes.begin() + 1);
    column[1] = getAffineConstantExpr(1, main.getContext());
    Type index = builder.getI64Type();
    FailureOr<Value> given = inputOf(loss, labelSizes, index);
    if (failed(given))
      return failure();
    Term labels = Term(emitter, *given).cast(index).reshaped(column);
    Sizes numbered(sizes.size(), getAffineConstantExpr(1, main.getContext()));
    numbered[1] = sizes[1];
    Term numbers = Term(emitter, emitter.ints(llvm::to_vector(llvm::seq<int64_t>(0, classes)))).reshaped(numbered);
    Term isLabel = labels == numbers;
    Term logs = logits.apply<LogSoftmaxOp>(emitter.attr(1));
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, logits.rank()));
    Term count = isLabel.choose(logits.number(1), logits.number(0)).sum(all, /*keeps=*/false);
    return Value(-isLabel.choose(logs, logits.number(0)).sum(all, /*keeps=*/false) / count);
  }

  // Ops from which the loss follows smoothly.
  DenseSet<Operation *> smoothSources() {
    DenseSet<Operation *> found;
    SmallVector<Operation *> open{main.front().getTerminator()};
    while (!open.empty()) {
      Operation *op = open.pop_back_val();
      op->walk([&](Operation *inner) {
        for (OpOperand &operand : inner->getOpOperands())
          if (Operation *source = operand.get().getDefiningOp();
              source && allRules().isSmooth(operand) && found.insert(source).second)
            open.push_back(source);
      });
    }
    return found;
  }

  func::FuncOp main;
  OpBuilder builder;
  Emitter emitter;
};

} // namespace
} // namespace gradient

namespace {

struct LiftWeightsPass : impl::LiftWeightsPassBase<LiftWeightsPass> {
  LogicalResult runOnFunction(func::FuncOp main) override {
    ModuleOp module = getOperation();
    auto loss = module->getAttrOfType<StringAttr>(gradient::lossAttrName);
    if (!loss)
      return success();
    SmallVector<StringRef> names;
    if (auto wrt = module->getAttrOfType<ArrayAttr>(gradient::wrtAttrName))
      names = llvm::to_vector(wrt.getAsValueRange<StringAttr>());
    gradient::Preparation preparation(main);
    if (failed(preparation.setLoss(loss.getValue())))
      return failure();
    if (module->hasAttr(gradient::trainAttrName))
      preparation.carryStatistics();
    FailureOr<SmallVector<StringRef>> lifted = preparation.lift(names);
    if (failed(lifted))
      return failure();
    module->removeAttr(gradient::lossAttrName);
    module->setAttr(gradient::wrtAttrName, Builder(module.getContext()).getStrArrayAttr(*lifted));
    return success();
  }
};

} // namespace
} // namespace fathom
