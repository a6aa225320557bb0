// Support vector machines: kernels of rows with support vectors, weighed and, between classes, voted on in pairs.
#include "compiler/import/rules/ml/Ml.h"

using namespace mlir;

namespace fathom::importer {
namespace {

struct Kernel {
  std::string type;
  double gamma = 0, shift = 0, degree = 0;
};

std::optional<Kernel> kernelOf(Node &node) {
  Kernel kernel{node.stringAttr("kernel_type", "LINEAR").str()};
  auto params = node.floatsAttr("kernel_params").value_or(SmallVector<double>());
  bool isKnown = llvm::is_contained({"LINEAR", "POLY", "RBF", "SIGMOID"}, kernel.type);
  if (!isKnown || (params.size() < 3 && !params.empty())) {
    node.error(ErrorCode::BadAttribute) << "kernel_type '" << kernel.type << "' with " << params.size()
                                        << " kernel_params is not known";
    return std::nullopt;
  }
  if (!params.empty())
    kernel.gamma = params[0], kernel.shift = params[1], kernel.degree = params[2];
  return kernel;
}

// What each row has to do with each vector: of shape (rows, vectors).
Value kernelValues(Node &node, const Kernel &kernel, Value rows, ArrayRef<double> vectors, int64_t columns) {
  int64_t count = int64_t(vectors.size()) / columns;
  if (kernel.type == "RBF") {
    // By differences: squares of the rows and vectors alone would cancel each other out.
    Value apart = node.emit("Unsqueeze", {rows, node.ints({1}, "axis")}, {}, "apart");
    Value all = floats(node, vectors, {1, count, columns}, "vectors");
    Value difference = node.emit("Sub", {apart, all}, {}, "difference");
    Value square = node.emit("Mul", {difference, difference}, {}, "square");
    Value distance =
        node.emit("ReduceSum", {square, node.ints({2}, "axis")}, node.attr("keepdims", int64_t(0)), "distance");
    return node.emit("Exp", withNumber(node, "Mul", distance, -kernel.gamma, "scaled"), {}, "kernel");
  }
  Value dot = product(node, rows, vectors, columns, {}, "dot");
  if (kernel.type == "LINEAR")
    return dot;
  dot = withNumber(node, "Add", withNumber(node, "Mul", dot, kernel.gamma, "scaled"), kernel.shift, "shifted");
  if (kernel.type == "SIGMOID")
    return node.emit("Tanh", dot, {}, "kernel");
  if (kernel.degree == 2 || kernel.degree == 3) {
    Value square = node.emit("Mul", {dot, dot}, {}, "square");
    return kernel.degree == 2 ? square : node.emit("Mul", {square, dot}, {}, "cube");
  }
  return withNumber(node, "Pow", dot, kernel.degree, "power");
}

LogicalResult svmRegressor(Node &node) {
  std::optional<Kernel> kernel = kernelOf(node);
  auto coefficients = node.floatsAttr("coefficients").value_or(SmallVector<double>());
  auto vectors = node.floatsAttr("support_vectors").value_or(SmallVector<double>());
  auto rho = node.floatsAttr("rho").value_or(SmallVector<double>());
  int64_t count = node.intAttr("n_supports", 0);
  bool isOneClass = node.intAttr("one_class", 0) != 0;
  node.ignoreAttr("post_transform"); // ONNX Runtime has none here either
  if (!kernel)
    return failure();
  if (coefficients.empty() || rho.empty() || count < 0 ||
      (count && (vectors.size() % count || int64_t(coefficients.size()) != count)))
    return node.error(ErrorCode::BadAttribute) << "the attributes of " << node.type() << " do not go together";
  int64_t columns = count ? vectors.size() / count : coefficients.size();
  Value rows = rowsOf(node, node.input(0), columns);
  if (!rows)
    return failure();
  StringRef suffix = isOneClass ? "score" : "";
  Value result =
      count ? product(node, kernelValues(node, *kernel, rows, vectors, columns), coefficients, count, {rho[0]}, suffix)
            : product(node, rows, coefficients, columns, {rho[0]}, suffix);
  if (isOneClass) {
    Type f32 = node.builder().getF32Type();
    Value isInside = node.emit("Greater", {result, node.scalar(0, f32, "zero")}, {}, "is_inside");
    result = node.emit("Where", {isInside, node.scalar(1, f32, "inside"), node.scalar(-1, f32, "outside")});
  }
  return node.finish(result);
}

// Probabilities of classes from those of pairs, by the second method of Wu, Lin and Weng: at most 100 steps, until no
// class is off by more than a limit. `pairs` has shape (rows, classes, classes).
Value coupled(Node &node, Value pairs, int64_t classes) {
  Type f32 = node.builder().getF32Type();
  NamedAttribute keep = node.attr("keepdims", int64_t(1));
  Value others = transpose(node, pairs, {0, 2, 1}, "others");
  Value square = node.emit("Mul", {others, others}, {}, "squares");
  Value diagonal = node.emit("ReduceSum", {square, node.ints({2}, "axis")}, keep, "diagonal"); // (rows, classes, 1)
  SmallVector<double> unit(classes * classes, 0);
  for (int64_t i = 0; i < classes; ++i)
    unit[i * classes + i] = 1;
  Value eye = floats(node, unit, {1, classes, classes}, "unit");
  Value off = node.emit("Neg", node.emit("Mul", {others, pairs}, {}, "products"), {}, "off");
  Value matrix = node.emit("Add", {off, node.emit("Mul", {eye, diagonal}, {}, "on")}, {}, "matrix");
  if (!matrix)
    return {};
  graph::Sizes sizes = graph::sizesOf(matrix);
  AffineExpr one = getAffineConstantExpr(1, node.context());
  Value start = node.emit(
      "Expand",
      {node.scalar(1.0 / double(classes), f32, "share"), node.sizesValue({sizes[0], sizes[1], one}, false, "sizes")},
      {}, "start");
  Value going = node.emit(
      "Expand",
      {node.scalar(1, node.builder().getI1Type(), "true"), node.sizesValue({sizes[0], one, one}, false, "row_sizes")},
      {}, "going");
  Value limit = node.scalar(0.005f / float(classes), f32, "limit");
  Value trip = node.scalar(100, node.builder().getI64Type(), "trip");
  auto body = [&](Value, Value, ValueRange carried) -> FailureOr<SmallVector<Value>> {
    Value shares = carried[0], stillGoing = carried[1];
    Value axis = node.ints({1}, "axis");
    Value weighed = node.emit("MatMul", {matrix, shares}, {}, "weighed"); // Q p
    Value total = node.emit("ReduceSum", {node.emit("Mul", {shares, weighed}, {}, "parts"), axis}, keep, "total");
    Value error = node.emit("Abs", node.emit("Sub", {weighed, total}, {}, "errors"), {}, "error");
    Value worst = node.emit("ReduceMax", {error, axis}, keep, "worst");
    Value isOff = node.emit("GreaterOrEqual", {worst, limit}, {}, "is_off");
    Value next = node.emit("And", {stillGoing, isOff}, {}, "next_going"), moved = shares;
    for (int64_t i = 0; i < classes; ++i) {
      Value own = part(node, diagonal, 1, i, i + 1, "own");
      Value at = part(node, weighed, 1, i, i + 1, "at");
      Value step = node.emit("Div", {node.emit("Sub", {total, at}, {}, "gap"), own}, {}, "step");
      Value scale = withNumber(node, "Add", step, 1, "scale");
      Value here = floats(node, ArrayRef(unit).slice(i * classes, classes), {1, classes, 1}, "here");
      moved = node.emit("Add", {moved, node.emit("Mul", {here, step}, {}, "change")}, {}, "changed");
      Value twice = node.emit(
          "Add", {node.emit("Mul", {step, own}, {}, "bend"), withNumber(node, "Mul", at, 2, "slope")}, {}, "growth");
      total = node.emit("Add", {total, node.emit("Mul", {step, twice}, {}, "more")}, {}, "grown");
      total = node.emit("Div", {node.emit("Div", {total, scale}, {}, "once"), scale}, {}, "total");
      Value column = part(node, matrix, 2, i, i + 1, "column");
      weighed = node.emit("Add", {weighed, node.emit("Mul", {step, column}, {}, "shift")}, {}, "shifted");
      weighed = node.emit("Div", {weighed, scale}, {}, "weighed");
      moved = node.emit("Div", {moved, scale}, {}, "moved");
    }
    moved = node.emit("Where", {next, moved, shares}, {}, "shares");
    Value flags = castAs(node, next, node.builder().getI64Type(), "flags");
    Value sum = node.emit("ReduceSum", {flags, node.none()}, node.attr("keepdims", int64_t(0)), "count");
    Value more = node.emit("Greater", {sum, node.scalar(0, node.builder().getI64Type(), "none")}, {}, "more");
    if (!more || !moved)
      return failure();
    return SmallVector<Value>{more, moved, next};
  };
  if (!start || !going || !trip)
    return {};
  FailureOr<SmallVector<Value>> results = node.loop(trip, {}, {start, going}, body, "coupled");
  if (failed(results))
    return {};
  return node.emit("Squeeze", {(*results)[0], node.ints({2}, "axis")}, {}, "shares");
}

struct Classifier {
  Kernel kernel;
  SmallVector<double> coefficients, vectors, rho, probA, probB;
  SmallVector<int64_t> perClass;
  Labels labels;
  StringRef transform;
};

// One score for each class, without support vectors.
LogicalResult linearScores(Node &node, Classifier &c) {
  int64_t classes = c.labels.size();
  if (c.coefficients.size() % classes)
    return node.error(ErrorCode::BadAttribute) << "the coefficients of " << node.type() << " do not go by its classes";
  int64_t columns = c.coefficients.size() / classes;
  Value rows = rowsOf(node, node.input(0), columns);
  if (!rows)
    return failure();
  SmallVector<double> bias(classes, c.rho[0]);
  Value scores = product(node, rows, c.coefficients, columns, bias, "scores");
  Value label;
  if (classes == 2 && c.probA.empty()) {
    // Where the greater score is high enough it means the second class, whichever has it.
    bool arePositive = llvm::all_of(c.coefficients, [](double value) { return value >= 0; });
    Value greatest =
        node.emit("ReduceMax", {scores, node.ints({1}, "axis")}, node.attr("keepdims", int64_t(1)), "greatest");
    Value limit = node.scalar(arePositive ? 0.5 : 0, node.builder().getF32Type(), "limit");
    Value isHigh = node.emit(arePositive ? "GreaterOrEqual" : "Greater", {greatest, limit}, {}, "is_high");
    Value isSecond = node.emit("Greater", {part(node, scores, 1, 1, 2, "second"), part(node, scores, 1, 0, 1, "first")},
                               {}, "is_greater");
    label = labelWhere(node, c.labels, node.emit("Or", {isHigh, isSecond}, {}, "is_second"));
  } else {
    label = labelOfGreatest(node, c.labels, scores);
  }
  return node.finish({label, transformed(node, scores, c.transform)});
}

LogicalResult pairScores(Node &node, Classifier &c) {
  int64_t classes = c.labels.size(), vectors = 0, pairs = classes * (classes - 1) / 2;
  SmallVector<int64_t> first;
  for (int64_t count : c.perClass) {
    first.push_back(vectors);
    if (count < 0 || count > INT32_MAX)
      return node.error(ErrorCode::BadAttribute) << "a class has " << count << " support vectors";
    vectors += count;
  }
  if (classes < 2 || int64_t(c.perClass.size()) != classes || c.vectors.size() % vectors || c.vectors.empty() ||
      int64_t(c.coefficients.size()) < (classes - 1) * vectors || int64_t(c.rho.size()) < pairs ||
      c.probA.size() != c.probB.size() || (!c.probA.empty() && int64_t(c.probA.size()) < pairs))
    return node.error(ErrorCode::BadAttribute) << "the attributes of " << node.type() << " do not go together";
  int64_t columns = c.vectors.size() / vectors;
  Value rows = rowsOf(node, node.input(0), columns);
  if (!rows)
    return failure();
  // A pair's score weighs the vectors of both its classes; a vote goes to the first of them where it is positive.
  SmallVector<double> weights(pairs * vectors, 0), votes(pairs * classes, 0), lost(classes, 0);
  int64_t pair = 0;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      auto take = [&](int64_t of, int64_t row) {
        for (int64_t v = first[of]; v < first[of] + c.perClass[of]; ++v)
          weights[pair * vectors + v] = c.coefficients[row * vectors + v];
      };
      take(i, j - 1), take(j, i);
      votes[i * pairs + pair] = 1, votes[j * pairs + pair] = -1;
      lost[j] += 1;
    }
  Value kernels = kernelValues(node, c.kernel, rows, c.vectors, columns);
  Value scores = product(node, kernels, weights, vectors, ArrayRef(c.rho).take_front(pairs), "pairs");
  Type f32 = node.builder().getF32Type();
  Value isFirst = node.emit("Greater", {scores, node.scalar(0, f32, "zero")}, {}, "is_first");
  Value label =
      labelOfGreatest(node, c.labels, product(node, castAs(node, isFirst, f32, "won"), votes, pairs, lost, "votes"));
  if (c.probA.empty()) {
    if (pairs > 1)
      return node.finish({label, transformed(node, scores, c.transform)});
    return node.finish({label, transformedPair(node, scores, /*isShare=*/c.transform != "NONE", c.transform)});
  }
  Value a = floats(node, ArrayRef(c.probA).take_front(pairs), {pairs}, "a");
  Value b = floats(node, ArrayRef(c.probB).take_front(pairs), {pairs}, "b");
  Value fit = node.emit("Add", {node.emit("Mul", {scores, a}, {}, "fitted"), b}, {}, "fit");
  Value shares = node.emit("Sigmoid", node.emit("Neg", fit, {}, "negative"), {}, "pair_shares");
  shares =
      node.emit("Clip", {shares, node.scalar(1e-7f, f32, "least"), node.scalar(1 - 1e-7f, f32, "most")}, {}, "clipped");
  // Row i, column j: how likely class i is, of the two. On the diagonal there is nothing.
  SmallVector<int64_t> place(classes * classes);
  pair = 0;
  for (int64_t i = 0; i < classes; ++i) {
    place[i * classes + i] = 2 * pairs;
    for (int64_t j = i + 1; j < classes; ++j, ++pair)
      place[i * classes + j] = pair, place[j * classes + i] = pairs + pair;
  }
  Value rest = node.emit("Sub", {node.scalar(1, f32, "one"), shares}, {}, "rest");
  Value nothing = withNumber(node, "Mul", part(node, shares, 1, 0, 1, "some"), 0, "nothing");
  Value all = node.emit("Concat", {shares, rest, nothing}, node.attr("axis", int64_t(1)), "all");
  Value table = node.table(ArrayRef(reinterpret_cast<const char *>(place.data()), place.size() * sizeof(int64_t)),
                           RankedTensorType::get({classes, classes}, node.builder().getI64Type()), "places");
  Value matrix = node.emit("Gather", {all, table}, node.attr("axis", int64_t(1)), "matrix");
  if (!matrix)
    return failure();
  return node.finish({label, transformed(node, coupled(node, matrix, classes), c.transform)});
}

LogicalResult svmClassifier(Node &node) {
  std::optional<Kernel> kernel = kernelOf(node);
  std::optional<Labels> labels = labelsOf(node, "classlabels_ints", "classlabels_strings");
  if (!kernel || !labels)
    return failure();
  auto floatsOf = [&](StringRef name) { return node.floatsAttr(name).value_or(SmallVector<double>()); };
  Classifier c{*kernel,
               floatsOf("coefficients"),
               floatsOf("support_vectors"),
               floatsOf("rho"),
               floatsOf("prob_a"),
               floatsOf("prob_b"),
               node.intsAttr("vectors_per_class").value_or(SmallVector<int64_t>()),
               *labels,
               node.stringAttr("post_transform", "NONE")};
  if (!isTransform(node, c.transform))
    return failure();
  if (c.coefficients.empty() || c.rho.empty())
    return node.error(ErrorCode::BadAttribute) << node.type() << " needs coefficients and rho";
  bool hasVectors = llvm::any_of(c.perClass, [](int64_t count) { return count > 0; });
  return hasVectors ? pairScores(node, c) : linearScores(node, c);
}

} // namespace

ArrayRef<Rule> mlSvmRules() {
  static constexpr Rule rules[] = {{"SVMClassifier", 1, 1, svmClassifier}, {"SVMRegressor", 1, 1, svmRegressor}};
  return rules;
}

} // namespace fathom::importer
