// The graph dialect itself: registration, the encoding attribute, constants and the module's symbols.
#include "compiler/graph/Graph.h"

#include "compiler/graph/Notes.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/graph/SymbolCache.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fathom::graph;

#include "compiler/graph/GraphDialect.cpp.inc"
#include "compiler/graph/GraphInterfaces.cpp.inc"

static ParseResult parseShapeMap(AsmParser &parser, AffineMap &map) {
  if (parser.parseAffineMap(map))
    return failure();
  // One spelling per shape, so that equal shapes are equal types.
  Sizes sizes;
  for (AffineExpr expr : map.getResults())
    if (AffineExpr canonical = size::canonical(expr))
      sizes.push_back(canonical);
    else
      return parser.emitError(parser.getNameLoc(), "size ")
             << sizes.size() << " is not an expression over symbols that sizes can have";
  map = shapeMapOf(sizes, parser.getContext());
  return success();
}
static void printShapeMap(AsmPrinter &printer, AffineMap map) { map.print(printer.getStream()); }

static ParseResult parseInts(AsmParser &parser, SmallVector<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(values.emplace_back()); });
}
static void printInts(AsmPrinter &printer, ArrayRef<int64_t> values) {
  printer << '[';
  llvm::interleaveComma(values, printer);
  printer << ']';
}

#define GET_ATTRDEF_CLASSES
#include "compiler/graph/GraphAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/graph/GraphOps.cpp.inc"

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/graph/GraphAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/graph/GraphOps.cpp.inc"
      >();
  addInterfaces<SymbolCache>();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  if (isa<UnitAttr>(value) && isa<NoneType>(type))
    return NoneOp::create(builder, loc, type);
  if (auto elements = dyn_cast<ElementsAttr>(value); elements && isGraphTensor(type))
    return ConstantOp::create(builder, loc, type, elements);
  return nullptr;
}

LogicalResult GraphDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != symbolsAttrName)
    return verifyNote(op, attribute);
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!isa<ModuleOp, func::FuncOp>(op) || !list)
    return op->emitOpError() << symbolsAttrName << " must be a list on a module or a kernel";
  // A long list has lists of some symbols each.
  SmallVector<Attribute> entries;
  for (Attribute entry : list)
    if (auto block = dyn_cast<ArrayAttr>(entry))
      llvm::append_range(entries, block);
    else
      entries.push_back(entry);
  for (Attribute entry : entries)
    if (!parseSymbol(entry))
      return op->emitOpError() << symbolsAttrName
                               << " must hold {name = \"...\", min = N, max = M} with 0 <= min <= max, not " << entry;
  return success();
}

LogicalResult EncodingAttr::verify(function_ref<InFlightDiagnostic()> emitError, AffineMap shape,
                                   ArrayRef<int64_t> order, int64_t block, ArrayRef<int64_t> halo,
                                   ArrayRef<int64_t> room) {
  if (!shape && order.empty() && !block && halo.empty() && room.empty())
    return emitError() << "an encoding that says nothing must be left out";
  if (shape && shape.getNumDims())
    return emitError() << "shape must be a map from symbols only, not from dimensions";
  if (block < 0)
    return emitError() << "block must not be negative, but is " << block;
  if (block && order.empty())
    return emitError() << "block needs an order";
  if (halo.size() % 2)
    return emitError() << "halo must have a low and a high entry per dimension, but has " << halo.size() << " entries";
  for (int64_t margin : halo)
    if (margin < 0 || margin > INT32_MAX)
      return emitError() << "halo entry " << margin << " is out of range";
  for (int64_t others : room)
    if (others < 0)
      return emitError() << "room entry " << others << " is negative";
  int64_t rank = order.size() - (block ? 1 : 0);
  SmallVector<int> seen(rank, 0);
  for (int64_t dim : order) {
    if (dim < 0 || dim >= rank)
      return emitError() << "order names dimension " << dim << " of " << rank;
    ++seen[dim];
  }
  // rank + 1 entries that cover rank dimensions have exactly one dimension twice.
  if (llvm::is_contained(seen, 0))
    return emitError() << "order must name every dimension once" << (block ? ", the blocked one twice" : "");
  if (shape && !order.empty() && rank != shape.getNumResults())
    return emitError() << "order is for " << rank << " dimensions, shape for " << shape.getNumResults();
  return success();
}

LogicalResult EncodingAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                           function_ref<InFlightDiagnostic()> emitError) const {
  int64_t rank = shape.size();
  if (int64_t ordered = getOrder().size(); ordered && ordered - (getBlock() ? 1 : 0) != rank)
    return emitError() << "order is for " << ordered - (getBlock() ? 1 : 0) << " dimensions, the tensor has " << rank;
  if (int64_t margins = getHalo().size(); margins && margins != 2 * rank)
    return emitError() << "halo must have " << 2 * rank << " entries, but has " << margins;
  if (int64_t entries = getRoom().size(); entries && entries != rank)
    return emitError() << "room must have " << rank << " entries, but has " << entries;
  if (bool(getShape()) != ShapedType::isDynamicShape(shape))
    return emitError() << "shape must be given exactly when a size is not static";
  if (!getShape())
    return success();
  if (getShape().getNumResults() != rank)
    return emitError() << "shape gives " << getShape().getNumResults() << " sizes, the tensor has " << rank;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    std::optional<int64_t> constant = constantSize(getShape().getResult(dim));
    if (constant.value_or(ShapedType::kDynamic) != size)
      return emitError() << "shape and tensor disagree about size " << dim;
  }
  return success();
}

OpFoldResult NoneOp::fold(FoldAdaptor) { return UnitAttr::get(getContext()); }
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }
OpFoldResult IdentityOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : OpFoldResult(); }
