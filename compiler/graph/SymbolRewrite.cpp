// Rewriting of symbols by MLIR's replacer of attributes and types.
#include "compiler/graph/SymbolRewrite.h"

#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace fathom::graph {

// Types are rebuilt from their sizes: one that became static has another shape and perhaps no encoding.
static RankedTensorType rebuilt(RankedTensorType type, AffineMap map) {
  auto encoding = cast<EncodingAttr>(type.getEncoding());
  SmallVector<int64_t> shape;
  for (AffineExpr size : map.getResults())
    shape.push_back(constantSize(size).value_or(ShapedType::kDynamic));
  bool isStatic = !ShapedType::isDynamicShape(shape);
  EncodingAttr changed;
  if (!isStatic || encoding.hasLayout())
    changed = EncodingAttr::get(type.getContext(), isStatic ? AffineMap() : map, encoding.getOrder(),
                                encoding.getBlock(), encoding.getHalo(), encoding.getRoom());
  return RankedTensorType::get(shape, type.getElementType(), changed);
}

void replaceSymbols(Operation *op, ArrayRef<AffineExpr> replacements) {
  auto renamed = [&](AffineMap map) {
    SmallVector<AffineExpr> results;
    for (AffineExpr expr : map.getResults()) {
      // Only conditions may be beyond the canonical form.
      AffineExpr replaced = expr.replaceSymbols(replacements), canonical = size::canonical(replaced);
      results.push_back(canonical ? canonical : replaced);
    }
    return shapeMapOf(results, op->getContext());
  };
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    auto encoding = dyn_cast_or_null<EncodingAttr>(type.getEncoding());
    if (!encoding || !encoding.getShape())
      return std::nullopt;
    return std::pair<Type, WalkResult>(rebuilt(type, renamed(encoding.getShape())), WalkResult::skip());
  });
  replacer.addReplacement([&](AffineMapAttr map) { return AffineMapAttr::get(renamed(map.getValue())); });
  auto positions = [&](ArrayRef<int64_t> symbols) {
    SmallVector<int64_t> result;
    for (int64_t symbol : symbols)
      result.push_back(cast<AffineSymbolExpr>(replacements[symbol]).getPosition());
    return result;
  };
  op->walk([&](Operation *inner) {
    if (auto pin = dyn_cast<PinOp>(inner))
      pin.setSymbols(positions(pin.getSymbols()));
    if (auto branch = dyn_cast<IfOp>(inner))
      branch.setSymbols(positions(branch.getSymbols()));
    if (auto loop = dyn_cast<LoopOp>(inner)) {
      loop.setSymbols(positions(loop.getSymbols()));
      loop.setBodySymbols(positions(loop.getBodySymbols()));
    }
  });
  replacer.recursivelyReplaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
}

SmallVector<unsigned> usedSymbols(Operation *op) {
  llvm::SmallSetVector<unsigned, 4> used;
  auto note = [&](AffineMap map) {
    for (AffineExpr expr : map.getResults())
      expr.walk([&](AffineExpr part) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
          used.insert(symbol.getPosition());
      });
  };
  AttrTypeWalker walker;
  walker.addWalk([&](EncodingAttr encoding) {
    if (encoding.getShape())
      note(encoding.getShape());
  });
  walker.addWalk([&](AffineMapAttr map) { note(map.getValue()); });
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    walker.walk<WalkOrder::PreOrder>(inner->getAttrDictionary());
    for (Type type : inner->getResultTypes())
      walker.walk<WalkOrder::PreOrder>(type);
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          walker.walk<WalkOrder::PreOrder>(argument.getType());
  });
  return SmallVector<unsigned>(used.begin(), used.end());
}

} // namespace fathom::graph
