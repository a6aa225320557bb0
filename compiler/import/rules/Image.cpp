// Rules of operators that lay out images: cropping and padding about the centre, sampling grids, and the inverses of
// cutting an image into blocks and of pooling.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Parts.h"

using namespace mlir;

namespace fathom::importer {
namespace {

namespace size = graph::size;

// Integers that decide about sizes; nullopt after a report.
std::optional<graph::Elements> sizesFrom(Node &node, Value integers, int64_t length, StringRef name) {
  Value list = withLength(node, integers, length, name);
  auto type = list ? cast<RankedTensorType>(list.getType()) : RankedTensorType();
  if (!type)
    return std::nullopt;
  if (type.getRank() != 1 || type.getDimSize(0) != length || !isa<IntegerType>(type.getElementType())) {
    node.error(ErrorCode::BadShape) << name << " of " << node.type() << " is " << node.text(type) << ", where "
                                    << length << " integers are needed";
    return std::nullopt;
  }
  Value pinned = node.pinned(list, name);
  return pinned ? graph::elementsOf(pinned) : std::nullopt;
}

// The middle `wanted` elements of an axis, or the axis in the middle of as many.
Value centred(Node &node, Value value, int64_t axis, AffineExpr wanted) {
  AffineExpr own = graph::sizesOf(value)[axis], zero = constant(node, 0);
  graph::SymbolList symbols = node.symbols();
  if (size::same(own, wanted))
    return value;
  Value at = node.ints({axis}, "axis");
  if (!size::isAtLeast(wanted, own, symbols)) {
    if (size::isAtLeast(own, wanted, symbols)) {
      AffineExpr start = size::floorDiv(size::sub(own, wanted), 2), end = start ? size::add(start, wanted) : start;
      return end ? node.emit(
                       "Slice",
                       {value, node.sizesValue({start}, false, "start"), node.sizesValue({end}, false, "end"), at}, {},
                       "cropped")
                 : Value();
    }
    // Which of the two is larger shows when the model runs.
    Value have = node.sizesValue({own}, false, "own"), want = node.sizesValue({wanted}, false, "wanted");
    Value more = withNumber(node, "Max", node.emit("Sub", {have, want}, {}, "more"), 0, "more");
    Value kept = node.pinned(node.emit("Min", {have, want}, {}, "kept"), "kept");
    SmallVector<NamedAttribute> attrs{node.attr("axes", node.builder().getDenseI64ArrayAttr({axis})),
                                      node.attr("steps", node.builder().getDenseI64ArrayAttr({1}))};
    value = node.emit("DynamicSlice", {value, withNumber(node, "Div", more, 2, "start"), kept}, attrs, "cropped");
    if (!value)
      return {};
    own = graph::sizesOf(value)[axis];
  }
  AffineExpr before = size::floorDiv(size::sub(wanted, own), 2);
  AffineExpr after = before ? size::sub(size::sub(wanted, own), before) : before;
  if (!after)
    return {};
  SmallVector<AffineExpr> pads(2 * graph::sizesOf(value).size(), zero);
  pads[axis] = before;
  pads[axis + pads.size() / 2] = after;
  return node.emit("Pad", {value, node.sizesValue(pads, false, "pads")}, {}, "padded");
}

LogicalResult centerCropPad(Node &node) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, node.rank(0)));
  if (auto given = node.intsAttr("axes")) {
    axes = *given;
    for (int64_t &axis : axes) {
      std::optional<int64_t> normal = graph::normalizeAxis(axis, node.rank(0));
      if (!normal)
        return node.error(ErrorCode::BadAttribute)
               << "axis " << axis << " is out of range for a tensor of rank " << node.rank(0);
      axis = *normal;
    }
  }
  std::optional<graph::Elements> wanted = sizesFrom(node, node.input(1), axes.size(), "shape");
  if (!wanted)
    return failure();
  Value result = node.input(0);
  for (auto [axis, size] : llvm::zip_equal(axes, *wanted)) {
    if (size::upperBound(size).value_or(0) < 0)
      return node.error(ErrorCode::BadShape) << "shape of CenterCropPad holds a negative size";
    result = result ? centred(node, result, axis, size) : Value();
  }
  return node.finish(result);
}

// Coordinates from -1 to 1 along a dimension of `count` points: of the points at the ends, or of the ends themselves.
Value coordinates(Node &node, AffineExpr count, bool areCornersAligned, Type element) {
  AffineExpr last = size::add(count, -1);
  Value twice = withNumber(node, "Mul", countUp(node, count, "points"), 2, "twice");
  Value distance = node.emit("Sub", {twice, node.sizesValue({last}, true, "last")}, {}, "distance");
  Value range = node.sizesValue({areCornersAligned ? last : count}, true, "range");
  range = withNumber(node, "Max", range, 1, "range");
  return node.emit("Div", {castAs(node, distance, element, "distance"), castAs(node, range, element, "range")}, {},
                   "coordinates");
}

