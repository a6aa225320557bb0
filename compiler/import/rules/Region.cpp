// Rules of operators that sample an image at places that data gives: regions of interest and deformable convolution.
// Places and weights are elementwise ops, pixels are gathered as whole rows of channels, and sums are reductions, so
// that nothing but the result is stored.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Parts.h"
#include <cmath>

using namespace mlir;

namespace fathom::importer {
namespace {

namespace size = graph::size;

// What the rules share.
class Sampler {
public:
  explicit Sampler(Node &node) : node(node), i64(node.builder().getI64Type()) {
    number = node.elementType(0).isF64() ? node.elementType(0) : Type(node.builder().getF32Type());
  }

protected:
  Value op(StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "sample"); }
  Value op(StringRef name, Value a) { return node.emit(name, a, {}, "sample"); }
  Value with(StringRef name, Value a, double b) { return withNumber(node, name, a, b, "sample"); }
  Value choose(Value condition, Value a, Value b) { return node.emit("Where", {condition, a, b}, {}, "sample"); }
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, node.context()); }
  Value shaped(Value value, ArrayRef<AffineExpr> sizes) { return reshapeTo(node, value, sizes, "sample"); }
  // A size as a number of the type that places have.
  Value length(AffineExpr size, double more = 0) {
    return with("Add", castAs(node, node.sizesValue({size}, /*isScalar=*/true, "size"), number, "size"), more);
  }
  // One column of a matrix, as a vector.
  Value column(Value matrix, int64_t index) {
    return node.emit("Gather", {matrix, node.scalar(index, i64, "column")}, node.attr("axis", int64_t(1)), "column");
  }
  Value counted(AffineExpr count) { return castAs(node, countUp(node, count, "numbers"), number, "numbers"); }
  // The image [N, C, H, W] as rows of channels, one for each pixel.
  Value pixelRows(Value image) {
    if (!image)
      return {};
    graph::Sizes sizes = graph::sizesOf(image);
    Value last = transpose(node, image, {0, 2, 3, 1}, "pixels");
    return shaped(last, {size::mul(size::mul(sizes[0], sizes[2]), sizes[3]), sizes[1]});
  }

  Node &node;
  Type number, i64;
};

class RoiAlign : Sampler {
public:
  explicit RoiAlign(Node &node) : Sampler(node) {}

