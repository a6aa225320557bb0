// Features of loops after AutoTVM (touch_extractor.cc): loops with what they touch, with logarithms of all numbers.
#include "compiler/tune/search/Features.h"

#include "compiler/analysis/ExtractLoops.h"
#include "compiler/graph/Symbols.h"

using namespace mlir;

namespace fathom::tune {
namespace {

constexpr unsigned mostAxes = 8, mostBuffers = 4, samples = 20;

// How a loop touches a buffer: the largest of its accesses.
struct Touch {
  double stride = 0, modulus = 0;
  double count = 0, reuse = 0; // different elements, and uses of each, in the loop and those within it
  double taskCount = 0, taskReuse = 0;
};

struct Axis {
  double length = 1, nest = 0, topDown = 1, bottomUp = 1, iterations = 0;
  CodePart::Kind kind = CodePart::Whole;
  double adds = 0, multiplies = 0, divides = 0; // elements, of its own body
  std::array<Touch, mostBuffers> touches;
};

float logOf(double x) { return float(x < 0 ? -std::log2(1 - x) : std::log2(1 + x)); }

// By how much a counter's step moves an offset.
int64_t strideOf(AffineExpr offset, unsigned dimension, unsigned dimensions, unsigned symbols) {
  SmallVector<int64_t> zeros(dimensions + symbols, 0), ones = zeros;
  ones[dimension] = 1;
  auto at = [&](ArrayRef<int64_t> numbers) {
    SmallVector<AffineExpr> dims, syms;
    for (auto [i, number] : llvm::enumerate(numbers))
      (i < dimensions ? dims : syms).push_back(getAffineConstantExpr(number, offset.getContext()));
    auto value = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(offset.replaceDimsAndSymbols(dims, syms), 0, 0));
    return value ? value.getValue() : 0;
  };
  return at(ones) - at(zeros);
}

// The least modulus that a counter is taken by.
int64_t modulusOf(AffineExpr offset, unsigned dimension) {
  int64_t least = 0;
  offset.walk([&](AffineExpr part) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(part);
    if (!binary || part.getKind() != AffineExprKind::Mod || !binary.getLHS().isFunctionOfDim(dimension))
      return;
    if (auto by = dyn_cast<AffineConstantExpr>(binary.getRHS()))
      least = least ? std::min(least, by.getValue()) : by.getValue();
  });
  return least;
}

void addArithmetic(Axis &axis, Region *region) {
  if (!region)
    return;
  for (Operation &op : region->front()) {
    if (op.getNumResults() != 1)
      continue;
    auto vector = dyn_cast<VectorType>(op.getResult(0).getType());
    if (!isa<FloatType>(getElementTypeOrSelf(op.getResult(0).getType())))
      continue;
    double elements = vector ? double(vector.getNumElements()) : 1;
    StringRef name = op.getName().stripDialect();
    bool isFused = name.contains("fma");
    axis.adds += (isFused || name.contains("add") || name.contains("sub")) ? elements : 0;
    axis.multiplies += (isFused || name.contains("mul")) ? elements : 0;
    axis.divides += name.contains("div") ? elements : 0;
  }
}

class Loops {
public:
  Loops(const CodeParts &parts, const Executions &executions, const LoopTree &tree) : tree(tree) {
    axes.resize(tree.nodes.size());
    for (unsigned node = 0; node < axes.size(); ++node) {
      Axis &axis = axes[node];
      axis.length = double(tree.nodes[node].trips), axis.iterations = executions.parts[node].iterations;
      axis.kind = parts[node].kind;
      addArithmetic(axis, parts[node].region);
      if (node) {
        const Axis &outer = axes[tree.nodes[node].parent];
        axis.nest = outer.nest + 1, axis.topDown = outer.topDown;
      }
      axis.topDown *= axis.length;
    }
    for (unsigned node = axes.size(); node-- > 0;) {
      double within = 1;
      for (unsigned child : tree.nodes[node].children)
        within = std::max(within, axes[child].bottomUp);
      axes[node].bottomUp = within * axes[node].length;
    }
    for (unsigned node = 0; node < axes.size(); ++node)
      for (const Access &access : tree.nodes[node].accesses)
        touch(node, access);
  }

  std::vector<Axis> axes;

private:
  // From the access outwards: a loop that moves it multiplies the elements, any other their uses.
  void touch(unsigned node, const Access &access) {
    if (access.buffer >= mostBuffers)
      return;
    double count = double(access.bytes), reuse = 1;
    for (unsigned at = node;; at = tree.nodes[at].parent) {
      int64_t stride = strideOf(access.offset, at, tree.nodes.size(), tree.symbols.size());
      (stride ? count : reuse) *= axes[at].length;
      Touch &touch = axes[at].touches[access.buffer];
      touch.stride = std::max(touch.stride, double(std::abs(stride)));
      touch.modulus = std::max(touch.modulus, double(modulusOf(access.offset, at)));
      touch.count = std::max(touch.count, count), touch.reuse = std::max(touch.reuse, reuse);
      if (at == 0) {
        touch.taskCount = stride ? axes[0].length : 1, touch.taskReuse = stride ? 1 : axes[0].length;
        return;
      }
    }
  }