// theta * (x, y, 1) for every point, as one elementwise op.
LogicalResult affineGrid(Node &node) {
  bool areCornersAligned = node.intAttr("align_corners", 0);
  graph::Sizes theta = graph::sizesOf(node.input(0));
  int64_t rank = theta.size() == 3 ? graph::constantSize(theta[1]).value_or(0) : 0;
  if (rank == 0 && theta.size() == 3 && node.rank(1) == 1)
    rank = graph::constantSize(graph::sizesOf(node.input(1))[0]).value_or(2) - 2;
  Type element = node.elementType(0);
  bool isOpen = theta.size() == 3 && !graph::constantSize(theta[1]) && node.rank(1) == 1 &&
                !graph::constantSize(graph::sizesOf(node.input(1))[0]);
  if (isOpen)
    return hint(node.error(ErrorCode::UnsupportedShape)
                    << "theta of AffineGrid is " << node.inputText(0) << " and size " << node.inputText(1)
                    << ", which leaves open whether images are flat",
                "give the second size of theta with --dim");
  if ((rank != 2 && rank != 3) || graph::constantSize(theta[2]).value_or(rank + 1) != rank + 1)
    return node.error(ErrorCode::BadShape)
           << "theta of AffineGrid must have sizes [N, 2, 3] or [N, 3, 4], but is " << node.inputText(0);
  if (!isa<FloatType>(element))
    return node.error(ErrorCode::BadType)
           << "theta of AffineGrid must hold floats, but holds " << graph::elementText(element);
  std::optional<graph::Elements> sizes = sizesFrom(node, node.input(1), rank + 2, "size");
  if (!sizes)
    return failure();
  // A matrix for every image.
  AffineExpr images = size::sub(theta[0], (*sizes)[0]);
  if (!images || (graph::constantSize(images) && !graph::isConstant(images, 0)))
    return node.error(ErrorCode::BadShape) << "size of AffineGrid asks for another number of images than theta has";
  if (!graph::isConstant(images, 0))
    node.requireSizes({images, size::mul(images, -1)}, "size asks for another number of images than theta has");
  Type wide = element.isF64() ? element : Type(node.builder().getF32Type());
  Value matrices = castAs(node, node.input(0), wide, "theta"), sum;
  for (int64_t column = 0; column <= rank; ++column) {
    Value index = node.scalar(column, node.builder().getI64Type(), "column");
    Value factor = node.emit("Gather", {matrices, index}, node.attr("axis", int64_t(2)), "factor");
    SmallVector<AffineExpr> shape(rank + 2, constant(node, 1));
    shape.front() = theta[0];
    shape.back() = constant(node, rank);
    Value term = reshapeTo(node, factor, shape, "factor");
    if (column < rank) {
      // The first column is for the last dimension.
      int64_t dim = rank - 1 - column;
      SmallVector<AffineExpr> along(rank + 2, constant(node, 1));
      along[1 + dim] = (*sizes)[2 + dim];
      Value x = reshapeTo(node, coordinates(node, (*sizes)[2 + dim], areCornersAligned, wide), along, "coordinates");
      term = node.emit("Mul", {term, x}, {}, "term");
    }
    sum = sum ? node.emit("Add", {sum, term}, {}, "sum") : term;
  }
  return node.finish(castAs(node, sum, element, ""));
}

