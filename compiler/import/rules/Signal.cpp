// Rules of the Fourier transforms, which become products with matrices of cosines and sines: one, or two small ones
// where the length has factors.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Parts.h"
#include <complex>
#include <numbers>

using namespace mlir;

namespace fathom::importer {
namespace {

class Fourier {
public:
  explicit Fourier(Node &node) : node(node), f64(node.builder().getF64Type()), i64(node.builder().getI64Type()) {}

  LogicalResult dft() {
    isInverse = node.intAttr("inverse", 0), isOneSided = node.intAttr("onesided", 0);
    if (node.rank(0) < 2)
      return node.error(ErrorCode::BadShape)
             << "the input of DFT has type " << node.inputText(0) << " where a last size of 1 or 2 is needed";
    auto known = node.hasInput(2) ? graph::constantElementsOf(node.input(2)) : std::nullopt;
    std::optional<int64_t> parts = graph::constantSize(graph::sizesOf(node.input(0)).back());
    if (parts != 1 && parts != 2)
      return node.error(ErrorCode::UnsupportedShape)
             << "the last size of an input of type " << node.inputText(0) << " is not known to be 1 or 2";
    if (node.hasInput(1) && !(givenLength = sizeFrom(node.input(1), "length")))
      return failure();
    if (node.hasInput(2) && !known)
      return node.finish(alongRuntimeAxis(*parts));
    int64_t given = node.opset() < 20 ? node.intAttr("axis", 1) : -2;
    if (known && known->size() == 1)
      given = known->front();
    std::optional<int64_t> axis = graph::normalizeAxis(given, node.rank(0));
    if (!axis || *axis == node.rank(0) - 1)
      return node.error(ErrorCode::BadAttribute) << "axis " << given << " of an input of rank " << node.rank(0);
    return node.finish(transformed(*axis, *parts, ""));
  }

  LogicalResult stft() {
    bool isOneSided = node.intAttr("onesided", 1);
    graph::Sizes sizes = graph::sizesOf(node.input(0));
    std::optional<int64_t> parts = sizes.size() == 3 ? graph::constantSize(sizes[2]) : std::optional<int64_t>(1);
    if (sizes.size() < 2 || sizes.size() > 3 || (parts != 1 && parts != 2))
      return node.error(parts ? ErrorCode::BadShape : ErrorCode::UnsupportedShape)
             << "a signal of type " << node.inputText(0) << " is not known to be [batch, length, 1 or 2]";
    AffineExpr step = sizeFrom(node.input(1), "step"), length;
    if (node.hasInput(3))
      length = sizeFrom(node.input(3), "frame");
    else if (node.hasInput(2) && node.rank(2) == 1)
      length = graph::sizesOf(node.input(2))[0];
    if (!step || !length)
      return node.error(ErrorCode::BadGraph) << "STFT needs a window or the length of a frame, and a step";
    // How many frames fit is computed as data, which may be any numbers.
    auto scalar = [&](AffineExpr size) { return node.sizesValue({size}, /*isScalar=*/true, "size"); };
    Value rest = op("Max", op("Sub", scalar(sizes[1]), scalar(length)), node.scalar(-1, i64, "none"));
    Value stride = op("Max", scalar(step), node.scalar(1, i64, "least"));
    Value frames = op("Div", op("Add", rest, stride), stride);
    AffineExpr count = constantFrames(sizes[1], length, step);
    if (!count) {
      Value pinned = node.pinned(frames, "frames");
      std::optional<graph::Elements> known = pinned ? graph::elementsOf(pinned) : std::nullopt;
      if (!known)
        return failure();
      count = known->front();
    }
    Value starts = op("Mul", countUp(node, count, "frames"), scalar(step));
    Value places = op("Add", node.emit("Unsqueeze", {starts, node.ints({1}, "axis")}, {}, "starts"),
                      countUp(node, length, "within"));
    Value framed = node.emit("Gather", {node.input(0), places}, node.attr("axis", 1), "frames");
    if (node.hasInput(2)) {
      Value window = *parts == 1 && sizes.size() == 2
                         ? node.input(2)
                         : node.emit("Unsqueeze", {node.input(2), node.ints({1}, "axis")}, {}, "window");
      framed = op("Mul", framed, window);
    }
    AffineExpr columns = isOneSided ? half(length) : length;
    if (std::optional<Factors> factors = factorsOf(length, columns, *parts))
      return node.finish(inTwoSteps(framed, {sizes[0], count}, *factors, *graph::constantSize(columns), *parts, ""));
    Value rows = reshapeTo(node, framed, {sizes[0], count, graph::size::mul(length, *parts)}, "rows");
    Value product = node.emit("MatMul", {rows, waves(length, length, columns, *parts, false, false)}, {}, "products");
    return node.finish(
        reshapeTo(node, product, {sizes[0], count, columns, getAffineConstantExpr(2, node.context())}, ""));
  }

private:
  Value op(StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "wave"); }
  static AffineExpr half(AffineExpr length) { return graph::size::add(graph::size::floorDiv(length, 2), 1); }

