// The rule of Einsum: operands are multiplied from left to right, each time by a matrix product over the labels that
// nothing later needs, or elementwise where there are none.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/node/Normalize.h"
#include "compiler/import/rules/Parts.h"

using namespace mlir;

namespace fathom::importer {
namespace {

// A letter, or a dimension of the ellipsis: -1 for its last, -2 for the one before, so that they align at the right.
using Labels = SmallVector<int>;

struct Operand {
  Value value;
  Labels labels; // of its dimensions, no two the same
};

class Einsum {
public:
  explicit Einsum(Node &node) : node(node) {}

  LogicalResult run() {
    if (failed(parse()))
      return failure();
    // Products and sums are of 32 bits at least; those of narrow integers wrap around as theirs would.
    Type element = node.elementType(0), wide = element;
    if (auto integer = dyn_cast<IntegerType>(element); integer && integer.getWidth() > 1 && integer.getWidth() < 32)
      wide = IntegerType::get(node.context(), 32, integer.getSignedness());
    for (Operand &operand : operands) {
      if (wide != element)
        operand.value = castAs(node, operand.value, wide, "wide");
      if (!takeDiagonals(operand))
        return failure();
    }
    if (failed(dropBroadcast()))
      return failure();
    for (size_t i = 0; i < operands.size(); ++i)
      sumOut(operands[i], neededBeside(i, i));
    Operand result = operands[0];
    for (size_t i = 1; i < operands.size() && result.value; ++i)
      result = multiply(result, operands[i], neededBeside(0, i));
    if (!result.value)
      return failure();
    SmallVector<int64_t> perm = positions(result.labels, output);
    if (wide != element)
      result.value = castAs(node, result.value, element, "narrow");
    return node.finish(llvm::is_sorted(perm) ? node.emit("Identity", result.value)
                                             : transposed(result.value, perm, ""));
  }

private:
  LogicalResult parse() {
    std::string equation;
    for (char c : node.stringAttr("equation", ""))
      if (c != ' ')
        equation += c;
    auto bad = [&](const Twine &why) {
      return node.error(ErrorCode::BadAttribute) << "equation '" << equation << "' " << why.str();
    };
    auto [left, right] = StringRef(equation).split("->");
    bool isExplicit = StringRef(equation).contains("->");
    SmallVector<StringRef> terms;
    left.split(terms, ',');
    if (terms.size() != node.numInputs())
      return bad("has " + Twine(terms.size()) + " terms for " + Twine(node.numInputs()) + " inputs");
    int64_t ellipsis = 0; // the rank of the widest
    llvm::MapVector<int, int64_t> uses;
    for (auto [i, term] : llvm::enumerate(terms)) {
      int64_t letters = term.size() - (term.contains("...") ? 3 : 0), rest = node.rank(i) - letters;
      if (rest < 0 || (rest > 0 && !term.contains("...")))
        return bad("gives input " + Twine(i) + " " + Twine(letters) + " labels, but it has rank " +
                   Twine(node.rank(i)));
      FailureOr<Labels> labels = labelsOf(term, rest);
      if (failed(labels))
        return bad("is not made of letters and at most one ... a term");
      ellipsis = std::max(ellipsis, term.contains("...") ? rest : 0);
      for (int label : *labels)
        ++uses[label];
      operands.push_back({node.input(i), std::move(*labels)});
    }
    if (isExplicit) {
      FailureOr<Labels> labels = labelsOf(right, ellipsis);
      if (failed(labels))
        return bad("is not made of letters and at most one ... a term");
      output = std::move(*labels);
      for (auto [i, label] : llvm::enumerate(output))
        if (!uses.contains(label) || llvm::is_contained(ArrayRef(output).take_front(i), label))
          return bad("gives a label that no input has, or gives one twice");
      return success();
    }
    // The ellipsis, then what occurs once, by the alphabet.
    for (auto [label, count] : uses)
      if (label < 0 || count == 1)
        output.push_back(label);
    llvm::sort(output);
    return success();
  }

