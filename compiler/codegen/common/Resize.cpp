// Resize: every result element is a weighted sum of the input's elements near the place it comes from.
#include "compiler/codegen/common/Emitter.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// Arithmetic on coordinates, in double precision: which element is nearest must not depend on rounding.
struct Coordinates {
  Code &c;
  Type type() const { return c.b.getF64Type(); }
  Value k(double value) const { return c.number(type(), value); }
  Value add(Value x, Value y) const { return arith::AddFOp::create(c.b, c.loc, x, y); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(c.b, c.loc, x, y); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(c.b, c.loc, x, y); }
  Value div(Value x, Value y) const { return arith::DivFOp::create(c.b, c.loc, x, y); }
  Value floor(Value x) const { return math::FloorOp::create(c.b, c.loc, x); }
  Value ceil(Value x) const { return math::CeilOp::create(c.b, c.loc, x); }
  Value abs(Value x) const { return math::AbsFOp::create(c.b, c.loc, x); }
  Value fromInteger(Value x) const { return arith::SIToFPOp::create(c.b, c.loc, type(), x); }
  Value toInteger(Value x) const { return arith::FPToSIOp::create(c.b, c.loc, c.b.getI64Type(), x); }
  Value less(Value x, Value y) const { return arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::OLT, x, y); }
};

// One of the input's elements along an axis and how much it counts.
struct Tap {
  Value index, weight; // no weight: the only one
};

// What a result element is a sum of along an axis: taps, or, where their number shows when the model runs, a filter
// about a place that reaches so far.
struct Window {
  int64_t axis;
  SmallVector<Tap> taps;
  Value place, shrink, reach = {};
};

class Resize {
public:
  Resize(Emitter &e, ResizeOp op, int64_t lanes) : e(e), c(e.c), f{e.c}, op(op), lanes(lanes) {
    Type element = op.getType().getElementType();
    // Wide integers are not all floats.
    bool isWide = isa<IntegerType>(element) && element.getIntOrFloatBitWidth() >= 32;
    acc = element.isF64() || isWide ? c.b.getF64Type() : Type(c.b.getF32Type());
    int64_t rank = op.getType().getRank();
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    if (op.getAxes()) {
      axes.clear();
      for (int64_t axis : op.getAxesAttr().asArrayRef())
        axes.push_back(*normalizeAxis(axis, rank));
    }
    if (!isa<NoneType>(op.getScales().getType()))
      scales = constantFloatsOf(op.getScales());
    if (!isa<NoneType>(op.getRoi().getType()))
      roi = constantFloatsOf(op.getRoi());
  }

  // Null where lanes run along a resized axis and each of them comes from another place.
  Value at(ArrayRef<Index> index) {
    for (auto [i, axis] : llvm::enumerate(axes))
      if (index[axis].step && !isUnchanged(i))
        return alongPhases(i, index);
    outside = Value();
    SmallVector<Window> dims;
    for (auto [i, axis] : llvm::enumerate(axes))
      if (!isUnchanged(i))
        dims.push_back(windowAt(i, index[axis].base));
    Indices source = llvm::to_vector<4>(index);
    bool nearest = op.getMode() == "nearest";
    Type element = op.getType().getElementType();
    auto inside = [&]() -> Value {
      if (nearest) {
        for (const Window &window : dims)
          source[window.axis] = {window.taps[0].index, 0};
        return e.element(op.getInput(), source, lanes);
      }
      return fromAcc(weighted(dims, source), element);
    };
    if (!outside)
      return inside();
    Value extrapolated =
        fromAcc(c.number(vectorType(acc, lanes), op.getExtrapolationValue().convertToDouble()), element);
    return c.when(outside, [&] { return extrapolated; }, inside);
  }

  bool isUnchanged(size_t i) {
    if (op.getCoordinateTransformationMode() == "tf_crop_and_resize" &&
        (!roi || (*roi)[i] != 0 || (*roi)[i + axes.size()] != 1))
      return false;
    if (hasScales() && (!scales || (*scales)[i] != 1))
      return false;
    return sizesOf(op.getInput())[axes[i]] == sizesOf(op.getType())[axes[i]];
  }

