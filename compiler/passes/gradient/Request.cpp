// Requests for gradients, and the borders of the function that they change.
#include "compiler/passes/gradient/Request.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace fathom::gradient {

llvm::Expected<Loss> parseLoss(StringRef text) {
  static constexpr std::pair<StringLiteral, Loss::Function> functions[] = {
      {"sum:", Loss::Sum}, {"mean:", Loss::Mean}, {"mse:", Loss::SquaredError}, {"cross-entropy:", Loss::CrossEntropy}};
  Loss loss;
  for (auto [word, function] : functions)
    if (text.consume_front(word)) {
      loss.function = function;
      break;
    }
  // Names may have colons; an input's is taken to have none.
  StringRef output = text, input;
  if (loss.function == Loss::SquaredError || loss.function == Loss::CrossEntropy) {
    std::tie(output, input) = text.rsplit(':');
    if (input.empty())
      return llvm::createStringError("OUTPUT:INPUT, the output and the input that it is compared with, is expected "
                                     "behind the name of the loss");
  }
  if (output.empty())
    return llvm::createStringError("the output's name is missing");
  loss.output = output.str(), loss.input = input.str();
  return loss;
}

llvm::Expected<Optimizer> parseOptimizer(StringRef text) {
  Optimizer made;
  auto [kind, rest] = text.split(':');
  bool isSgd = kind == "sgd";
  if (kind == "adam")
    made.kind = Optimizer::Adam;
  else if (kind == "adamw")
    made.kind = Optimizer::AdamW, made.decay = 0.01;
  else if (!isSgd)
    return llvm::createStringError("there is no optimizer '" + kind + "'; there are sgd, adam and adamw");
  bool hasRate = false;
  SmallVector<StringRef> entries;
  rest.split(entries, ',', -1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [key, value] = entry.split('=');
    double number = 0;
    bool isNumber = !value.getAsDouble(number) && std::isfinite(number) && number >= 0;
    double *place = key == "decay"               ? &made.decay
                    : isSgd && key == "momentum" ? &made.momentum
                    : !isSgd && key == "beta1"   ? &made.beta1
                    : !isSgd && key == "beta2"   ? &made.beta2
                    : !isSgd && key == "epsilon" ? &made.epsilon
                                                 : nullptr;
    if (key == "lr" && (isNumber || value == "input")) {
      hasRate = true;
      if (isNumber)
        made.rate = number;
    } else if (isSgd && entry == "nesterov") {
      made.nesterov = true;
    } else if (place && isNumber && (key == "decay" || key == "epsilon" || number < 1)) {
      *place = number;
    } else {
      return llvm::createStringError(
          "'" + entry + "' is nothing that " + kind + " takes, which is lr=RATE or lr=input, " +
          (isSgd ? "momentum=, decay= and nesterov" : "beta1=, beta2=, epsilon= and decay=") +
          ", with numbers of at least 0, momentum and betas below 1");
    }
  }
  if (!hasRate)
    return llvm::createStringError("lr=RATE or lr=input is missing");
  if (made.nesterov && made.momentum == 0)
    return llvm::createStringError("nesterov needs momentum=");
  return made;
}

static StringRef nameIn(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<StringAttr>("graph.name") : StringAttr();
  return name ? name.getValue() : "";
}

StringRef argumentName(func::FuncOp main, unsigned index) { return nameIn(main.getArgAttrDict(index)); }
StringRef resultName(func::FuncOp main, unsigned index) { return nameIn(main.getResultAttrDict(index)); }

Value findArgument(func::FuncOp main, StringRef name) {
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (argumentName(main, i) == name)
      return main.getArgument(i);
  return {};
}

Value addArgument(func::FuncOp main, Type type, StringRef name) {
  Builder b(main.getContext());
  NamedAttribute attribute = b.getNamedAttr("graph.name", b.getStringAttr(name));
  unsigned index = main.getNumArguments();
  (void)main.insertArgument(index, type, b.getDictionaryAttr(attribute), NameLoc::get(b.getStringAttr(name)));
  return main.getArgument(index);
}

void setResults(func::FuncOp main, ValueRange values, ArrayRef<std::string> names) {
  Builder b(main.getContext());
  main.front().getTerminator()->setOperands(values);
  main.setFunctionType(b.getFunctionType(main.getArgumentTypes(), values.getTypes()));
  SmallVector<DictionaryAttr> attributes;
  for (const std::string &name : names)
    attributes.push_back(b.getDictionaryAttr(b.getNamedAttr("graph.name", b.getStringAttr(name))));
  main.setAllResultAttrs(attributes);
}

} // namespace fathom::gradient