  static FailureOr<Labels> labelsOf(StringRef term, int64_t ellipsis) {
    Labels labels;
    bool hasEllipsis = false;
    while (!term.empty()) {
      if (!hasEllipsis && term.consume_front("...")) {
        for (int64_t d = ellipsis; d > 0; --d)
          labels.push_back(-d);
        hasEllipsis = true;
        continue;
      }
      if (!llvm::isAlpha(term.front()))
        return failure();
      labels.push_back(term.front());
      term = term.drop_front();
    }
    return labels;
  }

  // Labels of the output and of the operands before `first` and after `last`, but not between them.
  llvm::SmallDenseSet<int> neededBeside(size_t first, size_t last) {
    llvm::SmallDenseSet<int> needed(output.begin(), output.end());
    for (size_t i = 0; i < operands.size(); ++i)
      if (i < first || i > last)
        needed.insert(operands[i].labels.begin(), operands[i].labels.end());
    return needed;
  }

  Value transposed(Value value, ArrayRef<int64_t> perm, StringRef suffix) {
    return node.emit("Transpose", value, node.attr("perm", node.builder().getDenseI64ArrayAttr(perm)), suffix);
  }
  static SmallVector<int64_t> positions(ArrayRef<int> labels, ArrayRef<int> wanted) {
    SmallVector<int64_t> result;
    for (int label : wanted)
      result.push_back(llvm::find(labels, label) - labels.begin());
    return result;
  }
  Value ordered(const Operand &operand, ArrayRef<int> wanted) {
    SmallVector<int64_t> perm = positions(operand.labels, wanted);
    return llvm::is_sorted(perm) ? operand.value : transposed(operand.value, perm, "ordered");
  }
  Value withSizes(Value value, ArrayRef<AffineExpr> sizes) {
    if (!value || llvm::is_contained(sizes, AffineExpr()))
      return {};
    return node.emit("Reshape", {value, node.sizesValue(sizes, false, "sizes")}, node.attr("allowzero", 1), "shaped");
  }
  AffineExpr sizeOf(const Operand &operand, int label) {
    return graph::sizesOf(operand.value)[llvm::find(operand.labels, label) - operand.labels.begin()];
  }

  // A label that an operand repeats selects a diagonal: everything else counts as zero and is summed.
  Value takeDiagonals(Operand &operand) {
    for (size_t i = 0; i < operand.labels.size() && operand.value; ++i) {
      auto later = llvm::find(ArrayRef(operand.labels).drop_front(i + 1), operand.labels[i]);
      size_t j = later - operand.labels.begin();
      if (j >= operand.labels.size())
        continue;
      AffineExpr size = graph::sizesOf(operand.value)[i];
      Type i64 = node.builder().getI64Type(),
           element = cast<RankedTensorType>(operand.value.getType()).getElementType();
      Value numbers = node.emit(
          "Range",
          {node.scalar(0, i64, "first"), node.sizesValue({size}, /*isScalar=*/true, "size"), node.scalar(1, i64, "by")},
          {}, "numbers");
      auto along = [&](size_t dim) {
        SmallVector<int64_t> axes;
        for (size_t d = 0; d < operand.labels.size(); ++d)
          if (d != dim)
            axes.push_back(d);
        return node.emit("Unsqueeze", {numbers, node.ints(axes, "axes")}, {}, "along");
      };
      Value isOn = node.emit("Equal", {along(i), along(j)}, {}, "diagonal");
      Value kept = node.emit("Where", {isOn, operand.value, node.scalar(0, element, "zero")}, {}, "kept");
      operand.value = node.emit("ReduceSum", {kept, node.ints({int64_t(j)}, "axis")}, node.attr("keepdims", int64_t(0)),
                                "diagonal");
      operand.labels.erase(operand.labels.begin() + j);
      --i; // there may be a third
    }
    return operand.value;
  }

  // A dimension of size 1 that is longer in another operand needs no label: it broadcasts.
  LogicalResult dropBroadcast() {
    llvm::SmallDenseMap<int, int64_t> sizes;
    for (Operand &operand : operands)
      for (int label : operand.labels) {
        int64_t size = graph::constantSize(sizeOf(operand, label)).value_or(0);
        int64_t &known = sizes.try_emplace(label, 1).first->second;
        if (size > 1 && known > 1 && size != known)
          return node.error(ErrorCode::BadShape) << "a label stands for size " << known << " and for size " << size;
        if (size != 1 && known <= 1)
          known = size;
      }
    for (Operand &operand : operands) {
      SmallVector<int64_t> axes;
      Labels kept;
      for (auto [d, label] : llvm::enumerate(operand.labels)) {
        if (graph::isConstant(graph::sizesOf(operand.value)[d], 1) && sizes[label] != 1)
          axes.push_back(d);
        else
          kept.push_back(label);
      }
      if (axes.empty())
        continue;
      operand.value = node.emit("Squeeze", {operand.value, node.ints(axes, "axes")}, {}, "squeezed");
      operand.labels = std::move(kept);
      if (!operand.value)
        return failure();
    }
    return success();
  }