  SmallVector<int64_t> axes;

private:
  // A whole number of results for each element of the input, `factor` apart of which the n-th ones are a phase: all of
  // a phase lie at the same distance from elements of the input that follow each other. 0 where there are no phases.
  int64_t phasesOf(size_t i) {
    StringRef mode = op.getCoordinateTransformationMode();
    std::optional<double> scale = constantScale(i);
    if (!scale || *scale < 2 || *scale > 64 || *scale != std::floor(*scale) || op.getExcludeOutside() ||
        mode == "align_corners" || mode == "tf_crop_and_resize")
      return 0;
    AffineExpr from = sizesOf(op.getInput())[axes[i]], to = sizesOf(op.getType())[axes[i]];
    auto factor = int64_t(*scale);
    return size::same(to, size::simplified(from * factor)) ? factor : 0;
  }

  // Where a phase lies, from the element of the input that its results stand for.
  double placeOf(int64_t phase, int64_t factor) {
    StringRef mode = op.getCoordinateTransformationMode();
    if (mode == "asymmetric")
      return double(phase) / double(factor);
    double middle = (double(phase) + 0.5) / double(factor);
    return mode == "tf_half_pixel_for_nn" ? middle : middle - 0.5;
  }

  // Lanes along a resized axis, as many for each phase: the input's elements are loaded as vectors, from which each
  // phase is made, and the phases are put between each other. Null if they are not such lanes.
  Value alongPhases(size_t i, ArrayRef<Index> index) {
    int64_t axis = axes[i], factor = phasesOf(i), all = lanes;
    bool alongOne = llvm::count_if(index, [](const Index &at) { return at.step != 0; }) == 1;
    if (!factor || !alongOne || index[axis].step != 1 || index[axis].multiple % factor || all % factor || all == factor)
      return Value();
    lanes = all / factor;
    SmallVector<Window> others;
    for (auto [other, otherAxis] : llvm::enumerate(axes))
      if (other != i && !isUnchanged(other))
        others.push_back(windowAt(other, index[otherAxis].base));
    Indices source = llvm::to_vector<4>(index);
    Value first = c.div(index[axis].base, c.i64(factor));
    std::map<int64_t, Value> parts; // by how far their elements lie behind those that the results stand for
    auto part = [&](int64_t offset) {
      Value &known = parts[offset];
      return known ? known : known = displaced(others, source, axis, first, offset);
    };
    Type element = op.getType().getElementType();
    Value result = c.undefined(vectorType(op.getMode() == "nearest" ? element : acc, all));
    SmallVector<int64_t> order(all);
    for (int64_t phase = 0; phase < factor; ++phase) {
      Value values = phaseFrom(placeOf(phase, factor), part);
      result = vector::InsertStridedSliceOp::create(c.b, c.loc, values, result, ArrayRef<int64_t>{phase * lanes},
                                                    ArrayRef<int64_t>{1});
      for (int64_t lane = 0; lane < lanes; ++lane)
        order[lane * factor + phase] = phase * lanes + lane;
    }
    result = vector::ShuffleOp::create(c.b, c.loc, result, result, order);
    lanes = all;
    return op.getMode() == "nearest" ? result : fromAcc(result, element);
  }

  Value phaseFrom(double place, llvm::function_ref<Value(int64_t)> part) {
    if (op.getMode() == "nearest")
      return part(nearestTo(place));
    int64_t reach = op.getMode() == "linear" ? 1 : 2, base = std::ceil(place);
    Value sum;
    for (int64_t t = base - reach; t < base + reach; ++t) {
      if (op.getMode() == "linear" && std::abs(double(t) - place) >= 1)
        continue;
      Value weight = asFactor(filter(f.k(double(t) - place)));
      Value term = f.mul(c.splat(weight, lanes), part(t));
      sum = sum ? f.add(sum, term) : term;
    }
    return sum;
  }

