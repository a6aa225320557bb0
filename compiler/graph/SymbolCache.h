// The symbols that were read from attributes or written to them, kept by the dialect: an attribute never changes while
// it lives.
#pragma once

#include "compiler/graph/Symbols.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/DenseMap.h"
#include <mutex>

namespace fathom::graph {

class SymbolCache : public mlir::DialectInterface::Base<SymbolCache> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SymbolCache)

  explicit SymbolCache(mlir::Dialect *dialect) : Base(dialect) {}
  SymbolList read(mlir::ArrayAttr list) const;
  mlir::ArrayAttr write(const SymbolList &list) const;

private:
  SymbolList::BlockPointer readBlock(mlir::ArrayAttr list) const;
  mlir::ArrayAttr writeBlock(SymbolList::BlockPointer &block) const;
  void keep(mlir::Attribute attribute, const SymbolList &list) const;

  mutable std::mutex mutex; // kernels are compiled side by side
  mutable llvm::DenseMap<mlir::Attribute, SymbolList> lists;
  mutable llvm::DenseMap<mlir::Attribute, SymbolList::BlockPointer> blocks;
};

} // namespace fathom::graph