  LogicalResult run() {
    StringRef mode = node.stringAttr("mode", "avg");
    // Until operator set 16 nothing was shifted.
    StringRef shift =
        node.stringAttr("coordinate_transformation_mode", node.opset() < 16 ? "output_half_pixel" : "half_pixel");
    int64_t height = node.intAttr("output_height", 1), width = node.intAttr("output_width", 1);
    samples = node.intAttr("sampling_ratio", 0);
    scale = node.floatAttr("spatial_scale", 1);
    isMax = mode == "max";
    isShifted = shift == "half_pixel";
    if ((mode != "avg" && mode != "max") || (shift != "half_pixel" && shift != "output_half_pixel"))
      return node.error(ErrorCode::BadAttribute)
             << "mode '" << mode << "', coordinate_transformation_mode '" << shift << "' of RoiAlign";
    if (height < 1 || width < 1 || samples < 0 || height > INT32_MAX || width > INT32_MAX || samples > INT32_MAX)
      return node.error(ErrorCode::BadAttribute) << "output_height " << height << ", output_width " << width
                                                 << ", sampling_ratio " << samples << " of RoiAlign";
    if (node.rank(0) != 4 || node.rank(1) != 2 || node.rank(2) != 1 || !isa<FloatType>(node.elementType(0)) ||
        !isa<IntegerType>(node.elementType(2)))
      return node.error(ErrorCode::BadShape)
             << "the inputs of RoiAlign have types " << node.inputText(0) << ", " << node.inputText(1) << " and "
             << node.inputText(2) << " where an image, boxes and the images' numbers are needed";
    if (graph::constantSize(graph::sizesOf(node.input(1))[1]).value_or(4) != 4)
      return node.error(ErrorCode::BadShape)
             << "rois of RoiAlign must have 4 columns, but have type " << node.inputText(1);
    graph::Sizes image = graph::sizesOf(node.input(0));
    count = graph::sizesOf(node.input(1))[0];
    boxes = castAs(node, node.input(1), number, "rois");
    Axis y = along(1, constant(height), image[2]), x = along(0, constant(width), image[3]);
    if (!y.low || !x.low)
      return failure();
    // Dimensions are boxes, rows, columns, samples of a row and of a column, and channels.
    auto rowwise = [&](Value value) { return shaped(value, {count, y.outputs, constant(1), y.samples, constant(1)}); };
    auto columnwise = [&](Value value) {
      return shaped(value, {count, constant(1), x.outputs, constant(1), x.samples});
    };
    Value batch =
        castAs(node, shaped(node.input(2), {count, constant(1), constant(1), constant(1), constant(1)}), i64, "batch");
    Value rows = pixelRows(node.input(0)), wide = node.sizesValue({image[3]}, true, "width");
    Value first = op("Mul", batch, node.sizesValue({image[2]}, true, "height"));
    Value result;
    for (bool isLower : {false, true})
      for (bool isRight : {false, true}) {
        Value place = op("Mul", op("Add", first, rowwise(isLower ? y.high : y.low)), wide);
        place = op("Add", place, columnwise(isRight ? x.high : x.low));
        Value pixels = castAs(node, node.emit("Gather", {rows, place}, {}, "pixels"), number, "pixels");
        Value weight =
            op("Mul", rowwise(isLower ? y.highWeight : y.lowWeight), columnwise(isRight ? x.highWeight : x.lowWeight));
        Value term = op("Mul", pixels, node.emit("Unsqueeze", {weight, node.ints({-1}, "channel")}, {}, "weight"));
        result = !result ? term : op(isMax ? "Max" : "Add", result, term);
      }
    Value axes = node.ints({3, 4}, "samples");
    NamedAttribute drop = node.attr("keepdims", int64_t(0));
    if (isMax && samples == 0) {
      Value isTaken = op("And", rowwise(y.isTaken), columnwise(x.isTaken));
      isTaken = node.emit("Unsqueeze", {isTaken, node.ints({-1}, "channel")}, {}, "is_taken");
      result = choose(isTaken, result, node.scalar(-INFINITY, number, "none"));
    }
    result = node.emit(isMax ? "ReduceMax" : "ReduceSum", {result, axes}, drop, "combined");
    Value taken = op("Mul", y.taken, x.taken);
    Value each = shaped(taken, {samples ? constant(1) : count, constant(1), constant(1), constant(1)});
    if (!isMax)
      result = op("Div", result, with("Max", each, 1));
    else if (samples == 0)
      result = choose(with("Greater", each, 0), result, node.scalar(0, number, "zero"));
    result = castAs(node, result, node.elementType(0), "narrow");
    return node.finish(result ? transpose(node, result, {0, 3, 1, 2}, "") : Value());
  }

private:
  // Samples along one dimension, in tensors [boxes, outputs, samples]: the two pixels that each lies between, with
  // their weights, which are zero outside the image. How many samples are taken differs from box to box where no number
  // is given; the rest count nothing.
  struct Axis {
    AffineExpr outputs, samples;
    Value low, high, lowWeight, highWeight, isTaken, taken;
  };

