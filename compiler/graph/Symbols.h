// A module's symbols: sizes that are only known when the model runs.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/iterator.h"
#include <memory>
#include <optional>

namespace fathom::graph {

// A named symbolic dimension with the inclusive range it is compiled for. Inputs give the first symbols their values; a
// computed one gets its value while the model runs.
struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = INT32_MAX;
  bool isComputed = false;
  int64_t likely = 0; // the size that schedules are made for; 0: none was given
};

// Symbols as an attribute has them. Every shape function asks for them, any op may add or narrow one, and there may be
// as many as ops: they are kept in blocks that lists share, so that a copy costs nothing and a change one block.
class SymbolList {
public:
  // A list of more has lists of so many in its attribute, too.
  static constexpr size_t blockSize = 32;
  struct Block {
    llvm::SmallVector<Symbol, 0> symbols;
    llvm::SmallVector<mlir::Attribute, 0> written; // each symbol's attribute, where it has one already
    mlir::ArrayAttr whole;                         // and the block's
  };
  using BlockPointer = std::shared_ptr<const Block>;

  SymbolList() = default;
  SymbolList(llvm::ArrayRef<Symbol> symbols);
  SymbolList(const llvm::SmallVectorImpl<Symbol> &symbols) : SymbolList(llvm::ArrayRef(symbols)) {}

  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const Symbol &operator[](size_t position) const {
    return (*blocks)[position / blockSize]->symbols[position % blockSize];
  }
  void set(size_t position, Symbol symbol);
  void push_back(Symbol symbol);
  void push_back(BlockPointer block);
  llvm::ArrayRef<BlockPointer> getBlocks() const;

  class iterator : public llvm::iterator_facade_base<iterator, std::random_access_iterator_tag, const Symbol> {
  public:
    iterator(const SymbolList &list, size_t position) : list(&list), position(position) {}
    const Symbol &operator*() const { return (*list)[position]; }
    bool operator==(const iterator &other) const { return position == other.position; }
    bool operator<(const iterator &other) const { return position < other.position; }
    ptrdiff_t operator-(const iterator &other) const { return ptrdiff_t(position) - ptrdiff_t(other.position); }
    iterator &operator+=(ptrdiff_t by) { return position += by, *this; }
    iterator &operator-=(ptrdiff_t by) { return position -= by, *this; }

  private:
    const SymbolList *list;
    size_t position;
  };
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, count}; }
  // A list of one's own, of which many are changed.
  llvm::SmallVector<Symbol> vec() const { return llvm::SmallVector<Symbol>(begin(), end()); }

private:
  using Blocks = llvm::SmallVector<BlockPointer, 1>;
  Blocks &ownBlocks();
  static void change(BlockPointer &block, size_t position, Symbol symbol);

  std::shared_ptr<Blocks> blocks; // never changed while it is shared
  size_t count = 0;
};

// One entry of the attribute, for verifiers.
std::optional<Symbol> parseSymbol(mlir::Attribute entry);

} // namespace fathom::graph