  // The input's elements so far behind `first`, already summed along the other axes. Elements beyond the ends are the
  // last ones: what would be loaded from there comes from `lanes` elements that do exist, moved.
  Value displaced(ArrayRef<Window> others, Indices &source, int64_t axis, Value first, int64_t offset) {
    Value wanted = c.add(first, offset), last = c.sub(e.size(op.getInput(), axis), c.i64(lanes));
    Value start = c.min(c.max(wanted, c.i64(0)), last), result;
    source[axis] = {start, 1};
    if (op.getMode() == "nearest") {
      for (const Window &window : others)
        source[window.axis] = {window.taps[0].index, 0};
      result = e.element(op.getInput(), source, lanes);
    } else {
      result = weighted(others, source);
    }
    Value loaded = result;
    for (int64_t by = 1; by <= std::abs(offset); ++by) {
      int64_t moved = offset < 0 ? -by : by;
      SmallVector<int64_t> order;
      for (int64_t lane = 0; lane < lanes; ++lane)
        order.push_back(std::clamp<int64_t>(lane + moved, 0, lanes - 1));
      Value isMoved = c.cmp(arith::CmpIPredicate::eq, c.sub(wanted, start), c.i64(moved));
      result = c.select(isMoved, vector::ShuffleOp::create(c.b, c.loc, loaded, loaded, order), result);
    }
    return result;
  }

  bool hasScales() { return !isa<NoneType>(op.getScales().getType()); }
  // An element of scales or roi as it is when the model runs.
  Value loaded(Value list, size_t i) {
    Value number = e.element(list, Indices{{c.i64(i), 0}}, 1);
    return number.getType().isF64() ? number : Value(arith::ExtFOp::create(c.b, c.loc, f.type(), number));
  }

  Value scaleOf(size_t i) {
    if (scales)
      return f.k((*scales)[i]);
    if (hasScales())
      return loaded(op.getScales(), i);
    if (op.getKeepAspectRatioPolicy() != "stretch")
      return f.k(*constantScale(i));
    auto length = [&](Value tensor) { return f.fromInteger(e.size(tensor, axes[i])); };
    return f.div(length(op.getResult()), length(op.getInput()));
  }

  // The scale of an axis if it is known at compile time.
  std::optional<double> constantScale(size_t i) {
    if (scales)
      return (*scales)[i];
    if (hasScales())
      return std::nullopt;
    Sizes from = sizesOf(op.getInput()), to = sizesOf(op.getType());
    if (op.getKeepAspectRatioPolicy() == "stretch") {
      auto a = constantSize(from[axes[i]]), b = constantSize(to[axes[i]]);
      return a && b ? std::optional(double(*b) / double(*a)) : std::nullopt;
    }
    // One scale for all axes, from the sizes that were asked for.
    auto wanted = constantElementsOf(op.getSizes());
    std::optional<double> scale;
    for (auto [axis, size] : llvm::zip(axes, *wanted)) {
      double ratio = double(size) / double(*constantSize(from[axis]));
      scale = !scale                                          ? ratio
              : op.getKeepAspectRatioPolicy() == "not_larger" ? std::min(*scale, ratio)
                                                              : std::max(*scale, ratio);
    }
    return scale;
  }