  Axis along(int64_t first, AffineExpr outputs, AffineExpr pixels) {
    auto bound = [&](int64_t at) { return with("Sub", with("Mul", column(boxes, at), scale), isShifted ? 0.5 : 0); };
    Value start = bound(first), extent = op("Sub", bound(first + 2), start);
    if (!isShifted)
      extent = with("Max", extent, 1);
    Value step = op("Div", extent, length(outputs));
    Axis axis{outputs, constant(samples), {}, {}, {}, {}, {}, node.scalar(samples, number, "samples")};
    if (samples == 0) {
      axis.taken = op("Ceil", step);
      Value most = node.emit("ReduceMax", axis.taken, node.attr("keepdims", int64_t(0)), "most");
      // One at least, and not so many that no integer counts them.
      most = with("Min", with("Max", most, 1), 1 << 30);
      Value pinned = node.pinned(castAs(node, most, i64, "most"), "samples");
      std::optional<graph::Elements> known = pinned ? graph::elementsOf(pinned) : std::nullopt;
      if (!known)
        return {};
      axis.samples = known->front();
    }
    auto perBox = [&](Value value) { return shaped(value, {count, constant(1), constant(1)}); };
    auto perOutput = [&](Value value) { return shaped(value, {constant(1), outputs, constant(1)}); };
    auto perSample = [&](Value value) { return shaped(value, {constant(1), constant(1), axis.samples}); };
    Value taken = samples ? axis.taken : perBox(axis.taken), within = perSample(counted(axis.samples));
    Value part = op("Div", with("Add", within, 0.5), with("Max", taken, 1));
    Value place = op("Add", perBox(start), op("Mul", op("Add", perOutput(counted(outputs)), part), perBox(step)));
    Value isInside = op("And", with("GreaterOrEqual", place, -1), op("LessOrEqual", place, length(pixels)));
    Value last = length(pixels, -1), low = op("Floor", with("Max", place, 0));
    Value high = op("Min", with("Add", low, 1), last);
    Value rest = op("Sub", with("Max", place, 0), low);
    // Past the last pixel there is nothing to lie between.
    rest = choose(op("Less", low, last), rest, node.scalar(0, number, "zero"));
    low = op("Min", low, last);
    Value counts = isInside;
    axis.isTaken = op("Less", within, taken);
    if (samples == 0 && !isMax)
      counts = op("And", counts, axis.isTaken);
    Value zero = node.scalar(0, number, "zero");
    axis.lowWeight = choose(counts, op("Sub", node.scalar(1, number, "one"), rest), zero);
    axis.highWeight = choose(counts, rest, zero);
    // Places that are not numbers are outside, but must still be indices.
    auto asIndex = [&](Value at) { return castAs(node, choose(isInside, at, zero), i64, "index"); };
    axis.low = asIndex(low), axis.high = asIndex(high);
    // All of one shape, also where no box or output decides.
    SmallVector<AffineExpr> shape{count, outputs, axis.samples};
    for (Value *value : {&axis.low, &axis.high, &axis.lowWeight, &axis.highWeight, &axis.isTaken})
      *value = node.emit("Expand", {*value, node.sizesValue(shape, false, "sizes")}, {}, "sample");
    return axis;
  }

  bool isMax = false, isShifted = false;
  int64_t samples = 0;
  double scale = 1;
  AffineExpr count;
  Value boxes;
};

// The maximum over a rectangle is one over rows of those over columns, each with what lies outside masked.
class MaxRoiPool : Sampler {
public:
  explicit MaxRoiPool(Node &node) : Sampler(node) {}