// Blocks of an image, one after the other, are added where they came from.
LogicalResult col2Im(Node &node) {
  if (node.rank(0) != 3)
    return node.error(ErrorCode::BadShape) << "the input of Col2Im must have rank 3, but has " << node.rank(0);
  auto known = graph::constantElementsOf(node.input(2));
  if (known && llvm::any_of(*known, [](int64_t size) { return size < 1 || size > INT32_MAX; }))
    return node.error(ErrorCode::BadShape) << "block_shape of Col2Im holds a size that is not positive";
  auto blockType = node.inputType(2);
  if (blockType.getRank() != 1 || !blockType.hasStaticShape())
    return node.error(ErrorCode::UnsupportedShape)
           << "block_shape of Col2Im is " << node.inputText(2) << ", so that the result's rank is not known";
  int64_t rank = blockType.getDimSize(0);
  std::optional<graph::Elements> block = sizesFrom(node, node.input(2), rank, "block_shape");
  if (!block)
    return failure();
  std::optional<graph::Elements> image = sizesFrom(node, node.input(1), rank, "image_shape");
  auto list = [&](StringRef name, int64_t length, int64_t otherwise) {
    return node.intsAttr(name).value_or(SmallVector<int64_t>(length, otherwise));
  };
  SmallVector<int64_t> strides = list("strides", rank, 1), dilations = list("dilations", rank, 1),
                       pads = list("pads", 2 * rank, 0);
  auto isWrong = [](ArrayRef<int64_t> values, size_t length, int64_t least) {
    return values.size() != length || llvm::any_of(values, [&](int64_t v) { return v < least || v > INT32_MAX; });
  };
  if (!image)
    return failure();
  if (isWrong(strides, rank, 1) || isWrong(dilations, rank, 1) || isWrong(pads, 2 * rank, 0))
    return node.error(ErrorCode::BadAttribute) << "strides, dilations or pads of Col2Im have a wrong length or value";
  graph::Sizes input = graph::sizesOf(node.input(0));
  AffineExpr one = constant(node, 1), places = one, pixels = one;
  AffineExpr blockElements = one;
  for (AffineExpr size : *block)
    blockElements = blockElements ? size::mul(blockElements, size) : blockElements;
  AffineExpr channels = blockElements ? size::exactDiv(input[1], blockElements) : AffineExpr();
  if (!channels && (known || !blockElements))
    return node.error(ErrorCode::BadShape)
           << "the input of Col2Im has type " << node.inputText(0) << ", which is not a multiple of blocks of "
           << (known ? graph::constantSize(blockElements).value_or(0) : 0) << " elements";
  if (!channels) {
    // How many channels there are shows when the model runs. An empty block divides nothing.
    Value elements = withNumber(node, "Max", node.sizesValue({blockElements}, false, "block"), 1, "block");
    Value quotient = node.emit("Div", {node.sizesValue({input[1]}, false, "rows"), elements}, {}, "channels");
    Value pinned = node.pinned(quotient, "channels");
    std::optional<graph::Elements> found = pinned ? graph::elementsOf(pinned) : std::nullopt;
    channels = found ? found->front() : AffineExpr();
    AffineExpr whole = channels ? size::mul(channels, blockElements) : AffineExpr();
    if (!whole)
      return node.error(ErrorCode::UnsupportedShape) << "block_shape of Col2Im is too complex";
    AffineExpr rest = size::sub(input[1], whole);
    node.requireSizes({rest, size::mul(rest, -1)}, "the input of Col2Im is not a multiple of its blocks");
  }
  // Where each element of a block lies in the padded image: a sum over the dimensions.
  graph::Sizes padded, padding;
  Value index;
  for (int64_t d = 0; d < rank; ++d)
    padded.push_back(size::add((*image)[d], pads[d] + pads[d + rank]));
  for (int64_t d = 0; d < rank; ++d) {
    AffineExpr reach = size::mul(size::add((*block)[d], -1), dilations[d]);
    AffineExpr slack = reach ? size::add(size::sub(padded[d], reach), -1) : reach;
    AffineExpr blocks = slack ? size::add(size::floorDiv(slack, strides[d]), 1) : slack;
    // An image that is smaller than a block has none of them.
    if (blocks && !size::isAtLeast(blocks, constant(node, 0), node.symbols())) {
      Value least = withNumber(node, "Max", node.sizesValue({blocks}, false, "blocks"), 0, "blocks");
      Value pinned = node.pinned(least, "blocks");
      std::optional<graph::Elements> known = pinned ? graph::elementsOf(pinned) : std::nullopt;
      blocks = known ? known->front() : AffineExpr();
    }
    if (!blocks)
      return node.error(ErrorCode::UnsupportedShape) << "image_shape of Col2Im is too complex";
    auto along = [&](AffineExpr count, int64_t step, int64_t at, StringRef name) {
      SmallVector<AffineExpr> shape(2 * rank, one);
      shape[at] = count;
      return reshapeTo(node, withNumber(node, "Mul", countUp(node, count, name), step, name), shape, name);
    };
    Value at =
        node.emit("Add", {along((*block)[d], dilations[d], d, "within"), along(blocks, strides[d], rank + d, "blocks")},
                  {}, "place");
    if (index)
      index = node.emit("Mul", {index, node.sizesValue({padded[d]}, true, "size")}, {}, "index");
    index = index ? node.emit("Add", {index, at}, {}, "index") : at;
    places = size::mul(places, blocks);
    pixels = size::mul(pixels, padded[d]);
  }
  AffineExpr elements = places ? size::mul(places, blockElements) : places;
  if (!elements || !pixels)
    return node.error(ErrorCode::UnsupportedShape) << "image_shape of Col2Im is too complex";
  SmallVector<AffineExpr> rows{input[0], channels, elements};
  Value indices =
      node.emit("Expand", {reshapeTo(node, index, {one, one, elements}, "index"), node.sizesValue(rows, false, "rows")},
                {}, "indices");
  Value blank = node.emit(
      "Expand",
      {node.scalar(0, node.elementType(0), "zero"), node.sizesValue({input[0], channels, pixels}, false, "sizes")}, {},
      "blank");
  Value sum = node.emit("ScatterElements", {blank, indices, reshapeTo(node, node.input(0), rows, "rows")},
                        {node.attr("axis", int64_t(2)), node.attr("reduction", "add")}, "sum");
  graph::Sizes shape{input[0], channels};
  llvm::append_range(shape, padded);
  Value result = reshapeTo(node, sum, shape, "padded");
  if (llvm::all_of(pads, [](int64_t pad) { return pad == 0; }))
    return node.finish(result);
  SmallVector<AffineExpr> from, to;
  SmallVector<int64_t> axes;
  for (int64_t d = 0; d < rank; ++d) {
    from.push_back(constant(node, pads[d]));
    to.push_back(size::add((*image)[d], pads[d]));
    axes.push_back(2 + d);
  }
  return node.finish(node.emit("Slice", {result, node.sizesValue(from, false, "from"), node.sizesValue(to, false, "to"),
                                         node.ints(axes, "axes")}));
}