  // Where in the input a result's position lies.
  Value origin(size_t i, Value position) {
    StringRef mode = op.getCoordinateTransformationMode();
    Value x = f.fromInteger(position), scale = scaleOf(i);
    Value length = f.fromInteger(e.size(op.getInput(), axes[i])), last = f.sub(length, f.k(1));
    Value resized = f.mul(scale, length);
    Value isOne = arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::OEQ, resized, f.k(1));
    auto unlessOne = [&](Value one, Value other) { return c.select(isOne, one, other); };
    Value halfPixel = f.sub(f.div(f.add(x, f.k(0.5)), scale), f.k(0.5));
    if (mode == "align_corners")
      return unlessOne(f.k(0), f.div(f.mul(x, last), f.sub(resized, f.k(1))));
    if (mode == "asymmetric")
      return f.div(x, scale);
    if (mode == "tf_half_pixel_for_nn")
      return f.div(f.add(x, f.k(0.5)), scale);
    if (mode == "pytorch_half_pixel") {
      Value size = c.expr(sizesOf(op.getType())[axes[i]]);
      return c.select(c.cmp(arith::CmpIPredicate::eq, size, c.i64(1)), f.k(0), halfPixel);
    }
    if (mode == "half_pixel_symmetric") {
      Value adjustment = f.div(f.fromInteger(c.expr(sizesOf(op.getType())[axes[i]])), resized);
      Value offset = f.mul(f.mul(length, f.k(0.5)), f.sub(f.k(1), adjustment));
      return f.add(offset, halfPixel);
    }
    if (mode != "tf_crop_and_resize")
      return halfPixel;
    Value start = roi ? f.k((*roi)[i]) : loaded(op.getRoi(), i);
    Value end = roi ? f.k((*roi)[i + axes.size()]) : loaded(op.getRoi(), i + axes.size()), extent = f.sub(end, start);
    Value many = f.div(f.mul(f.mul(x, extent), last), f.sub(resized, f.k(1)));
    Value place = f.add(unlessOne(f.mul(f.mul(extent, f.k(0.5)), last), many), f.mul(start, last));
    Value beyond = arith::OrIOp::create(c.b, c.loc, f.less(place, f.k(0)), f.less(last, place));
    outside = outside ? Value(arith::OrIOp::create(c.b, c.loc, outside, beyond)) : beyond;
    return place;
  }

  Value nearestTo(Value place) {
    StringRef mode = op.getNearestMode();
    if (mode == "floor")
      return f.floor(place);
    if (mode == "ceil")
      return f.ceil(place);
    return mode == "round_prefer_ceil" ? f.floor(f.add(place, f.k(0.5))) : f.ceil(f.sub(place, f.k(0.5)));
  }

  double nearestTo(double place) {
    StringRef mode = op.getNearestMode();
    if (mode == "floor")
      return std::floor(place);
    if (mode == "ceil")
      return std::ceil(place);
    return mode == "round_prefer_ceil" ? std::floor(place + 0.5) : std::ceil(place - 0.5);
  }

  // The filter at a distance from the place: a triangle or Keys' cubic.
  Value filter(Value distance) {
    Value x = f.abs(distance);
    if (op.getMode() == "linear")
      return arith::MaximumFOp::create(c.b, c.loc, f.sub(f.k(1), x), f.k(0));
    double a = op.getCubicCoeffA().convertToDouble();
    auto polynomial = [&](double c3, double c2, double c1, double c0) {
      return f.add(f.mul(f.add(f.mul(f.add(f.mul(f.k(c3), x), f.k(c2)), x), f.k(c1)), x), f.k(c0));
    };
    Value near = polynomial(a + 2, -(a + 3), 0, 1), far = polynomial(a, -5 * a, 8 * a, -4 * a);
    return c.select(f.less(f.k(1), x), c.select(f.less(x, f.k(2)), far, f.k(0)), near);
  }

  Value clamped(Value index, int64_t axis) {
    return c.min(c.max(index, c.i64(0)), c.sub(e.size(op.getInput(), axis), c.i64(1)));
  }

  // How much the input's element at a place counts before weights are made to add up to 1.
  Value weightOf(Value at, Value place, Value shrink, int64_t axis) {
    Value weight = filter(f.mul(f.sub(at, place), shrink));
    if (!op.getExcludeOutside())
      return weight;
    Value isInside = c.cmp(arith::CmpIPredicate::ult, f.toInteger(at), e.size(op.getInput(), axis));
    return c.select(isInside, weight, f.k(0));
  }

  Value asFactor(Value weight) {
    return acc.isF64() ? weight : Value(arith::TruncFOp::create(c.b, c.loc, acc, weight));
  }

  Window windowAt(size_t i, Value position) {
    int64_t axis = axes[i];
    Value place = origin(i, position);
    if (op.getMode() == "nearest")
      return {axis, {{clamped(f.toInteger(nearestTo(place)), axis), Value()}}, Value(), Value()};
    // When shrinking with antialiasing the filter is stretched over as many elements as one result stands for.
    double support = op.getMode() == "linear" ? 1 : 2, shrink = 1;
    if (op.getAntialias()) {
      std::optional<double> scale = constantScale(i);
      if (!scale) {
        Value factor = arith::MinimumFOp::create(c.b, c.loc, scaleOf(i), f.k(1));
        return {axis, {}, place, factor, f.toInteger(f.ceil(f.div(f.k(support), factor)))};
      }
      shrink = std::min(1.0, *scale);
    }
    int64_t reach = std::ceil(support / shrink);
    Value base = f.ceil(place), total;
    Window window{axis, {}, place, f.k(shrink)};
    for (int64_t t = -reach; t < reach; ++t) {
      Value at = f.add(base, f.k(t)), weight = weightOf(at, place, window.shrink, axis);
      total = total ? f.add(total, weight) : weight;
      window.taps.push_back({clamped(f.toInteger(at), axis), weight});
    }
    for (Tap &tap : window.taps) {
      if (op.getExcludeOutside() || op.getAntialias())
        tap.weight = f.div(tap.weight, total);
      tap.weight = asFactor(tap.weight);
    }
    return window;
  }

  Value weighted(ArrayRef<Window> dims, Indices &source) {
    if (dims.empty())
      return toAcc(e.element(op.getInput(), source, lanes));
    const Window &window = dims.front();
    if (window.reach)
      return weightedByLoop(dims, source);
    Value sum;
    for (const Tap &tap : window.taps) {
      source[window.axis] = {tap.index, 0};
      Value part = f.mul(c.splat(tap.weight, lanes), weighted(dims.drop_front(), source));
      sum = sum ? f.add(sum, part) : part;
    }
    return sum;
  }

  // One pass for what the weights add up to, and one for the elements.
  Value weightedByLoop(ArrayRef<Window> dims, Indices &source) {
    const Window &window = dims.front();
    Value first = f.sub(f.ceil(window.place), f.fromInteger(window.reach)), count = c.mul(window.reach, 2);
    auto weightAt = [&](Value at) { return weightOf(at, window.place, window.shrink, window.axis); };
    Value total = c.loop(c.i64(0), count, 1, f.k(0), [&](Value t, ValueRange carried) {
      return SmallVector<Value>{f.add(carried[0], weightAt(f.add(first, f.fromInteger(t))))};
    })[0];
    Value none = c.number(vectorType(acc, lanes), 0);
    return c.loop(c.i64(0), count, 1, none, [&](Value t, ValueRange carried) {
      Value at = f.add(first, f.fromInteger(t)), weight = asFactor(f.div(weightAt(at), total));
      source[window.axis] = {clamped(f.toInteger(at), window.axis), 0};
      Value part = f.mul(c.splat(weight, lanes), weighted(dims.drop_front(), source));
      return SmallVector<Value>{f.add(carried[0], part)};
    })[0];
  }

  Value toAcc(Value x) {
    Type element = op.getType().getElementType(), type = vectorType(acc, lanes);
    if (element == acc)
      return x;
    if (isa<FloatType>(element))
      return arith::ExtFOp::create(c.b, c.loc, type, x);
    return element.isUnsignedInteger() ? Value(arith::UIToFPOp::create(c.b, c.loc, type, x))
                                       : Value(arith::SIToFPOp::create(c.b, c.loc, type, x));
  }

  Value fromAcc(Value x, Type element) {
    if (element == acc)
      return x;
    Type type = vectorType(element, lanes);
    if (isa<FloatType>(element))
      return arith::TruncFOp::create(c.b, c.loc, type, x);
    // What is behind the point is cut off, as ONNX Runtime does. A cubic filter overshoots: integers saturate, those of
    // 64 bits at the last double that is one.
    bool isUnsigned = element.isUnsignedInteger();
    unsigned bits = element.getIntOrFloatBitWidth();
    double above = std::ldexp(1, isUnsigned ? bits : bits - 1);
    auto limit = [&](double value) { return c.number(vectorType(acc, lanes), value); };
    x = arith::MaxNumFOp::create(c.b, c.loc, x, limit(isUnsigned ? 0 : -above));
    x = arith::MinNumFOp::create(c.b, c.loc, x, limit(bits < 64 ? above - 1 : std::nextafter(above, 0)));
    return isUnsigned ? Value(arith::FPToUIOp::create(c.b, c.loc, type, x))
                      : Value(arith::FPToSIOp::create(c.b, c.loc, type, x));
  }

  Emitter &e;
  Code &c;
  Coordinates f;
  ResizeOp op;
  int64_t lanes;
  Type acc; // what elements are summed in
  std::optional<SmallVector<double>> scales, roi;
  Value outside; // whether the element lies outside the cropped region
};

} // namespace

Value emitResize(Emitter &e, ResizeOp op, ArrayRef<Index> index, int64_t lanes) {
  return Resize(e, op, lanes).at(index);
}

} // namespace fathom