  const LoopTree &tree;
};

// The axes that run most, the outer ones first.
FeatureRow rowOfAxes(const Loops &loops) {
  std::vector<size_t> order;
  for (size_t i = 0; i < loops.axes.size(); ++i)
    if (loops.axes[i].kind != CodePart::Branch)
      order.push_back(i);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return loops.axes[a].iterations > loops.axes[b].iterations; });
  order.resize(std::min<size_t>(order.size(), mostAxes));
  llvm::sort(order);
  FeatureRow row;
  for (size_t i : order) {
    const Axis &axis = loops.axes[i];
    for (double number : {axis.length, axis.nest, axis.topDown, axis.bottomUp})
      row.push_back(logOf(number));
    for (CodePart::Kind kind : {CodePart::Whole, CodePart::Loop, CodePart::OpenLoop, CodePart::Assembly})
      row.push_back(axis.kind == kind);
    for (double number : {axis.adds, axis.multiplies, axis.divides})
      row.push_back(logOf(number));
    for (const Touch &touch : axis.touches)
      for (double number : {touch.stride, touch.modulus, touch.count, touch.reuse, touch.taskCount, touch.taskReuse})
        row.push_back(logOf(number));
  }
  row.resize(mostAxes * (11 + 6 * mostBuffers), 0);
  return row;
}

// Of a curve through points, at whole numbers: the last point before, and how far behind it that is.
void sampleCurve(std::vector<std::pair<float, float>> points, FeatureRow &row) {
  llvm::sort(points);
  for (unsigned i = 0; i < samples; ++i) {
    std::pair<float, float> before{0, 0};
    for (const auto &point : points)
      if (float(i) > point.first - 1e-6f)
        before = point;
    row.push_back(before.second), row.push_back(float(i) - before.first);
  }
}

FeatureRow rowOfCurves(const Loops &loops) {
  FeatureRow row;
  for (unsigned buffer = 0; buffer < mostBuffers; ++buffer) {
    std::vector<std::pair<float, float>> reuseOfCount, countOfReuse, topDownOfCount, countOfTopDown;
    for (const Axis &axis : loops.axes) {
      const Touch &touch = axis.touches[buffer];
      if (touch.count == 0)
        continue;
      float count = logOf(touch.count), reuse = logOf(touch.reuse), topDown = logOf(axis.topDown);
      reuseOfCount.emplace_back(count, reuse), countOfReuse.emplace_back(reuse, count);
      topDownOfCount.emplace_back(count, topDown), countOfTopDown.emplace_back(topDown, count);
    }
    for (auto *points : {&reuseOfCount, &countOfReuse, &topDownOfCount, &countOfTopDown})
      sampleCurve(std::move(*points), row);
  }
  return row;
}

} // namespace

FeatureRow featuresOf(const SearchSpace &space, const SearchSpace::Point &point, FeatureKind kind) {
  Schedule schedule = space.scheduleAt(point);
  if (kind == FeatureKind::Knobs) {
    FeatureRow row;
    for (const auto &[name, value] : schedule.knobs)
      row.push_back(logOf(double(value)));
    return row;
  }
  const KernelTask &task = space.task;
  OwningOpRef<ModuleOp> packed = task.functionFor(schedule);
  auto kernel = cast<func::FuncOp>(packed->getBody()->front());
  OwningOpRef<ModuleOp> code = ModuleOp::create(kernel.getLoc());
  CodegenOptions options{task.target(), task.isStrict()};
  FailureOr<Grid> grid =
      backendOf(task.target())
          .emitKernel(kernel, task.kernelClass(), schedule, "kernel", graph::symbolsOf(kernel).size(), options, *code);
  if (failed(grid)) // the judge will say so
    return FeatureRow(kind == FeatureKind::Axes ? mostAxes * (11 + 6 * mostBuffers) : mostBuffers * 8 * samples, 0);
  KernelCalls calls{kernel.getNumArguments(), kernel.front().getTerminator()->getNumOperands(), task.sizes(),
                    std::max<int64_t>(1, task.tasks(*grid)), grid->groupTasks};
  CodeParts parts(code->lookupSymbol<func::FuncOp>("kernel"));
  Executions executions = countExecutions(parts, calls);
  LoopTree tree = extractLoops(parts, executions, calls);
  Loops loops(parts, executions, tree);
  return kind == FeatureKind::Axes ? rowOfAxes(loops) : rowOfCurves(loops);
}

} // namespace fathom::tune