  // Sums over labels that nothing else needs.
  void sumOut(Operand &operand, const llvm::SmallDenseSet<int> &needed) {
    SmallVector<int64_t> axes;
    Labels kept;
    for (auto [d, label] : llvm::enumerate(operand.labels)) {
      if (needed.contains(label))
        kept.push_back(label);
      else
        axes.push_back(d);
    }
    if (!axes.empty())
      operand.value =
          node.emit("ReduceSum", {operand.value, node.ints(axes, "axes")}, node.attr("keepdims", int64_t(0)), "sum");
    operand.labels = std::move(kept);
  }

  Operand multiply(Operand &a, Operand &b, const llvm::SmallDenseSet<int> &needed) {
    if (!a.value || !b.value)
      return {};
    Labels batch, rows, columns, inner;
    for (int label : a.labels) {
      bool isShared = llvm::is_contained(b.labels, label);
      (!isShared ? rows : needed.contains(label) ? batch : inner).push_back(label);
    }
    for (int label : b.labels)
      if (!llvm::is_contained(a.labels, label))
        columns.push_back(label);
    auto joined = [](ArrayRef<int> x, ArrayRef<int> y, ArrayRef<int> z) {
      Labels all(x);
      all.append(y.begin(), y.end());
      all.append(z.begin(), z.end());
      return all;
    };
    Operand result{{}, joined(batch, rows, columns)};
    if (inner.empty()) {
      // [batch..., rows..., 1...] times [batch..., 1..., columns...]
      auto raised = [&](Value value, size_t from, size_t count) {
        auto axes = llvm::to_vector(llvm::seq<int64_t>(from, from + count));
        return axes.empty() ? value : node.emit("Unsqueeze", {value, node.ints(axes, "axes")}, {}, "raised");
      };
      Value left = raised(ordered(a, joined(batch, rows, {})), batch.size() + rows.size(), columns.size());
      Value right = raised(ordered(b, joined(batch, columns, {})), batch.size(), rows.size());
      result.value = node.emit("Mul", {left, right}, {}, "product");
      return result;
    }
    // Either operand as [batch..., the product of x, the product of y].
    auto matrix = [&](const Operand &operand, ArrayRef<int> x, ArrayRef<int> y) {
      Value value = ordered(operand, joined(batch, x, y));
      if (!value || (x.size() == 1 && y.size() == 1))
        return value;
      graph::Sizes sizes;
      for (int label : batch)
        sizes.push_back(sizeOf(operand, label));
      for (ArrayRef<int> part : {x, y}) {
        AffineExpr size = getAffineConstantExpr(1, node.context());
        for (int label : part)
          size = graph::size::mul(size, sizeOf(operand, label));
        sizes.push_back(size);
      }
      return withSizes(value, sizes);
    };
    result.value = node.emit("MatMul", {matrix(a, rows, inner), matrix(b, inner, columns)}, {}, "product");
    if (!result.value || (rows.size() == 1 && columns.size() == 1))
      return result;
    graph::Sizes sizes = graph::sizesOf(result.value);
    sizes.pop_back_n(2);
    for (int label : rows)
      sizes.push_back(sizeOf(a, label));
    for (int label : columns)
      sizes.push_back(sizeOf(b, label));
    result.value = withSizes(result.value, sizes);
    return result;
  }

  Node &node;
  SmallVector<Operand> operands;
  Labels output;
};

LogicalResult einsum(Node &node) { return Einsum(node).run(); }

} // namespace

ArrayRef<Rule> einsumRules() {
  static constexpr Rule rules[] = {{"Einsum", 1, anyNumber, einsum}};
  return rules;
}

} // namespace fathom::importer
