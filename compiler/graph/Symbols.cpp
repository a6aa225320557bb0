// Lists of symbols in blocks, and how they are read from attributes and written to them.
#include "compiler/graph/Symbols.h"

#include "compiler/graph/SymbolCache.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace fathom::graph {

SymbolList::SymbolList(ArrayRef<Symbol> symbols) {
  for (const Symbol &symbol : symbols)
    push_back(symbol);
}

SymbolList::Blocks &SymbolList::ownBlocks() {
  if (!blocks || blocks.use_count() > 1)
    blocks = blocks ? std::make_shared<Blocks>(*blocks) : std::make_shared<Blocks>();
  return *blocks;
}

void SymbolList::change(BlockPointer &block, size_t position, Symbol symbol) {
  std::shared_ptr<Block> changed;
  if (block && block.use_count() == 1)
    changed = std::const_pointer_cast<Block>(block);
  else
    changed = block ? std::make_shared<Block>(*block) : std::make_shared<Block>();
  if (position == changed->symbols.size()) {
    changed->symbols.emplace_back();
    changed->written.emplace_back();
  }
  changed->symbols[position] = std::move(symbol);
  changed->written[position] = {};
  changed->whole = {};
  block = std::move(changed);
}

void SymbolList::set(size_t position, Symbol symbol) {
  change(ownBlocks()[position / blockSize], position % blockSize, std::move(symbol));
}

void SymbolList::push_back(Symbol symbol) {
  Blocks &own = ownBlocks();
  if (count % blockSize == 0)
    own.push_back(nullptr);
  change(own.back(), count++ % blockSize, std::move(symbol));
}

void SymbolList::push_back(BlockPointer block) {
  if (block->symbols.empty())
    return;
  if (count % blockSize == 0 && block->symbols.size() <= blockSize) {
    count += block->symbols.size();
    ownBlocks().push_back(std::move(block));
    return;
  }
  for (const Symbol &symbol : block->symbols)
    push_back(symbol);
}

ArrayRef<SymbolList::BlockPointer> SymbolList::getBlocks() const {
  return blocks ? ArrayRef<BlockPointer>(*blocks) : ArrayRef<BlockPointer>();
}

std::optional<Symbol> parseSymbol(Attribute entry) {
  auto fields = dyn_cast_or_null<DictionaryAttr>(entry);
  if (!fields)
    return std::nullopt;
  auto name = fields.getAs<StringAttr>("name");
  auto min = fields.getAs<IntegerAttr>("min"), max = fields.getAs<IntegerAttr>("max");
  if (!name || !min || !max || !min.getType().isSignlessInteger(64) || !max.getType().isSignlessInteger(64))
    return std::nullopt;
  if (min.getInt() < 0 || max.getInt() < min.getInt())
    return std::nullopt;
  auto likely = fields.getAs<IntegerAttr>("likely");
  return Symbol{name.str(), min.getInt(), max.getInt(), fields.contains("computed"), likely ? likely.getInt() : 0};
}

static Attribute writeSymbol(const Symbol &symbol, MLIRContext *context) {
  Builder builder(context);
  NamedAttrList fields;
  fields.set("name", builder.getStringAttr(symbol.name));
  fields.set("min", builder.getI64IntegerAttr(symbol.min));
  fields.set("max", builder.getI64IntegerAttr(symbol.max));
  if (symbol.isComputed)
    fields.set("computed", builder.getUnitAttr());
  if (symbol.likely)
    fields.set("likely", builder.getI64IntegerAttr(symbol.likely));
  return fields.getDictionary(context);
}

SymbolList::BlockPointer SymbolCache::readBlock(ArrayAttr list) const {
  SymbolList::BlockPointer &known = blocks[list];
  if (!known) {
    SymbolList::Block block;
    for (Attribute entry : list)
      block.symbols.push_back(parseSymbol(entry).value_or(Symbol()));
    block.written.assign(list.begin(), list.end());
    block.whole = list;
    known = std::make_shared<SymbolList::Block>(std::move(block));
  }
  return known;
}

ArrayAttr SymbolCache::writeBlock(SymbolList::BlockPointer &block) const {
  if (block->whole)
    return block->whole;
  SymbolList::Block written = *block;
  for (auto [symbol, attribute] : llvm::zip_equal(written.symbols, written.written))
    if (!attribute)
      attribute = writeSymbol(symbol, getContext());
  written.whole = ArrayAttr::get(getContext(), written.written);
  block = blocks[written.whole] = std::make_shared<SymbolList::Block>(std::move(written));
  return block->whole;
}

void SymbolCache::keep(Attribute attribute, const SymbolList &list) const {
  // A model whose ops add symbols has a list for each of them, and what was read last is asked for again.
  constexpr unsigned mostLists = 64, mostBlocks = 4096;
  if (lists.size() >= mostLists)
    lists.clear();
  if (blocks.size() >= mostBlocks + list.getBlocks().size()) {
    blocks.clear();
    for (const SymbolList::BlockPointer &block : list.getBlocks())
      blocks[block->whole] = block;
  }
  lists[attribute] = list;
}

SymbolList SymbolCache::read(ArrayAttr attribute) const {
  std::lock_guard lock(mutex);
  if (auto known = lists.find(attribute); known != lists.end())
    return known->second;
  SymbolList list;
  if (attribute.empty() || isa<DictionaryAttr>(attribute[0]))
    list.push_back(readBlock(attribute));
  else
    for (Attribute block : attribute)
      if (auto symbols = dyn_cast<ArrayAttr>(block))
        list.push_back(readBlock(symbols));
  keep(attribute, list);
  return list;
}

ArrayAttr SymbolCache::write(const SymbolList &list) const {
  std::lock_guard lock(mutex);
  SymbolList written;
  SmallVector<Attribute> attributes;
  for (SymbolList::BlockPointer block : list.getBlocks()) {
    attributes.push_back(writeBlock(block));
    written.push_back(std::move(block));
  }
  ArrayAttr attribute =
      attributes.size() == 1 ? cast<ArrayAttr>(attributes[0]) : ArrayAttr::get(getContext(), attributes);
  keep(attribute, written);
  return attribute;
}

} // namespace fathom::graph
