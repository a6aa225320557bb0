// Values are hashed from what they are computed from, forwards; then each op together with who reads its results, and
// all ops are added up, which no order changes.
#include "compiler/graph/GraphHash.h"

#include "compiler/graph/Graph.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace fathom {
namespace {

uint64_t hashText(StringRef text) { return llvm::xxh3_64bits(text); }

uint64_t mix(ArrayRef<uint64_t> parts) {
  return llvm::xxh3_64bits(ArrayRef(reinterpret_cast<const uint8_t *>(parts.data()), parts.size() * sizeof(uint64_t)));
}

template <typename Printed> uint64_t hashPrinted(Printed printed) {
  std::string text;
  llvm::raw_string_ostream(text) << printed;
  return hashText(text);
}

// What holds a constant, or stands for an absent operand.
bool isConstantLike(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); }

// An op that is there for what it does: it keeps its place among those of its block.
bool actsByItself(Operation *op) {
  return isa_and_nonnull<graph::GraphDialect>(op->getDialect()) && op->getNumResults() == 0 &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

unsigned depthOf(Block *block) {
  unsigned depth = 0;
  for (Operation *op = block->getParentOp(); op; op = op->getParentOp())
    ++depth;
  return depth;
}

} // namespace

uint64_t GraphHash::of(Type type) {
  auto [known, isNew] = types.try_emplace(type, 0);
  return isNew ? known->second = hashPrinted(type) : known->second;
}

uint64_t GraphHash::of(Attribute attribute) {
  if (auto known = attributes.find(attribute); known != attributes.end())
    return known->second;
  uint64_t hash;
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute))
    hash =
        mix({of(dense.getType()), dense.isSplat(), hashText({dense.getRawData().data(), dense.getRawData().size()})});
  else if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute);
           AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr)
    hash = mix({of(resource.getType()), 0, hashText({blob->getData().data(), blob->getData().size()})});
  else
    hash = hashPrinted(attribute);
  return attributes[attribute] = hash;
}

uint64_t GraphHash::of(ModuleOp module) {
  DenseMap<Value, uint64_t> values;
  DenseMap<Region *, uint64_t> inside; // of the ops in it, added up
  DenseMap<Block *, uint64_t> acting;  // how many ops that act there were so far
  SmallVector<std::pair<Operation *, uint64_t>> ops;
  auto hashOf = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return values.lookup(value);
    return mix({argument.getArgNumber(), argument.getOwner()->getParent()->getRegionNumber(),
                depthOf(argument.getOwner()), of(argument.getType())});
  };
  SmallVector<uint64_t> parts;
  // What is inside an op comes before it.
  module->walk([&](Operation *op) {
    parts.assign({hashText(op->getName().getStringRef())});
    for (NamedAttribute attribute : op->getAttrs())
      if (attribute.getName() != "graph.name") {
        parts.push_back(hashText(attribute.getName()));
        parts.push_back(of(attribute.getValue()));
      }
    for (Value operand : op->getOperands())
      parts.push_back(hashOf(operand));
    for (Type type : op->getResultTypes())
      parts.push_back(of(type));
    for (Region &region : op->getRegions())
      parts.push_back(inside.lookup(&region));
    if (actsByItself(op))
      parts.push_back(acting[op->getBlock()]++);
    uint64_t hash = mix(parts);
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      values[result] = mix({hash, i});
    if (isConstantLike(op))
      return;
    if (Region *around = op->getParentRegion())
      inside[around] += hash;
    ops.push_back({op, hash});
  });

  DenseMap<Value, uint64_t> readers;
  for (auto [op, hash] : ops)
    for (OpOperand &operand : op->getOpOperands())
      readers[operand.get()] += mix({hash, operand.getOperandNumber()});
  uint64_t sum = 0;
  for (auto [op, hash] : ops) {
    parts.assign({hash});
    for (Value result : op->getResults())
      parts.push_back(readers.lookup(result));
    sum += mix(parts);
  }
  return sum;
}

} // namespace fathom
