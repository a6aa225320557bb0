// Rules of Resize and of Upsample, which it replaced: before version 11 there was one way to map coordinates. Sizes
// that are only known when the model runs are computed and pinned to symbols.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Parts.h"

using namespace mlir;

namespace fathom::importer {

// An empty tensor stood for an absent input before inputs could be absent.
static Value noneIfEmpty(Node &node, unsigned index) {
  if (!node.hasInput(index))
    return node.none();
  graph::Sizes sizes = graph::sizesOf(node.input(index));
  bool empty = sizes.size() == 1 && graph::isConstant(sizes[0], 0);
  return empty ? node.none() : node.input(index);
}

namespace {

// The operands of a Resize whose scales or sizes data decides.
class RuntimeResize {
public:
  RuntimeResize(Node &node, ArrayRef<int64_t> axes, Value roi)
      : node(node), axes(axes), roi(roi), f32(node.builder().getF32Type()), i64(node.builder().getI64Type()) {
    for (int64_t axis : axes)
      own.push_back(graph::sizesOf(node.input(0))[axis]);
  }

  // The sizes that follow from scales, which the op gets as well: it maps coordinates by what was asked for. In single
  // precision, as ONNX's own shape inference computes them.
  SmallVector<Value> byScales(Value scales, bool isCropping) {
    scales = castAs(node, withLength(node, scales, axes.size(), "scales"), f32, "scales");
    Value factors = scales;
    if (isCropping) {
      Value list = castAs(node, roi, f32, "roi");
      int64_t count = axes.size();
      Value extent =
          op("Sub", part(node, list, 0, count, 2 * count, "roi_end"), part(node, list, 0, 0, count, "roi_start"));
      factors = op("Mul", factors, extent);
    }
    // A scale that is no positive number gives a negative size, which is refused.
    Value sizes = node.emit("Floor", op("Mul", lengths(f32), factors), {}, "scaled");
    Value isGood = op("Greater", scales, node.scalar(0, f32, "zero"));
    sizes = node.emit("Where", {isGood, sizes, node.scalar(-1, f32, "refused")}, {}, "scaled");
    return {scales, node.pinned(castAs(node, sizes, i64, "scaled"), "size")};
  }

  // One scale for all axes, from the sizes that were asked for.
  SmallVector<Value> keepingRatio(Value wanted, bool isLarger) {
    Value ratios =
        op("Div", castAs(node, withLength(node, wanted, axes.size(), "sizes"), f64(), "wanted"), lengths(f64()));
    Value scale = node.emit(isLarger ? "ReduceMax" : "ReduceMin", ratios, {}, "scale");
    Value rounded = withNumber(node, "Add", op("Mul", lengths(f64()), scale), 0.5, "rounded");
    Value sizes = castAs(node, node.emit("Floor", rounded, {}, "rounded"), i64, "sizes");
    Value scales = node.emit("Expand", {scale, node.ints({int64_t(axes.size())}, "count")}, {}, "scales");
    return {scales, node.pinned(sizes, "size")};
  }

private:
  Value op(StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "resize"); }
  Type f64() { return node.builder().getF64Type(); }
  Value lengths(Type type) { return castAs(node, node.sizesValue(own, false, "lengths"), type, "lengths"); }

  Node &node;
  ArrayRef<int64_t> axes;
  Value roi;
  Type f32, i64;
  SmallVector<AffineExpr> own;
};

} // namespace

static bool isPresent(Value value) { return !isa<NoneType>(value.getType()); }

static LogicalResult finishResize(Node &node, SmallVector<Value> operands, ArrayRef<NamedAttribute> attrs,
                                  std::optional<SmallVector<int64_t>> axes, StringRef policy, bool isCropping);

// Upsample, and Resize of version 10.
static LogicalResult upsample(Node &node) {
  Value scales = node.input(1);
  if (auto list = node.floatsAttr("scales")) {
    SmallVector<float> floats(list->begin(), list->end());
    auto type = RankedTensorType::get({int64_t(floats.size())}, node.builder().getF32Type());
    scales = node.constant(DenseElementsAttr::get(type, ArrayRef<float>(floats)), "scales");
  }
  StringRef mode = node.stringAttr("mode", "nearest");
  if (mode != "nearest" && mode != "linear")
    return node.error(ErrorCode::BadAttribute) << "mode '" << mode << "' of " << node.type();
  // The nearest element was the one before when enlarging and the one after when shrinking.
  StringRef nearest = "floor";
  std::optional<SmallVector<double>> factors = graph::constantFloatsOf(scales);
  if (mode == "nearest" && factors && llvm::any_of(*factors, [](double factor) { return factor < 1; })) {
    if (llvm::any_of(*factors, [](double factor) { return factor > 1; }))
      return node.error(ErrorCode::UnsupportedAttribute)
             << node.type() << " of operator set " << node.opset() << " that shrinks one axis and enlarges another";
    nearest = "ceil";
  }
  SmallVector<NamedAttribute> attrs{node.attr("coordinate_transformation_mode", "asymmetric"),
                                    node.attr("nearest_mode", nearest), node.attr("mode", mode)};
  return finishResize(node, {node.input(0), node.none(), scales, node.none()}, attrs, std::nullopt, "stretch",
                      /*isCropping=*/false);
}