  AffineExpr constantFrames(AffineExpr total, AffineExpr length, AffineExpr step) {
    auto t = graph::constantSize(total), l = graph::constantSize(length), s = graph::constantSize(step);
    if (!t || !l || !s || *s < 1)
      return {};
    return getAffineConstantExpr(*t < *l ? 0 : 1 + (*t - *l) / *s, node.context());
  }

  // An integer as a size; null after a report.
  AffineExpr sizeFrom(Value integer, StringRef name) {
    Value pinned = node.pinned(castAs(node, reshape(node, integer, {}, name), i64, name), name);
    std::optional<graph::Elements> known = pinned ? graph::elementsOf(pinned) : std::nullopt;
    return known ? known->front() : AffineExpr();
  }

  // The transform along one axis.
  Value transformed(int64_t axis, int64_t parts, StringRef suffix) {
    graph::Sizes sizes = graph::sizesOf(node.input(0));
    int64_t rank = sizes.size();
    bool isReal = isInverse && isOneSided; // the other half is known, and the result is real
    AffineExpr given = sizes[axis], length = isReal ? graph::size::mul(graph::size::add(given, -1), 2) : given;
    if (givenLength)
      length = givenLength;
    AffineExpr columns = isOneSided && !isInverse ? half(length) : length;
    // The transformed dimension and the parts of a number come last: [others..., given * parts].
    SmallVector<int64_t> perm, back(rank);
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis && d != rank - 1)
        perm.push_back(d);
    perm.append({axis, rank - 1});
    for (auto [i, d] : llvm::enumerate(perm))
      back[d] = i;
    graph::Sizes rows;
    for (int64_t d : ArrayRef(perm).drop_back(2))
      rows.push_back(sizes[d]);
    Value last = transpose(node, node.input(0), perm, "last");
    std::optional<int64_t> have = graph::constantSize(given);
    if (std::optional<Factors> factors = have ? factorsOf(length, columns, isReal ? 2 : parts) : std::nullopt) {
      last = fitted(last, rows.size(), *have, isReal ? factors->length() / 2 + 1 : factors->length());
      if (isReal)
        last = mirrored(last, rows.size(), factors->length(), parts);
      Value result =
          inTwoSteps(last, rows, *factors, *graph::constantSize(columns), isReal ? 2 : parts, "parts", isReal);
      return result ? transpose(node, result, back, suffix) : Value();
    }
    graph::Sizes full = rows;
    rows.push_back(graph::size::mul(given, parts));
    full.append({columns, getAffineConstantExpr(isReal ? 1 : 2, node.context())});
    Value input = reshapeTo(node, last, rows, "rows");
    Value matrix = waves(given, length, columns, parts, isInverse, isReal);
    Value product = node.emit("MatMul", {input, matrix}, {}, "transformed");
    Value result = reshapeTo(node, product, full, "parts");
    return result ? transpose(node, result, back, suffix) : Value();
  }

