// Finds ops side by side, and goes on with all of them as long as they go on alike.
#include "compiler/passes/ParallelOps.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// The op's attributes without its name.
Attribute attributesOf(Operation *op) {
  NamedAttrList list(op->getAttrDictionary());
  list.erase("graph.name");
  return list.getDictionary(op->getContext());
}

// The dimension of an operand that is broadcast against an axis of a result of this rank; negative: it has none there.
int64_t ownAxis(Value operand, int64_t axis, int64_t rank) { return axis - rank + typeOf(operand).getRank(); }

// The one op that reads the op's result and is elementwise, of the same sizes and type.
Operation *follower(Operation *op) {
  if (!op->hasOneUse())
    return nullptr;
  Operation *user = *op->user_begin();
  bool goesOn = user->hasTrait<Elementwise>() && user->getNumResults() == 1 && user->getBlock() == op->getBlock() &&
                user->getResult(0).getType() == op->getResult(0).getType();
  return goesOn ? user : nullptr;
}

// Moves the constant in front of where ops are made, since it may come later.
void moveToFront(OpBuilder &b, Value constant) {
  Operation *op = constant.getDefiningOp();
  if (op->getBlock() == b.getInsertionBlock() && !op->isBeforeInBlock(&*b.getInsertionPoint()))
    op->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
}

// What ops that follow branches read besides, for the whole; null where that cannot be said.
Value joinedOperand(OpBuilder &b, ArrayRef<Operation *> ops, unsigned operand, int64_t axis) {
  SmallVector<Value> parts;
  for (Operation *op : ops) {
    Value part = op->getOperand(operand);
    if (!part.getDefiningOp<ConstantOp>())
      return {};
    parts.push_back(part);
  }
  int64_t rank = typeOf(ops[0]->getResult(0)).getRank(), own = ownAxis(parts[0], axis, rank);
  bool isAlongAxis = own >= 0 && typeOf(parts[0]).getDimSize(own) == typeOf(ops[0]->getResult(0)).getDimSize(axis) &&
                     typeOf(parts[0]).getDimSize(own) != 1;
  if (!isAlongAxis) {
    // One constant for all.
    auto value = parts[0].getDefiningOp<ConstantOp>().getValue();
    if ((own >= 0 && typeOf(parts[0]).getDimSize(own) != 1) ||
        !llvm::all_of(parts, [&](Value part) { return part.getDefiningOp<ConstantOp>().getValue() == value; }))
      return {};
    return moveToFront(b, parts[0]), parts[0];
  }
  for (auto [part, op] : llvm::zip(parts, ops)) {
    bool fits = typeOf(part).getRank() == typeOf(parts[0]).getRank() &&
                typeOf(part).getDimSize(own) == typeOf(op->getResult(0)).getDimSize(axis);
    for (int64_t d = 0; fits && d < typeOf(part).getRank(); ++d)
      fits = d == own || typeOf(part).getDimSize(d) == typeOf(parts[0]).getDimSize(d);
    if (!fits)
      return {};
  }
  for (Value part : parts)
    moveToFront(b, part);
  return createNamed<ConcatOp>(b, ops[0], ".joined" + std::to_string(operand), parts, own);
}

// The op that follows all branches, of the whole; null where they go on differently.
Operation *followTogether(OpBuilder &b, Value whole, ArrayRef<Operation *> branches, ParallelOps &followers,
                          int64_t axis) {
  followers.clear();
  for (Operation *branch : branches)
    if (Operation *next = follower(branch))
      followers.push_back(next);
  auto operandOf = [&](size_t i) {
    return unsigned(llvm::find(followers[i]->getOperands(), branches[i]->getResult(0)).getIndex());
  };
  if (followers.size() != branches.size())
    return nullptr;
  unsigned place = operandOf(0);
  for (size_t i = 0; i < followers.size(); ++i)
    if (followers[i]->getName() != followers[0]->getName() || operandOf(i) != place ||
        followers[i]->getNumOperands() != followers[0]->getNumOperands() ||
        attributesOf(followers[i]) != attributesOf(followers[0]))
      return nullptr;
  SmallVector<Value> operands;
  for (unsigned i = 0; i < followers[0]->getNumOperands(); ++i) {
    Value operand = followers[0]->getOperand(i);
    bool isAbsent = isa<NoneType>(operand.getType());
    if (isAbsent && !llvm::all_of(followers, [&](Operation *op) { return isa<NoneType>(op->getOperand(i).getType()); }))
      return nullptr;
    operands.push_back(i == place ? whole
                       : isAbsent ? makeNone(b, followers[0]->getLoc())
                                  : joinedOperand(b, followers, i, axis));
    if (!operands.back())
      return nullptr;
  }
  Operation *together = b.clone(*followers[0]);
  together->setOperands(operands);
  nameAfter(together, followers[0], ".together");
  (void)inferResultTypes(together);
  return together;
}

} // namespace

std::vector<ParallelOps> parallelOps(Block &block, llvm::function_ref<Attribute(Operation *)> alike) {
  llvm::MapVector<std::pair<Value, Attribute>, ParallelOps> sets;
  for (Operation &op : block)
    if (Attribute key = op.getNumOperands() ? alike(&op) : Attribute())
      sets[{op.getOperand(0), key}].push_back(&op);
  std::vector<ParallelOps> parallel;
  for (auto &[key, ops] : sets)
    if (ops.size() > 1)
      parallel.push_back(std::move(ops));
  return parallel;
}

Attribute commonKey(Operation *op, ArrayRef<Attribute> others) {
  SmallVector<Attribute> parts{StringAttr::get(op->getContext(), op->getName().getStringRef()), attributesOf(op)};
  llvm::append_range(parts, others);
  return ArrayAttr::get(op->getContext(), parts);
}

SmallVector<Value> constantsOf(ArrayRef<Operation *> ops, unsigned operand, Operation *before) {
  OpBuilder b(before);
  SmallVector<Value> constants;
  for (Operation *op : ops) {
    constants.push_back(op->getOperand(operand));
    moveToFront(b, constants.back());
  }
  return constants;
}

void replaceByParts(OpBuilder &b, Value whole, ArrayRef<Operation *> ops, int64_t axis) {
  ParallelOps branches(ops), followers, done;
  while (Operation *together = followTogether(b, whole, branches, followers, axis)) {
    done.append(branches);
    whole = together->getResult(0);
    branches = followers;
  }
  int64_t start = 0;
  for (Operation *branch : branches) {
    int64_t end = start + typeOf(branch->getResult(0)).getDimSize(axis);
    Value part = createNamed<SliceOp>(b, branch, "", whole, makeInts(b, branch, {start}), makeInts(b, branch, {end}),
                                      makeInts(b, branch, {axis}), makeNone(b, branch->getLoc()));
    branch->getResult(0).replaceAllUsesWith(part);
    start = end;
  }
  done.append(branches);
  for (Operation *op : llvm::reverse(done))
    op->erase();
}

} // namespace fathom