  LogicalResult run() {
    auto pooled = node.intsAttr("pooled_shape");
    scale = node.floatAttr("spatial_scale", 1);
    if (!pooled || pooled->size() != 2 || llvm::any_of(*pooled, [](int64_t v) { return v < 1 || v > INT32_MAX; }))
      return node.error(ErrorCode::BadAttribute) << "pooled_shape of MaxRoiPool must be two positive numbers";
    if (node.rank(0) != 4 || node.rank(1) != 2 || !isa<FloatType>(node.elementType(0)) ||
        graph::constantSize(graph::sizesOf(node.input(1))[1]).value_or(5) != 5)
      return node.error(ErrorCode::BadShape) << "the inputs of MaxRoiPool have types " << node.inputText(0) << " and "
                                             << node.inputText(1) << " where an image and rows of 5 are needed";
    graph::Sizes image = graph::sizesOf(node.input(0));
    rois = castAs(node, node.input(1), number, "rois");
    count = graph::sizesOf(node.input(1))[0];
    Value batch = castAs(node, column(rois, 0), i64, "batch"),
          value = node.emit("Gather", {node.input(0), batch}, {}, "images");
    auto pool = [&](Value value, int64_t dim, int64_t outputs) {
      // Dimensions are boxes, channels, rows and columns, and before the one that is pooled the outputs.
      auto [isInside, isEmpty] = bins(dim, constant(outputs), image[dim]);
      SmallVector<AffineExpr> mask(5, constant(1)), empty(4, constant(1));
      mask[0] = empty[0] = count;
      mask[dim] = empty[dim] = constant(outputs);
      mask[dim + 1] = image[dim];
      Value spread = node.emit("Unsqueeze", {value, node.ints({dim}, "outputs")}, {}, "spread");
      Value masked = choose(shaped(isInside, mask), spread, node.scalar(-INFINITY, node.elementType(0), "none"));
      Value most =
          node.emit("ReduceMax", {masked, node.ints({dim + 1}, "pixels")}, node.attr("keepdims", int64_t(0)), "most");
      return std::pair(most, shaped(isEmpty, empty));
    };
    auto [rows, isRowEmpty] = pool(value, 2, (*pooled)[0]);
    auto [result, isColumnEmpty] = pool(rows, 3, (*pooled)[1]);
    Value isEmpty = op("Or", isRowEmpty, isColumnEmpty);
    return node.finish(node.emit("Where", {isEmpty, node.scalar(0, node.elementType(0), "zero"), result}));
  }

private:
  // Which pixels of a dimension lie in which output, [boxes, outputs, pixels], and which outputs have none.
  std::pair<Value, Value> bins(int64_t dim, AffineExpr outputs, AffineExpr pixels) {
    auto edge = [&](int64_t at) {
      // Halves away from zero.
      Value x = with("Mul", column(rois, at), scale);
      return op("Mul", op("Sign", x), op("Floor", with("Add", op("Abs", x), 0.5)));
    };
    int64_t first = dim == 2 ? 2 : 1;
    Value start = edge(first), extent = with("Max", with("Add", op("Sub", edge(first + 2), start), 1), 1);
    auto perBox = [&](Value value) { return shaped(value, {count, constant(1), constant(1)}); };
    auto perOutput = [&](Value value) { return shaped(value, {constant(1), outputs, constant(1)}); };
    Value step = perBox(op("Div", extent, length(outputs))), number = perOutput(counted(outputs));
    Value low = op("Add", op("Floor", op("Mul", number, step)), perBox(start));
    Value high = op("Add", op("Ceil", op("Mul", with("Add", number, 1), step)), perBox(start));
    auto clamp = [&](Value at) { return op("Min", with("Max", at, 0), length(pixels)); };
    low = clamp(low), high = clamp(high);
    Value at = shaped(counted(pixels), {constant(1), constant(1), pixels});
    return {op("And", op("GreaterOrEqual", at, low), op("Less", at, high)), op("LessOrEqual", high, low)};
  }

  double scale = 1;
  AffineExpr count;
  Value rois;
};

class DeformConv : Sampler {
public:
  explicit DeformConv(Node &node) : Sampler(node) {}