// Emits a Resize with these operands and attributes, of which `axes` is apart.
static LogicalResult finishResize(Node &node, SmallVector<Value> operands, ArrayRef<NamedAttribute> attrs,
                                  std::optional<SmallVector<int64_t>> axes, StringRef policy, bool isCropping) {
  SmallVector<NamedAttribute> all(attrs);
  if (axes)
    all.push_back(node.attr("axes", node.builder().getDenseI64ArrayAttr(*axes)));
  SmallVector<NamedAttribute> given = all;
  given.push_back(node.attr("keep_aspect_ratio_policy", policy));
  Value roi = operands[1], scales = operands[2], sizes = operands[3];
  if (!axes)
    axes = llvm::to_vector(llvm::seq<int64_t>(0, node.rank(0)));
  for (int64_t &axis : *axes)
    axis = graph::normalizeAxis(axis, node.rank(0)).value_or(-1);
  bool areAxesGood = !llvm::is_contained(*axes, -1), hasOne = isPresent(scales) != isPresent(sizes);
  auto plain = [&] { return node.finish(node.emit("Resize", operands, given)); };
  // What is known at compile time takes the plain way, and what is wrong the op says best.
  if (!areAxesGood || !hasOne)
    return plain();
  if (isCropping && !isPresent(roi))
    return node.error(ErrorCode::BadGraph) << "tf_crop_and_resize needs a roi";
  for (Value list : {scales, sizes}) {
    auto type = dyn_cast<RankedTensorType>(list.getType());
    if (type && type.getRank() == 1 && type.hasStaticShape() && type.getDimSize(0) != int64_t(axes->size()))
      return node.error(ErrorCode::BadShape) << (list == scales ? "scales" : "sizes") << " has " << type.getDimSize(0)
                                             << " elements for " << axes->size() << " axes";
  }
  if (isCropping)
    operands[1] = roi = withLength(node, roi, 2 * axes->size(), "roi");
  RuntimeResize runtime(node, *axes, roi);
  auto isVector = [&](Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 1; };
  if (isPresent(scales)) {
    bool isKnown =
        graph::constantFloatsOf(scales).has_value() && (!isCropping || graph::constantFloatsOf(roi).has_value());
    if (isKnown)
      if (Value known = node.tryEmit("Resize", operands, given))
        return node.finish(known);
    if (!isVector(scales) || !isa<FloatType>(getElementTypeOrSelf(scales)) || (isCropping && !isVector(roi)))
      return plain();
    SmallVector<Value> made = runtime.byScales(scales, isCropping);
    return node.finish(node.emit("Resize", {node.input(0), roi, made[0], made[1]}, all));
  }
  std::optional<graph::Elements> wanted = graph::elementsOf(sizes);
  if (policy == "not_larger" || policy == "not_smaller") {
    if (Value known = wanted ? node.tryEmit("Resize", operands, given) : Value())
      return node.finish(known);
    if (!isVector(sizes) || !isa<IntegerType>(getElementTypeOrSelf(sizes)))
      return plain();
    SmallVector<Value> made = runtime.keepingRatio(sizes, policy == "not_smaller");
    return node.finish(node.emit("Resize", {node.input(0), roi, made[0], made[1]}, all));
  }
  if (wanted)
    return plain();
  Value pinned = node.pinned(withLength(node, sizes, axes->size(), "sizes"), "size");
  return node.finish(node.emit("Resize", {node.input(0), roi, scales, pinned}, given));
}

static LogicalResult resize(Node &node) {
  if (node.opset() < 11)
    return upsample(node);
  std::optional<SmallVector<int64_t>> axes = node.intsAttr("axes");
  std::string policy = node.stringAttr("keep_aspect_ratio_policy", "stretch").str();
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs("Resize");
  if (failed(attrs))
    return failure();
  bool isCropping = llvm::any_of(*attrs, [](NamedAttribute attribute) {
    auto mode = dyn_cast<StringAttr>(attribute.getValue());
    return attribute.getName() == "coordinate_transformation_mode" && mode && mode.getValue() == "tf_crop_and_resize";
  });
  return finishResize(node, {node.input(0), noneIfEmpty(node, 1), noneIfEmpty(node, 2), noneIfEmpty(node, 3)}, *attrs,
                      axes, policy, isCropping);
}

ArrayRef<Rule> resizeRules() {
  static constexpr Rule rules[] = {{"Upsample", 1, 2, upsample}, {"Resize", 1, 4, resize}};
  return rules;
}

} // namespace fathom::importer
