// The reasons, read off the finished program by the rules that fusion follows (plan/FuseOps.cpp).
#include "compiler/explain/KernelNotes.h"

#include "compiler/explain/SequentialNotes.h"
#include "compiler/explain/TypeNotes.h"
#include "compiler/graph/Pieces.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/TransposedConv.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

std::string shortName(Operation *op) { return op->getName().stripDialect().str(); }

// An op that was taken into the kernel with the value it makes, such as axes or sizes.
bool isInlinedOperand(Operation &op) { return isKnown(&op); }

size_t kernelOf(func::CallOp call) { return call->getAttrOfType<IntegerAttr>("graph.kernel").getInt(); }

Value withoutViews(Value value) {
  while (value.getDefiningOp() && isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

// The kernels whose results are joined or cut where they lie, by this op and such ones before it. Where each joins the
// one before, as in dense networks, all of them would be told for each; the nearest say enough.
llvm::SmallSetVector<func::CallOp, 4> kernelsBehind(Operation *inPlace) {
  llvm::SmallSetVector<func::CallOp, 4> kernels;
  llvm::SmallSetVector<Operation *, 8> pending;
  pending.insert(inPlace);
  constexpr size_t enough = 32;
  for (size_t next = 0; next < pending.size() && kernels.size() < enough; ++next)
    for (Value operand : pending[next]->getOperands())
      if (Operation *producer = withoutViews(operand).getDefiningOp()) {
        if (auto call = dyn_cast<func::CallOp>(producer))
          kernels.insert(call);
        else if (isInPlace(producer))
          pending.insert(producer);
      }
  return kernels;
}

// Who uses a value, also through views of it.
llvm::SmallSetVector<Operation *, 4> usersOf(Value value) {
  llvm::SmallSetVector<Operation *, 4> users;
  for (Operation *user : value.getUsers()) {
    if (isView(user))
      users.insert_range(usersOf(user->getResult(0)));
    else
      users.insert(user);
  }
  return users;
}

// The phases of a transposed convolution: how many, with how many taps.
std::string describePhases(ConvTransposeOp op) {
  SmallVector<int64_t> taps = tapsOfPhases(*getWindow(op));
  auto [least, most] = std::minmax_element(taps.begin(), taps.end());
  std::string range = std::to_string(*most) + (*most == 1 ? " tap" : " taps");
  if (*least != *most)
    range = std::to_string(*least) + " to " + range;
  std::string phases = std::to_string(taps.size()) + (taps.size() == 1 ? " phase" : " phases");
  std::string each = op.getGroup() == 1 ? "a matrix product" : "matrix products by groups";
  return phases + " of " + range + ", each " + each + " of pixels, read in place, and weights";
}

// How the kernel computes its anchor.
std::string describeAlgorithm(Operation *anchor, const Kernel &kernel) {
  if (auto conv = dyn_cast_or_null<WinogradConvOp>(anchor)) {
    std::string tile = std::to_string(conv.getTile());
    return "Winograd's F(" + tile + ",3): tiles of " + tile + " x " + tile + " pixels";
  }
  if (auto transposed = dyn_cast_or_null<ConvTransposeOp>(anchor); transposed && hasPhases(transposed))
    return describePhases(transposed);
  auto conv = dyn_cast_or_null<ConvOp>(anchor);
  if (!conv || kernel.kernelClass->algorithm != Algorithm::Contract)
    return kernel.kernelClass->meaning.str();
  std::string windows =
      typed<ContractSchedule>(kernel.schedule).packed ? "windows, packed block by block," : "windows, read in place,";
  return conv.getGroup() == 1 ? "a matrix product of " + windows + " and weights"
                              : "matrix products of " + windows + " and weights, one for each group";
}

class Explainer {
public:
  explicit Explainer(const Program &program) : program(program), names(program.kernels.size()) {
    func::FuncOp main = program.main;
    main.walk([&](func::CallOp call) {
      names[kernelOf(call)] = program.kernels[kernelOf(call)].name;
      calls[kernelOf(call)] = call;
    });
  }

  KernelNotes explain(size_t kernel) {
    KernelNotes notes;
    func::FuncOp code = codeOf(kernel);
    Operation *anchor = anchorOf(code);
    notes.algorithm = describeAlgorithm(anchor, program.kernels[kernel]);
    notes.sequential = whySequential(program.kernels[kernel], program.codes[program.kernels[kernel].code], anchor);
    std::string before, behind;
    bool isBehind = false;
    for (auto [op, node] : nodesOf(kernel)) {
      std::string part = op == anchor ? whatAnchors(kernel, anchor) : partOf(*op, anchor, isBehind);
      notes.ops.push_back({shortName(op), node, part, explainType(op)});
      isBehind |= op == anchor;
      std::string &stage = isBehind ? behind : before;
      if (op != anchor)
        stage += (stage.empty() ? "" : ", ") + shortName(op);
    }
    for (const std::string &stage : {before, anchor ? shortName(anchor) : "", behind})
      if (!stage.empty())
        notes.stages.push_back(stage);
    func::CallOp call = calls.lookup(kernel);
    if (!call)
      return notes;
    llvm::SmallDenseSet<Value> seen;
    for (auto [i, operand] : llvm::enumerate(call.getOperands())) {
      Value value = withoutViews(operand);
      Operation *producer = value.getDefiningOp();
      if (!producer || !seen.insert(value).second)
        continue;
      if (isControl(producer))
        notes.apart.push_back({opName(producer).str(), "it is the result of a branch or loop"});
      else if (auto other = dyn_cast<func::CallOp>(producer))
        notes.apart.push_back({names[kernelOf(other)], whyApart(other, call, i, value, operand)});
      else if (isInPlace(producer))
        for (func::CallOp other : kernelsBehind(producer))
          notes.apart.push_back({names[kernelOf(other)], isa<SliceOp>(producer)
                                                             ? "a part of its result is read where it lies"
                                                             : "its result is a part of what is read in one"});
    }
    return notes;
  }

private:
  func::FuncOp codeOf(size_t kernel) const { return program.codes[program.kernels[kernel].code].function; }

  // The ops of a kernel with their nodes. Equal kernels share the code of the first of them, whose nodes stand in the
  // order of this one's.
  std::vector<std::pair<Operation *, std::string>> nodesOf(size_t kernel) {
    SmallVector<StringRef> nodes;
    StringRef(program.kernels[kernel].nodes).split(nodes, ',', -1, /*KeepEmpty=*/false);
    llvm::SmallSetVector<StringRef, 4> first;
    std::vector<std::pair<Operation *, std::string>> result;
    for (Operation &op : codeOf(kernel).getBody().front().without_terminator()) {
      if (isInlinedOperand(op))
        continue;
      StringRef name = nodeName(op.getLoc());
      if (!name.empty())
        first.insert(name);
      result.emplace_back(&op, name.str());
    }
    bool corresponds = nodes.size() == first.size();
    for (auto &[op, name] : result)
      if (auto found = llvm::find(first, StringRef(name)); found != first.end())
        name = corresponds ? nodes[found - first.begin()].str() : program.kernels[kernel].nodes;
    return result;
  }

  // Why an attention is one kernel or three; `isOne`: which of both it is.
  static std::string whyFused(const AttentionCosts &costs, bool isOne) {
    std::string text = "one kernel is estimated at " + std::to_string(costs.fused) + " cycles, three at " +
                       std::to_string(costs.apart);
    return costs.isFused() == isOne ? text : text + ", but the plan has it so";
  }

  std::string whatAnchors(size_t kernel, Operation *anchor) {
    const Schedule &schedule = program.kernels[kernel].schedule;
    std::string name = algorithmName(anchor, schedule), reason = whyOtherAlgorithm(anchor, schedule);
    std::string text = "decides the kernel's loops";
    if (!name.empty())
      text += ", by the algorithm " + name;
    if (!reason.empty())
      text += " instead of " + algorithmOf(anchor).str() + ": " + reason;
    const std::optional<AttentionCosts> &attention = program.kernels[kernel].attention;
    if (attention && attentionOf(anchor))
      text += " for the whole attention: " + whyFused(*attention, true);
    return text;
  }

  std::string partOf(Operation &op, Operation *anchor, bool isBehind) {
    if (!anchor)
      return "computed element by element, with the others of the kernel";
    if (std::optional<Attention> attention = attentionOf(anchor); attention && attention->contains(&op))
      return "fused: a part of the attention, computed for a few rows of queries at a time";
    if (isBehind)
      return "fused: applied to the result of " + shortName(anchor) + " while it is in registers";
    return "fused: computed where " + shortName(anchor) + " reads it";
  }

  std::string whyApart(func::CallOp producer, func::CallOp consumer, unsigned operand, Value value, Value read) {
    func::FuncOp from = codeOf(kernelOf(producer)), to = codeOf(kernelOf(consumer));
    Operation *before = anchorOf(from), *behind = anchorOf(to);
    if (producer->getBlock() != consumer->getBlock())
      return "a branch or loop lies between them";
    SmallVector<std::string> others;
    for (Operation *user : usersOf(value))
      if (user != consumer)
        others.push_back(nameOf(user));
    if (!others.empty())
      return "its result is also needed by " + others[0] +
             (others.size() > 1 ? " and " + std::to_string(others.size() - 1) + " more" : "");
    for (func::FuncOp code : {from, to})
      for (Operation &op : code.getBody().front())
        if (isa<RelayoutOp>(op))
          return code == from ? "it puts its elements into another layout" : "this copies into another layout";
    const std::optional<AttentionCosts> &attention = program.kernels[kernelOf(consumer)].attention;
    bool isPart = attention && program.kernels[kernelOf(producer)].attention;
    if (isPart && (isa_and_nonnull<SoftmaxOp>(before) || isa_and_nonnull<SoftmaxOp>(behind)))
      return "the attention is three kernels: " + whyFused(*attention, false);
    if (before && behind)
      return shortName(before) + " and " + shortName(behind) + " need loops of their own";
    Operation *reader = firstReader(to, operand);
    if (before && kernelClassOf(before, *program.backend).goesInOrder)
      return shortName(before) + " works on whole tensors";
    if (before && reader && !reader->hasTrait<Elementwise>())
      return shortName(reader) + " is not elementwise and needs " + shortName(before) + "'s result in memory";
    if (before)
      return "its elements are computed in other loops: the sizes or the layout differ, or other values leave them";
    if (behind)
      return shortName(behind) + " takes its operands from memory";
    if (reader && !reader->hasTrait<Elementwise>())
      return shortName(reader) + " reads its elements in another order, perhaps several times";
    if (sizesOf(read) != sizesOf(consumer.getResult(0)))
      return "its elements would be computed again for every element they spread to";
    return "nothing is won: it is read once";
  }

  // The op of a kernel that reads this operand first.
  static Operation *firstReader(func::FuncOp code, unsigned operand) {
    for (Operation &op : code.getBody().front())
      if (llvm::is_contained(op.getOperands(), code.getArgument(operand)))
        return &op;
    return nullptr;
  }

  std::string nameOf(Operation *user) {
    if (auto call = dyn_cast<func::CallOp>(user))
      return "'" + names[kernelOf(call)] + "'";
    if (isa<func::ReturnOp>(user))
      return "the caller, as an output";
    if (isa<PinOp>(user))
      return "the host code, which reads sizes from it";
    if (isInPlace(user))
      return "'" + opName(user).str() + "', in whose memory it lies";
    return isa<YieldOp>(user) ? "what follows its branch or loop" : "another " + shortName(user);
  }

  const Program &program;
  std::vector<std::string> names;
  llvm::DenseMap<size_t, func::CallOp> calls;
};

} // namespace

std::vector<KernelNotes> explainKernels(const Program &program) {
  Explainer explainer(program);
  std::vector<KernelNotes> notes;
  for (size_t i = 0; i < program.kernels.size(); ++i)
    notes.push_back(explainer.explain(i));
  return notes;
}

std::vector<OpNote> explainOthers(const Program &program) {
  std::vector<OpNote> notes;
  func::FuncOp main = program.main;
  main.walk<WalkOrder::PreOrder>([&](Operation *op) {
    StringRef node = nodeName(op->getLoc());
    if (node.empty() || isa<func::FuncOp, func::CallOp, func::ReturnOp, ConstantOp, NoneOp, YieldOp, RelayoutOp>(op))
      return;
    StringRef why = llvm::TypeSwitch<Operation *, StringRef>(op)
                        .Case<IfOp, LoopOp>([](auto) { return "host code around kernels"; })
                        .Case([](PinOp) { return "the host code reads a size from data"; })
                        .Case([](AssertOp) { return "the host code checks sizes"; })
                        .Case([](SizesOp) { return "arithmetic on sizes, done where it is needed"; })
                        .Case([](ConcatOp) { return "its inputs are written where it has them: it moves no data"; })
                        .Case([](SliceOp) { return "it is read where its input has it: it moves no data"; })
                        .Default([](Operation *) { return "a view of its input: no data moves"; });
    notes.push_back({shortName(op), node.str(), why.str(), explainType(op)});
  });
  return notes;
}

} // namespace fathom