  // A length as a product. With j = j1 * second + j2 and k = k1 + first * k2, the sums over j1 are transforms of length
  // `first`, one for each j2; turned by the angle of k1 * j2 they are the numbers that transforms of length `second`,
  // one for each k1, sum over j2. (Cooley and Tukey's method, once; both transforms are products with small matrices.)
  struct Factors {
    int64_t first, second;
    int64_t length() const { return first * second; }
    // How many k2 there are among so many k.
    int64_t blocks(int64_t columns) const { return llvm::divideCeil(columns, first); }
    // Multiply-adds of both products, and what moving the numbers between them costs.
    int64_t cost(int64_t columns, int64_t parts) const {
      return 2 * first * parts * length() + 4 * length() * blocks(columns) + 64 * length();
    }
    // Elements of the matrices.
    int64_t tables(int64_t columns, int64_t parts) const {
      return 2 * first * first * parts + 4 * second * blocks(columns) + 2 * length();
    }
  };

  // The factors of a known length; none if a single product is cheaper.
  static std::optional<Factors> factorsOf(AffineExpr length, AffineExpr columns, int64_t parts) {
    std::optional<int64_t> n = graph::constantSize(length), results = graph::constantSize(columns);
    constexpr int64_t longest = 1 << 24, largest = 1 << 23; // elements
    if (!n || !results || *n < 4 || *n > longest || *results < 1)
      return std::nullopt;
    std::optional<Factors> best;
    int64_t least = *n * parts * 2 * *results;
    for (int64_t divisor = 2; divisor * divisor <= *n; ++divisor)
      if (*n % divisor == 0)
        for (Factors factors : {Factors{divisor, *n / divisor}, Factors{*n / divisor, divisor}})
          if (int64_t cost = factors.cost(*results, parts); cost < least && factors.tables(*results, parts) <= largest)
            best = factors, least = cost;
    return best;
  }

  Value table(ArrayRef<int64_t> shape, ArrayRef<double> values, StringRef name) {
    auto attr = DenseElementsAttr::get(RankedTensorType::get(shape, f64), values);
    return castAs(node, node.constant(attr, name), node.elementType(0), name);
  }

  // The number by which the number a turns into the number b of a transform of a length is multiplied.
  std::complex<double> turn(int64_t a, int64_t b, int64_t length) {
    double angle = 2 * std::numbers::pi * double(a * b % length) / double(length);
    return std::polar(1.0, isInverse ? angle : -angle);
  }