// The maxima are put back where they were; everything else is zero.
LogicalResult maxUnpool(Node &node) {
  int64_t rank = node.rank(0) - 2;
  auto kernel = node.intsAttr("kernel_shape");
  auto list = [&](StringRef name, int64_t length, int64_t otherwise) {
    return node.intsAttr(name).value_or(SmallVector<int64_t>(std::max<int64_t>(length, 0), otherwise));
  };
  SmallVector<int64_t> strides = list("strides", rank, 1), pads = list("pads", 2 * rank, 0);
  if (rank < 1 || node.rank(1) != node.rank(0))
    return node.error(ErrorCode::BadShape)
           << "the inputs of MaxUnpool have types " << node.inputText(0) << " and " << node.inputText(1);
  auto isWrong = [](ArrayRef<int64_t> values, size_t length, int64_t least) {
    return values.size() != length || llvm::any_of(values, [&](int64_t v) { return v < least || v > INT32_MAX; });
  };
  if (!kernel || isWrong(*kernel, rank, 1) || isWrong(strides, rank, 1) || isWrong(pads, 2 * rank, 0))
    return node.error(ErrorCode::BadAttribute)
           << "kernel_shape, strides or pads of MaxUnpool is missing or has a wrong length or value";
  graph::Sizes sizes = graph::sizesOf(node.input(0));
  for (int64_t d = 0; d < rank; ++d) {
    AffineExpr reach = size::mul(size::add(sizes[2 + d], -1), strides[d]);
    sizes[2 + d] = reach ? size::add(reach, (*kernel)[d] - pads[d] - pads[d + rank]) : reach;
  }
  AffineExpr count = graph::product(sizes, node.context());
  if (!count)
    return node.error(ErrorCode::UnsupportedShape) << "the sizes of MaxUnpool are too complex";
  Value blank = node.emit(
      "Expand", {node.scalar(0, node.elementType(0), "zero"), node.sizesValue({count}, false, "count")}, {}, "blank");
  Value placed =
      node.emit("ScatterElements",
                {blank, reshape(node, node.input(1), {-1}, "indices"), reshape(node, node.input(0), {-1}, "maxima")},
                {}, "placed");
  Value result = reshapeTo(node, placed, sizes, node.hasInput(2) ? "unpooled" : "");
  if (!node.hasInput(2))
    return node.finish(result);
  // A larger output continues with zeros.
  std::optional<graph::Elements> wanted = sizesFrom(node, node.input(2), rank + 2, "output_shape");
  if (!wanted)
    return failure();
  SmallVector<AffineExpr> more(rank + 2, constant(node, 0));
  for (auto [to, from] : llvm::zip_equal(*wanted, sizes)) {
    AffineExpr rest = size::sub(to, from);
    if (!rest || size::upperBound(rest).value_or(0) < 0)
      return node.error(ErrorCode::BadShape) << "output_shape of MaxUnpool is smaller than what the window covers";
    more.push_back(rest);
  }
  return node.finish(node.emit("Pad", {result, node.sizesValue(more, false, "more")}));
}

} // namespace

ArrayRef<Rule> imageRules() {
  static constexpr Rule rules[] = {{"CenterCropPad", 2, 2, centerCropPad},
                                   {"AffineGrid", 2, 2, affineGrid},
                                   {"Col2Im", 3, 3, col2Im},
                                   {"MaxUnpool", 2, 3, maxUnpool}};
  return rules;
}

} // namespace fathom::importer