  LogicalResult run() {
    if (node.rank(0) != 4 || node.rank(1) != 4 || node.rank(2) != 4 || (node.hasInput(4) && node.rank(4) != 4))
      return node.error(ErrorCode::UnsupportedShape)
             << "DeformConv of an input of type " << node.inputText(0) << "; images of two dimensions are supported";
    graph::Sizes image = graph::sizesOf(node.input(0)), weight = graph::sizesOf(node.input(1));
    auto list = [&](StringRef name, size_t length, int64_t otherwise) {
      return node.intsAttr(name).value_or(SmallVector<int64_t>(length, otherwise));
    };
    SmallVector<int64_t> kernel = list("kernel_shape", 2, 0), strides = list("strides", 2, 1),
                         dilations = list("dilations", 2, 1), pads = list("pads", 4, 0);
    int64_t groups = node.intAttr("group", 1), offsetGroups = node.intAttr("offset_group", 1);
    auto isWrong = [](ArrayRef<int64_t> values, size_t length, int64_t least) {
      return values.size() != length || llvm::any_of(values, [&](int64_t v) { return v < least || v > INT32_MAX; });
    };
    for (size_t i = 0; i < 2 && kernel.size() == 2; ++i)
      kernel[i] = graph::constantSize(weight[2 + i]).value_or(kernel[i]);
    if (isWrong(kernel, 2, 1) || isWrong(strides, 2, 1) || isWrong(dilations, 2, 1) || isWrong(pads, 4, 0) ||
        groups < 1 || offsetGroups < 1 || groups > INT32_MAX || offsetGroups > INT32_MAX)
      return node.error(ErrorCode::BadAttribute) << "kernel_shape, strides, dilations, pads, group or offset_group of "
                                                    "DeformConv has a wrong length or value";
    // A place is listed for each tap, so that a declared size alone must not decide how many there are.
    if (kernel[0] * kernel[1] > 1 << 20)
      return node.error(ErrorCode::UnsupportedShape)
             << "DeformConv with a kernel of " << kernel[0] << " x " << kernel[1];
    AffineExpr one = constant(1), taps = constant(kernel[0] * kernel[1]);
    AffineExpr perOffset = size::exactDiv(image[1], constant(offsetGroups)),
               perGroup = size::exactDiv(image[1], constant(groups)),
               maps = size::exactDiv(weight[0], constant(groups));
    graph::Sizes outputs;
    for (size_t i = 0; i < 2; ++i) {
      AffineExpr slack = size::add(image[2 + i], pads[i] + pads[2 + i] - (kernel[i] - 1) * dilations[i] - 1);
      outputs.push_back(slack ? size::add(size::floorDiv(slack, strides[i]), 1) : slack);
    }
    if (!perOffset || !perGroup || !maps || !outputs[0] || !outputs[1])
      return node.error(ErrorCode::BadShape) << "the channels of DeformConv do not divide into " << groups
                                             << " groups and " << offsetGroups << " groups of offsets";
    // Places [N, groups of offsets, taps, rows, columns] of the two coordinates.
    SmallVector<AffineExpr> places{image[0], constant(offsetGroups), taps, outputs[0], outputs[1]};
    SmallVector<AffineExpr> pairs{image[0], constant(offsetGroups), taps, constant(2), outputs[0], outputs[1]};
    Value offsets = castAs(node, shaped(node.input(2), pairs), number, "offsets");
    Value at[2];
    for (int64_t d = 0; d < 2; ++d) {
      Value offset =
          node.emit("Gather", {offsets, node.scalar(d, i64, "coordinate")}, node.attr("axis", int64_t(3)), "offset");
      SmallVector<AffineExpr> perTap(5, one), perOutput(5, one);
      perTap[2] = taps;
      perOutput[3 + d] = outputs[d];
      SmallVector<int64_t> steps;
      for (int64_t tap = 0; tap < kernel[0] * kernel[1]; ++tap)
        steps.push_back((d ? tap % kernel[1] : tap / kernel[1]) * dilations[d] - pads[d]);
      Value within = castAs(node, shaped(node.ints(steps, "taps"), perTap), number, "taps");
      Value window = with("Mul", shaped(counted(outputs[d]), perOutput), strides[d]);
      at[d] = op("Add", op("Add", window, within), offset);
    }
    Value sampled = sample(at[0], at[1], image, constant(offsetGroups), perOffset);
    if (node.hasInput(4)) {
      Value mask = castAs(node, shaped(node.input(4), places), number, "mask");
      sampled = op("Mul", sampled, node.emit("Unsqueeze", {mask, node.ints({-1}, "channel")}, {}, "mask"));
    }
    // The columns of a product with the weights, as those of any convolution.
    sampled = sampled
                  ? transpose(node, castAs(node, sampled, node.elementType(0), "narrow"), {0, 1, 5, 2, 3, 4}, "columns")
                  : Value();
    AffineExpr depth = size::mul(perGroup, taps), pixels = size::mul(outputs[0], outputs[1]);
    Value columns = shaped(sampled, {image[0], constant(groups), depth, pixels});
    Value product = op("MatMul", shaped(node.input(1), {constant(groups), maps, depth}), columns);
    Value result =
        reshapeTo(node, product, {image[0], weight[0], outputs[0], outputs[1]}, node.hasInput(3) ? "product" : "");
    if (!node.hasInput(3))
      return node.finish(result);
    return node.finish(node.emit("Add", {result, shaped(node.input(3), {one, weight[0], one, one})}));
  }

private:
  // The interpolated rows of channels [N, groups of offsets, taps, rows, columns, channels]; what lies outside is zero.
  Value sample(Value y, Value x, ArrayRef<AffineExpr> image, AffineExpr groups, AffineExpr channels) {
    // Groups of channels are images of their own.
    AffineExpr all = size::mul(image[0], groups);
    Value rows = pixelRows(shaped(node.input(0), {all, channels, image[2], image[3]}));
    Value first = op("Mul", countUp(node, all, "images"), node.sizesValue({image[2]}, true, "height"));
    first = shaped(first, {image[0], groups, constant(1), constant(1), constant(1)});
    Value floors[] = {op("Floor", y), op("Floor", x)}, places[] = {y, x}, sum;
    for (int64_t corner = 0; corner < 4; ++corner) {
      Value weight, inside, index[2];
      for (int64_t d = 0; d < 2; ++d) {
        bool isNext = corner >> d & 1;
        Value pixel = isNext ? with("Add", floors[d], 1) : floors[d], rest = op("Sub", places[d], floors[d]);
        Value along = isNext ? rest : op("Sub", node.scalar(1, number, "one"), rest);
        Value isIn = op("And", with("GreaterOrEqual", pixel, 0), op("LessOrEqual", pixel, length(image[2 + d], -1)));
        index[d] = castAs(node, choose(isIn, pixel, node.scalar(0, number, "zero")), i64, "index");
        weight = weight ? op("Mul", weight, along) : along;
        inside = inside ? op("And", inside, isIn) : isIn;
      }
      weight = choose(inside, weight, node.scalar(0, number, "zero"));
      Value place = op("Mul", op("Add", first, index[0]), node.sizesValue({image[3]}, true, "width"));
      Value pixels =
          castAs(node, node.emit("Gather", {rows, op("Add", place, index[1])}, {}, "pixels"), number, "pixels");
      Value term = op("Mul", pixels, node.emit("Unsqueeze", {weight, node.ints({-1}, "channel")}, {}, "weight"));
      sum = sum ? op("Add", sum, term) : term;
    }
    return sum;
  }
};

LogicalResult roiAlign(Node &node) { return RoiAlign(node).run(); }
LogicalResult maxRoiPool(Node &node) { return MaxRoiPool(node).run(); }
LogicalResult deformConv(Node &node) { return DeformConv(node).run(); }

} // namespace

ArrayRef<Rule> regionRules() {
  static constexpr Rule rules[] = {
      {"RoiAlign", 3, 3, roiAlign}, {"MaxRoiPool", 2, 2, maxRoiPool}, {"DeformConv", 3, 5, deformConv}};
  return rules;
}

} // namespace fathom::importer
