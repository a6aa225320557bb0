// The steps of an analysis.
#include "compiler/analysis/PreciseEstimate.h"

#include "compiler/analysis/ExtractLoops.h"
#include "compiler/analysis/RecordCode.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/graph/Symbols.h"
#include <ctime>

using namespace mlir;

namespace fathom {
namespace {

// Time of the thread's own: others may have the core meanwhile.
double threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

class Lap {
public:
  explicit Lap(double *seconds) : seconds(seconds), start(threadSeconds()) {}
  ~Lap() {
    if (seconds)
      *seconds += threadSeconds() - start;
  }

private:
  double *seconds, start;
};

KernelCalls callsOf(func::FuncOp kernel, const Grid &grid) {
  Operation *site = anchorOf(kernel);
  if (!site)
    site = kernel.getBody().front().getTerminator();
  KernelCalls calls;
  calls.operands = kernel.getNumArguments();
  calls.results = kernel.getBody().front().getTerminator()->getNumOperands();
  for (unsigned i = 0; i < graph::symbolsOf(kernel).size(); ++i)
    calls.symbols.push_back(std::max<int64_t>(1, representative(site, getAffineSymbolExpr(i, kernel.getContext()))));
  calls.tasks = std::max<int64_t>(1, graph::size::evaluate(grid.tasks, calls.symbols).value_or(1));
  calls.groupTasks = grid.groupTasks;
  return calls;
}

// Joins blocks with the parts that they are of. What is seldom executed is not worth an exact look.
void addCode(PreciseEstimate &estimate, const RecordedCode &code, const Target &target, BlockTimer &timer) {
  constexpr double seldom = 0.005; // of all instructions
  estimate.loops = code.loops, estimate.unknownLoops = code.unknownLoops, estimate.copiedLoops = code.copiedLoops;
  auto entriesOf = [&](unsigned part) {
    return part == 0 ? double(estimate.calls) : estimate.parts[estimate.tree.nodes[part].parent].iterations;
  };
  auto timesOf = [&](const CodeBlock &block) {
    double iterations = estimate.parts[block.part].iterations;
    return std::max(0.0, iterations - (block.skipsLast ? entriesOf(block.part) : 0));
  };
  double all = 0;
  for (const CodeBlock &block : code.blocks)
    all += timesOf(block) * double(block.instructions.size());
  std::vector<double> longest(estimate.parts.size());
  for (const CodeBlock &block : code.blocks) {
    PartEstimate &part = estimate.parts[block.part];
    double times = timesOf(block);
    if (times == 0)
      continue;
    bool isSeldom = times * double(block.instructions.size()) < seldom * all;
    BlockTiming timing = isSeldom ? timer.roughly(block.instructions) : timer.time(block.instructions);
    part.instructions += timer.count(block.instructions) * times;
    part.cycles += timing.cycles * times;
    double busy = std::min(timing.cycles, std::max(timing.dispatch, timing.unit));
    // Where executions follow each other within what the core looks ahead, they overlap.
    double length = double(block.instructions.size()) * times / std::max(1.0, entriesOf(block.part));
    double ahead = std::clamp(1 - length / double(target.reorderWindow), 0.0, 1.0);
    part.busy += busy * times;
    part.waits += (timing.cycles - busy) * times * (1 - ahead);
    part.hidden += (timing.cycles - busy) * times * ahead;
    // A loop begins anew each time; other code goes on from what is before it.
    if (block.isLoop)
      part.starts += timing.start * entriesOf(block.part);
    if (timing.cycles * times > longest[block.part])
      longest[block.part] = timing.cycles * times, part.bottleneck = timing.bottleneck().str();
  }
  for (const PartEstimate &part : estimate.parts) {
    estimate.instructions += part.instructions;
    estimate.cycles += part.cycles, estimate.starts += part.starts;
    estimate.busy += part.busy, estimate.waits += part.waits, estimate.hidden += part.hidden;
  }
}

double bytesWritten(const LoopTree &tree, StringRef buffer) {
  double bytes = 0;
  for (unsigned node = 0; node < tree.nodes.size(); ++node)
    for (const Access &access : tree.nodes[node].accesses)
      if (access.isWrite && tree.buffers[access.buffer] == buffer)
        bytes += double(access.bytes) * tree.iterations(node);
  return bytes;
}

} // namespace

FailureOr<PreciseEstimate> analyze(const Backend &backend, func::FuncOp kernel, const KernelClass &klass,
                                   const Schedule &schedule, const Target &target, BlockTimer &timer,
                                   AnalysisTimes *times) {
  CodegenOptions options{target};
  OwningOpRef<ModuleOp> loops = ModuleOp::create(kernel.getLoc());
  PreciseEstimate estimate;
  std::optional<CodeParts> parts;
  {
    Lap lap(times ? &times->loops : nullptr);
    FailureOr<Grid> grid =
        backend.emitKernel(kernel, klass, schedule, "kernel", graph::symbolsOf(kernel).size(), options, *loops);
    if (failed(grid))
      return failure();
    KernelCalls calls = callsOf(kernel, *grid);
    estimate.tasks = calls.tasks, estimate.calls = calls.calls();
    parts.emplace(loops->lookupSymbol<func::FuncOp>("kernel"));
    Executions executions = countExecutions(*parts, calls);
    estimate.isExact = executions.isExact;
    estimate.tree = extractLoops(*parts, executions, calls);
    for (unsigned part = 0; part < parts->size(); ++part) {
      PartEstimate &described = estimate.parts.emplace_back();
      described.kind = (*parts)[part].kind, described.iterations = executions.parts[part].iterations;
    }
  }
  {
    Lap lap(times ? &times->movement : nullptr);
    MovementModel model(estimate.tree);
    for (const CacheLevel &level : target.caches)
      estimate.levels.push_back(model.through(level.bytes, lineBytes));
    estimate.packedBytes = bytesWritten(estimate.tree, "scratch");
  }
  parts->setLines();
  RecordedCode code;
  double recording = 0;
  double whole = 0;
  {
    Lap lap(&whole);
    auto look = [&](llvm::Module &module, llvm::TargetMachine &machine) {
      Lap lap(&recording);
      code = recordCode(module, machine, *parts);
    };
    if (failed(backend.lookAtModule(*loops, options, look)))
      return failure();
  }
  if (times)
    times->llvm += whole - recording, times->code += recording;
  Lap lap(times ? &times->pipeline : nullptr);
  addCode(estimate, code, target, timer);
  return estimate;
}

FailureOr<PreciseEstimate> analyze(const Backend &backend, func::FuncOp kernel, const KernelClass &klass,
                                   const Schedule &schedule, const Target &target) {
  BlockTimer timer(target);
  return analyze(backend, kernel, klass, schedule, target, timer);
}

static std::string spellBytes(double bytes) {
  if (bytes < 10 * 1024)
    return llvm::formatv("{0:f0} B", bytes).str();
  return bytes < 10 * 1048576 ? llvm::formatv("{0:f0} KiB", bytes / 1024).str()
                              : llvm::formatv("{0:f0} MiB", bytes / 1048576).str();
}

void print(const PreciseEstimate &estimate, const Target &target, raw_ostream &out) {
  static constexpr StringLiteral kinds[] = {"task", "loop", "while", "if", "loop"};
  out << llvm::formatv("{0} tasks in {1} runs; {2:f0} cycles, {3:f0} more where loops begin\n", estimate.tasks,
                       estimate.calls, estimate.cycles, estimate.starts);
  const InstructionCounts &all = estimate.instructions;
  out << llvm::formatv("instructions: {0:f0} multiply-adds, {1:f0} vector loads, {2:f0} vector stores, {3:f0} others\n",
                       all.multiplyAdds, all.vectorLoads, all.vectorStores, all.others);
  for (auto [i, level] : llvm::enumerate(estimate.levels)) {
    out << llvm::formatv("cache {0} ({1}): filled with {2}", i + 1, spellBytes(double(target.caches[i].bytes)),
                         spellBytes(level.filled()));
    for (auto [buffer, name] : llvm::zip(level.buffers, estimate.tree.buffers))
      if (buffer.filled > 0)
        out << "; " << name << " " << spellBytes(buffer.filled);
    out << "\n";
  }
  if (estimate.packedBytes > 0)
    out << "written to scratch: " << spellBytes(estimate.packedBytes) << "\n";
  if (!estimate.isExact)
    out << "how often some parts run was guessed\n";
  if (estimate.unknownLoops > 0)
    out << estimate.unknownLoops << " of the code's " << estimate.loops << " loops are not known\n";
  if (estimate.copiedLoops > 0)
    out << estimate.copiedLoops << " of the code's " << estimate.loops << " loops are copies of others\n";
  for (auto [number, part] : llvm::enumerate(estimate.parts)) {
    const LoopNode &node = estimate.tree.nodes[number];
    unsigned depth = 0;
    for (unsigned outer = number; outer != 0; outer = estimate.tree.nodes[outer].parent)
      ++depth;
    out.indent(2 * depth) << kinds[part.kind] << " " << number << ": ";
    out << llvm::formatv("{0} x {1:f0}", node.trips, part.iterations / double(node.trips));
    if (!estimate.levels.empty()) {
      out << ", touches " << spellBytes(double(estimate.levels[0].nodes[number].footprint)) << ", fills";
      for (const DataMovement &level : estimate.levels)
        out << " " << spellBytes(level.nodes[number].filled);
    }
    if (part.iterations > 0 && part.instructions.all() > 0) {
      InstructionCounts each = part.instructions * (1 / part.iterations);
      out << llvm::formatv("; {0:f1} multiply-adds, {1:f1} vector loads, {2:f1} vector stores, {3:f1} others; {4:f1} "
                           "cycles, bound by {5}",
                           each.multiplyAdds, each.vectorLoads, each.vectorStores, each.others,
                           part.cycles / part.iterations, part.bottleneck);
    }
    out << "\n";
  }
}

} // namespace fathom
