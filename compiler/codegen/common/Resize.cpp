// Resize: every result element is a weighted sum of the input's elements near the place it comes from.
#include "compiler/codegen/common/Emitter.h"
#include "compiler/codegen/common/ResizePlaces.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/support/Diagnostics.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// A request for lanes makes a vector for each phase: the code of more of them would be longer than it is worth to any
// schedule, and such lanes are looked up or computed one at a time.
constexpr double mostPhases = 64;

// One of the input's elements along an axis and how much it counts.
struct Tap {
  Value index, weight; // no weight: the only one
};

// The same at compile time.
struct KnownTap {
  int64_t index;
  double weight;
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

  // Null where lanes have to be computed one at a time: they run along a resized axis of which too little is known.
  Value at(ArrayRef<Index> index) {
    for (auto [i, axis] : llvm::enumerate(axes))
      if (index[axis].step && !isUnchanged(i)) {
        bool alongOne = llvm::count_if(index, [](const Index &at) { return at.step != 0; }) == 1;
        if (!alongOne || index[axis].step != 1)
          return Value();
        Value result = alongPhases(i, index);
        return result ? result : byTables(i, index);
      }
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
    if (!scale || *scale < 2 || *scale > mostPhases || *scale != std::floor(*scale) || op.getExcludeOutside() ||
        mode == "align_corners" || mode == "tf_crop_and_resize")
      return 0;
    AffineExpr from = sizesOf(op.getInput())[axes[i]], to = sizesOf(op.getType())[axes[i]];
    auto factor = int64_t(*scale);
    return size::same(to, size::simplified(from * factor)) ? factor : 0;
  }