  // [lead..., length, parts] transformed to [lead..., columns, 2], or 1 where only the real part is wanted.
  Value inTwoSteps(Value input, ArrayRef<AffineExpr> lead, const Factors &factors, int64_t columns, int64_t parts,
                   StringRef suffix, bool isRealWanted = false) {
    int64_t first = factors.first, second = factors.second, blocks = factors.blocks(columns), axis = lead.size();
    int64_t made = isRealWanted ? 1 : 2;
    auto sizes = [&](std::initializer_list<int64_t> last) {
      graph::Sizes all(lead);
      for (int64_t size : last)
        all.push_back(getAffineConstantExpr(size, node.context()));
      return all;
    };
    auto swapped = [&](std::initializer_list<int64_t> last) {
      SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, axis));
      for (int64_t d : last)
        perm.push_back(axis + d);
      return perm;
    };
    // Rows (part, k1) and columns (part, j1): a number turns by (cos, sin), its imaginary part by (-sin, cos).
    std::vector<double> turns(2 * first * parts * first);
    for (int64_t k = 0; k < first; ++k)
      for (int64_t j = 0; j < first; ++j)
        for (int64_t p = 0; p < parts; ++p) {
          std::complex<double> factor = turn(j, k, first) * (p ? std::complex<double>(0, 1) : 1.0);
          turns[(k * parts + p) * first + j] = factor.real();
          turns[((first + k) * parts + p) * first + j] = factor.imag();
        }
    Value grid = reshapeTo(node, input, sizes({first, second, parts}), "grid");
    if (parts == 2)
      grid = transpose(node, grid, swapped({2, 0, 1}), "grid");
    grid = reshapeTo(node, grid, sizes({parts * first, second}), "grid");
    Value sums = op("MatMul", table({2 * first, parts * first}, turns, "first"), grid);
    if (!sums)
      return {};
    std::vector<double> cosines, sines;
    for (int64_t k = 0; k < first; ++k)
      for (int64_t j = 0; j < second; ++j) {
        std::complex<double> factor = turn(j, k, factors.length());
        cosines.push_back(factor.real()), sines.push_back(factor.imag());
      }
    Value cos = table({first, second}, cosines, "cos"), sin = table({first, second}, sines, "sin");
    Value real = part(node, sums, axis, 0, first, "real"),
          imaginary = part(node, sums, axis, first, 2 * first, "imaginary");
    SmallVector<Value> turned{op("Sub", op("Mul", real, cos), op("Mul", imaginary, sin)),
                              op("Add", op("Mul", real, sin), op("Mul", imaginary, cos))};
    Value rows = node.emit("Concat", turned, node.attr("axis", axis + 1), "turned");
    // Rows (part, j2) and columns (k2, part).
    std::vector<double> others(2 * second * blocks * made);
    for (int64_t j = 0; j < second; ++j)
      for (int64_t k = 0; k < blocks; ++k)
        for (int64_t p = 0; p < 2; ++p) {
          std::complex<double> factor = turn(j, k, second) * (p ? std::complex<double>(0, 1) : 1.0);
          if (isInverse)
            factor /= double(factors.length());
          others[((p * second + j) * blocks + k) * made] = factor.real();
          if (made == 2)
            others[((p * second + j) * blocks + k) * made + 1] = factor.imag();
        }
    Value product = op("MatMul", rows, table({2 * second, blocks * made}, others, "second"));
    Value ordered = reshapeTo(node, product, sizes({first, blocks, made}), "blocks");
    if (!ordered)
      return {};
    ordered = reshapeTo(node, transpose(node, ordered, swapped({1, 0, 2}), "ordered"), sizes({blocks * first, made}),
                        columns < blocks * first ? "ordered" : suffix);
    return columns < blocks * first ? part(node, ordered, axis, 0, columns, suffix) : ordered;
  }

  // As many numbers of an axis as are wanted: what is missing is 0.
  Value fitted(Value value, int64_t axis, int64_t have, int64_t want) {
    if (have > want)
      return part(node, value, axis, 0, want, "used");
    if (have == want)
      return value;
    SmallVector<int64_t> pads(2 * (axis + 2));
    pads[axis + 2 + axis] = want - have;
    return node.emit("Pad", {value, node.ints(pads, "pads"), node.none(), node.none()}, {}, "filled");
  }

  // All numbers of a transform to real ones, of which the first half is given: the others are their mirror image.
  Value mirrored(Value given, int64_t axis, int64_t length, int64_t parts) {
    SmallVector<int64_t> places;
    std::vector<double> signs;
    for (int64_t i = 0; i < length; ++i) {
      bool isMirrored = i > length / 2;
      places.push_back(isMirrored ? length - i : i);
      signs.insert(signs.end(), {1.0, isMirrored ? -1.0 : 1.0});
    }
    Value all = node.emit("Gather", {given, node.ints(places, "places")}, node.attr("axis", axis), "mirrored");
    // An input of real numbers gets an imaginary part of 0.
    if (parts == 1) {
      SmallVector<int64_t> pads(2 * (axis + 2));
      pads.back() = 1;
      return node.emit("Pad", {all, node.ints(pads, "pads"), node.none(), node.none()}, {}, "complex");
    }
    return op("Mul", all, table({length, 2}, signs, "signs"));
  }

  // A branch for every axis that it may be.
  Value alongRuntimeAxis(int64_t parts) {
    int64_t rank = node.rank(0);
    Value given = castAs(node, reshape(node, node.input(2), {}, "axis"), i64, "axis");
    Value wrapped = withNumber(node, "Add", given, rank, "wrapped");
    Value axis = node.emit("Where", {withNumber(node, "Less", given, 0, "is_negative"), wrapped, given}, {}, "axis");
    // No axis is below 0 or the last one.
    Value pinned = node.pinned(axis, "axis");
    std::optional<graph::Elements> symbol = pinned ? graph::elementsOf(pinned) : std::nullopt;
    if (!symbol)
      return {};
    AffineExpr slack = graph::size::sub(getAffineConstantExpr(rank - 2, node.context()), symbol->front());
    node.requireSizes({slack}, "the axis is out of range");
    return fromAxis(0, pinned, parts);
  }

  Value fromAxis(int64_t first, Value axis, int64_t parts) {
    if (first == node.rank(0) - 2)
      return transformed(first, parts, "along");
    Value isFirst = withNumber(node, "Equal", axis, first, "is_axis");
    if (!isFirst)
      return {};
    auto either = node.branch(isFirst, [&](bool isThen) -> FailureOr<SmallVector<Value>> {
      Value made = isThen ? transformed(first, parts, "along") : fromAxis(first + 1, axis, parts);
      if (!made)
        return failure();
      return SmallVector<Value>{made};
    });
    return failed(either) ? Value() : either->front();
  }

  // The matrix [given * parts, columns * 2] of a transform of `length`, of which `given` numbers are there; that to
  // real numbers has one column each.
  Value waves(AffineExpr given, AffineExpr length, AffineExpr columns, int64_t parts, bool isInverse, bool isReal) {
    Value row = node.emit("Unsqueeze", {countUp(node, given, "row"), node.ints({1}, "axis")}, {}, "row");
    Value size = node.sizesValue({length}, /*isScalar=*/true, "length");
    // Turns are counted in integers, which loses nothing.
    Value turns =
        op("Mod", op("Mul", row, countUp(node, columns, "column")), op("Max", size, node.scalar(1, i64, "one")));
    Value period = castAs(node, size, f64, "period");
    Value angle =
        op("Div", withNumber(node, "Mul", castAs(node, turns, f64, "turns"), 2 * std::numbers::pi, "wave"), period);
    Value cos = node.emit("Cos", angle, {}, "cos"), sin = node.emit("Sin", angle, {}, "sin");
    if (!isInverse)
      sin = node.emit("Neg", sin, {}, "sin");
    AffineExpr used = isReal ? half(length) : length;
    Value factor;
    if (isReal) {
      // All but the first and the middle stand for their mirror image, too.
      Value zero = node.scalar(0, i64, "zero"), twice = op("Mul", row, node.scalar(2, i64, "two"));
      Value isAlone = op("Or", op("Equal", row, zero), op("Equal", twice, size));
      factor = node.emit("Where", {isAlone, node.scalar(1, f64, "one"), node.scalar(2, f64, "two")}, {}, "factor");
    }
    if (isInverse)
      factor = factor ? op("Div", factor, period) : op("Div", node.scalar(1, f64, "one"), period);
    // What lies beyond the length does not count.
    if (!graph::size::isAtLeast(used, given, node.symbols())) {
      Value counts = op("Less", row, node.sizesValue({used}, /*isScalar=*/true, "used"));
      factor = node.emit("Where", {counts, factor ? factor : node.scalar(1, f64, "one"), node.scalar(0, f64, "zero")},
                         {}, "factor");
    }
    if (factor)
      cos = op("Mul", cos, factor), sin = op("Mul", sin, factor);
    // Rows of the real part give (cos, sin), those of the imaginary part (-sin, cos).
    auto stacked = [&](Value a, Value b, int64_t axis) {
      Value at = node.ints({axis}, "axis");
      SmallVector<Value> both{node.emit("Unsqueeze", {a, at}, {}, "part"), node.emit("Unsqueeze", {b, at}, {}, "part")};
      return node.emit("Concat", both, node.attr("axis", axis), "parts");
    };
    Value minus = node.emit("Neg", sin, {}, "minus"), matrix;
    if (isReal)
      matrix = parts == 1 ? cos : stacked(cos, minus, 1);
    else
      matrix = parts == 1 ? stacked(cos, sin, 2) : stacked(stacked(cos, sin, 2), stacked(minus, cos, 2), 1);
    matrix =
        reshapeTo(node, matrix, {graph::size::mul(given, parts), graph::size::mul(columns, isReal ? 1 : 2)}, "matrix");
    return castAs(node, matrix, node.elementType(0), "matrix");
  }

  Node &node;
  Type f64, i64;
  bool isInverse = false, isOneSided = false;
  AffineExpr givenLength; // null: the axis has the length
};

LogicalResult dft(Node &node) { return Fourier(node).dft(); }
LogicalResult stft(Node &node) { return Fourier(node).stft(); }

} // namespace

ArrayRef<Rule> signalRules() {
  static constexpr Rule rules[] = {{"DFT", 1, 3, dft}, {"STFT", 2, 4, stft}};
  return rules;
}

} // namespace fathom::importer