  // Lanes along a resized axis, as many for each phase: the input's elements are loaded as vectors, from which each
  // phase is made, and the phases are put between each other. Null if they are not such lanes.
  Value alongPhases(size_t i, ArrayRef<Index> index) {
    int64_t axis = axes[i], factor = phasesOf(i), all = lanes;
    if (!factor || index[axis].multiple % factor || all % factor || all == factor)
      return Value();
    lanes = all / factor;
    SmallVector<Window> others = windowsBut(i, index);
    // All elements of the input have the same phases.
    Axis<KnownCoordinates> known = knownAxis(1, double(factor), double(factor));
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
      Value values = phaseFrom(known, double(phase), part);
      result = vector::InsertStridedSliceOp::create(c.b, c.loc, values, result, ArrayRef<int64_t>{phase * lanes},
                                                    ArrayRef<int64_t>{1});
      for (int64_t lane = 0; lane < lanes; ++lane)
        order[lane * factor + phase] = phase * lanes + lane;
    }
    result = vector::ShuffleOp::create(c.b, c.loc, result, result, order);
    lanes = all;
    return op.getMode() == "nearest" ? result : fromAcc(result, element);
  }

  Value phaseFrom(const Axis<KnownCoordinates> &axis, double phase, llvm::function_ref<Value(int64_t)> part) {
    double place = axis.origin(phase);
    if (op.getMode() == "nearest")
      return part(int64_t(axis.nearestTo(place)));
    int64_t reach = op.getMode() == "linear" ? 1 : 2, base = std::ceil(place);
    Value sum;
    for (int64_t t = base - reach; t < base + reach; ++t) {
      if (op.getMode() == "linear" && std::abs(double(t) - place) >= 1)
        continue;
      Value term = f.mul(c.number(vectorType(acc, lanes), filterAt(axis.f, op, double(t) - place)), part(t));
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

  // Windows along the other resized axes, along which lanes do not run.
  SmallVector<Window> windowsBut(size_t i, ArrayRef<Index> index) {
    SmallVector<Window> others;
    for (auto [other, axis] : llvm::enumerate(axes))
      if (other != i && !isUnchanged(other))
        others.push_back(windowAt(other, index[axis].base));
    return others;
  }

  // Lanes along a resized axis whose places are known: which elements they come from, and how much these count, is
  // looked up. Null where that is not known.
  Value byTables(size_t i, ArrayRef<Index> index) {
    int64_t longest = e.tableEntries;
    int64_t axis = axes[i], all = lanes, native = e.target.lanes(acc.getIntOrFloatBitWidth());
    std::optional<int64_t> length = constantSize(sizesOf(op.getInput())[axis]),
                           count = constantSize(sizesOf(op.getType())[axis]);
    std::optional<double> scale = constantScale(i);
    if (!length || !count || !scale || *length < 1 || *count > longest ||
        op.getCoordinateTransformationMode() == "tf_crop_and_resize")
      return Value();
    // All results have as many taps.
    Axis<KnownCoordinates> known = knownAxis(double(*length), double(*count), *scale);
    std::vector<std::vector<KnownTap>> taps;
    for (int64_t position = 0; position < *count; ++position)
      taps.push_back(knownTaps(known, double(position)));
    if (int64_t(taps.front().size()) * *count > longest)
      return Value();
    Type element = op.getType().getElementType();
    bool nearest = op.getMode() == "nearest";
    SmallVector<Window> others = windowsBut(i, index);
    SmallVector<std::pair<Value, Value>> tables; // elements and weights, for each tap
    for (size_t t = 0; t < taps.front().size(); ++t) {
      std::vector<int32_t> elements;
      std::vector<double> weights;
      for (const std::vector<KnownTap> &each : taps)
        elements.push_back(int32_t(each[t].index)), weights.push_back(each[t].weight);
      tables.emplace_back(tableOf(integers(elements)), nearest ? Value() : tableOf(numbers(weights)));
    }
    Value result = c.undefined(vectorType(element, all));
    // Vector by vector: what lanes are loaded from takes many registers.
    lanes = native > 1 && all % native == 0 ? native : all;
    for (int64_t first = 0; first < all; first += lanes) {
      Value position = c.add(index[axis].base, first), sum;
      for (auto &[elements, weights] : tables) {
        SmallVector<Value> places;
        for (int64_t lane = 0; lane < lanes; ++lane)
          places.push_back(arith::ExtUIOp::create(c.b, c.loc, c.b.getI64Type(),
                                                  c.load(elements, c.add(position, lane), c.b.getI32Type())));
        Indices source = llvm::to_vector<4>(index);
        apart = {axis, places};
        if (nearest) {
          for (const Window &window : others)
            source[window.axis] = {window.taps[0].index, 0};
          sum = inputAt(source);
        } else {
          Value term = f.mul(c.load(weights, position, acc, lanes), weighted(others, source));
          sum = sum ? f.add(sum, term) : term;
        }
        apart = {};
      }
      sum = nearest ? sum : fromAcc(sum, element);
      result = lanes == all ? sum
                            : Value(vector::InsertStridedSliceOp::create(
                                  c.b, c.loc, sum, result, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{1}));
    }
    lanes = all;
    return result;
  }

  // What windowAt says of a position, if it is known.
  std::vector<KnownTap> knownTaps(const Axis<KnownCoordinates> &axis, double position) {
    double place = axis.origin(position), total = 0;
    auto clamp = [&](double at) { return int64_t(std::clamp(at, 0.0, axis.length - 1)); };
    if (op.getMode() == "nearest")
      return {{clamp(axis.nearestTo(place)), 1}};
    double shrink = op.getAntialias() ? std::min(1.0, axis.scale) : 1;
    auto reach = int64_t(std::ceil((op.getMode() == "linear" ? 1 : 2) / shrink));
    std::vector<KnownTap> taps;
    for (int64_t t = -reach; t < reach; ++t) {
      double at = std::ceil(place) + double(t), weight = filterAt(axis.f, op, (at - place) * shrink);
      if (op.getExcludeOutside() && (at < 0 || at >= axis.length))
        weight = 0;
      total += weight;
      taps.push_back({clamp(at), weight});
    }
    if (op.getExcludeOutside() || op.getAntialias())
      for (KnownTap &tap : taps)
        tap.weight /= total;
    return taps;
  }

  DenseElementsAttr integers(ArrayRef<int32_t> values) {
    return DenseElementsAttr::get(RankedTensorType::get({int64_t(values.size())}, c.b.getI32Type()), values);
  }
  DenseElementsAttr numbers(ArrayRef<double> values) {
    auto type = RankedTensorType::get({int64_t(values.size())}, acc);
    if (acc.isF64())
      return DenseElementsAttr::get(type, values);
    return DenseElementsAttr::get(type, ArrayRef(std::vector<float>(values.begin(), values.end())));
  }

  // A pointer to constants beside the code; equal ones are there once.
  Value tableOf(DenseElementsAttr values) {
    // Not from here: a loop belongs to nothing before its body is complete.
    auto module = e.fault.getDefiningOp()->getParentOfType<ModuleOp>();
    unsigned tables = 0;
    LLVM::GlobalOp table;
    for (auto global : module.getOps<LLVM::GlobalOp>())
      ++tables, table = global.getValueAttr() == values ? global : table;
    if (!table) {
      OpBuilder::InsertionGuard guard(c.b);
      c.b.setInsertionPointToStart(module.getBody());
      auto type = LLVM::LLVMArrayType::get(values.getElementType(), values.getNumElements());
      table = LLVM::GlobalOp::create(c.b, c.loc, type, /*isConstant=*/true, LLVM::Linkage::Private,
                                     "table." + std::to_string(tables), values);
    }
    return LLVM::AddressOfOp::create(c.b, c.loc, table);
  }

  // The input's elements, each from a place of its own where lanes lie apart.
  Value inputAt(Indices &source) {
    if (apart.places.empty())
      return e.element(op.getInput(), source, lanes);
    Value all = c.undefined(vectorType(op.getType().getElementType(), lanes));
    for (int64_t lane = 0; lane < lanes; ++lane) {
      source[apart.axis] = {apart.places[lane], 0};
      Value element = e.element(op.getInput(), source, 1);
      all = lanes == 1 ? element : c.insert(element, all, lane);
    }
    return all;
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

  Axis<Coordinates> axisOf(size_t i) {
    Axis<Coordinates> axis{f,
                           op,
                           f.fromInteger(e.size(op.getInput(), axes[i])),
                           f.fromInteger(c.expr(sizesOf(op.getType())[axes[i]])),
                           scaleOf(i),
                           Value(),
                           Value()};
    if (op.getCoordinateTransformationMode() == "tf_crop_and_resize") {
      auto edge = [&](size_t at) { return roi ? f.k((*roi)[at]) : loaded(op.getRoi(), at); };
      axis.start = edge(i), axis.end = edge(i + axes.size());
    }
    return axis;
  }

  // Places along an axis of such sizes, which need not be the model's where results repeat.
  Axis<KnownCoordinates> knownAxis(double length, double count, double scale) {
    return {KnownCoordinates(), op, length, count, scale, 0, 1};
  }

  // The place that a result comes from; notes whether it lies outside.
  Value originOf(const Axis<Coordinates> &axis, Value position) {
    Value place = axis.origin(f.fromInteger(position));
    if (op.getCoordinateTransformationMode() != "tf_crop_and_resize")
      return place;
    Value last = f.sub(axis.length, f.k(1));
    Value beyond = arith::OrIOp::create(c.b, c.loc, f.less(place, f.k(0)), f.less(last, place));
    outside = outside ? Value(arith::OrIOp::create(c.b, c.loc, outside, beyond)) : beyond;
    return place;
  }

  Value clamped(Value index, int64_t axis) {
    return c.min(c.max(index, c.i64(0)), c.sub(e.size(op.getInput(), axis), c.i64(1)));
  }

  // How much the input's element at a place counts before weights are made to add up to 1.
  Value weightOf(Value at, Value place, Value shrink, int64_t axis) {
    Value weight = filterAt(f, op, f.mul(f.sub(at, place), shrink));
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
    Axis<Coordinates> places = axisOf(i);
    Value place = originOf(places, position);
    if (op.getMode() == "nearest")
      return {axis, {{clamped(f.toInteger(places.nearestTo(place)), axis), Value()}}, Value(), Value()};
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
      return toAcc(inputAt(source));
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
  struct {
    int64_t axis = 0;
    SmallVector<Value> places; // of each lane, if not empty
  } apart;
};

} // namespace

Value emitResize(Emitter &e, ResizeOp op, ArrayRef<Index> index, int64_t lanes) {
  return Resize(e, op, lanes).at(index);
}

} // namespace fathom
