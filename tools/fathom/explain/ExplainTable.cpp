// The order of kernels by what they take, and their table.
#include "tools/fathom/explain/ExplainTable.h"

#include "compiler/support/Failure.h"
#include "tools/fathom/Terminal.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace llvm;

namespace fathom {

// More kernels than this are a table: all that is known of each would be pages.
static constexpr size_t fewKernels = 12;

static StringRef textOf(const json::Value &kernel, StringRef key) {
  const json::Object *object = kernel.getAsObject();
  return object ? object->getString(key).value_or("") : "";
}

static bool isMeasured(const json::Array &kernels) {
  return any_of(
      kernels, [](const json::Value &kernel) { return kernel.getAsObject() && kernel.getAsObject()->getNumber("ms"); });
}

// Milliseconds of a run, or else estimated cycles.
static double costOf(const json::Value &kernel) {
  const json::Object *object = kernel.getAsObject();
  if (!object)
    return 0;
  if (auto ms = object->getNumber("ms"))
    return *ms;
  const json::Object *estimate = object->getObject("estimate");
  const json::Object *parts = estimate ? estimate->getObject("all_threads") : nullptr;
  if (estimate && !parts)
    parts = estimate->getObject("one_thread");
  return parts ? parts->getNumber("total").value_or(0) : 0;
}

static double totalOf(const json::Array &kernels) {
  return std::accumulate(kernels.begin(), kernels.end(), 0.0,
                         [](double sum, const json::Value &kernel) { return sum + costOf(kernel); });
}

static bool hasNode(const json::Value &kernel, StringRef node) {
  const json::Object *object = kernel.getAsObject();
  const json::Array *ops = object ? object->getArray("ops") : nullptr;
  return ops && any_of(*ops, [&](const json::Value &op) { return textOf(op, "node") == node; });
}

Expected<ChosenKernels> chooseKernels(const json::Array &kernels, const OptionValues &options) {
  ChosenKernels chosen;
  chosen.numbers.resize(kernels.size());
  std::iota(chosen.numbers.begin(), chosen.numbers.end(), 0);
  stable_sort(chosen.numbers, [&](size_t a, size_t b) { return costOf(kernels[a]) > costOf(kernels[b]); });
  for (StringRef option : {"kernel", "node"}) {
    if (!options.has(option))
      continue;
    std::string name = options.text(option);
    erase_if(chosen.numbers, [&](size_t number) {
      return option == "kernel" ? textOf(kernels[number], "result") != name : !hasNode(kernels[number], name);
    });
    if (chosen.numbers.empty())
      return fail(usageError, "no kernel " + Twine(option == "kernel" ? "is called '" : "has the node '") + name + "'",
                  "without --" + option + ", --top 0 lists all");
  }
  bool isNamed = options.has("kernel") || options.has("node");
  chosen.isBrief = !isNamed && kernels.size() > fewKernels;
  size_t most = options.integer("top");
  if (most && !isNamed && (chosen.isBrief || options.has("top")))
    chosen.numbers.resize(std::min(most, chosen.numbers.size()));
  return chosen;
}

void printTotal(const json::Array &kernels, std::optional<int> threads) {
  outs() << kernels.size() << (kernels.size() == 1 ? " kernel, " : " kernels, ");
  if (isMeasured(kernels))
    outs() << formatv("{0:f3} ms", totalOf(kernels));
  else
    outs() << formatv("{0:f1} million cycles by estimate, --run measures them", totalOf(kernels) * 1e-6);
  if (threads)
    outs() << ", " << *threads << (*threads == 1 ? " thread" : " threads");
  outs() << "\n";
}

void printTable(const json::Array &kernels, ArrayRef<size_t> numbers) {
  bool isTime = isMeasured(kernels);
  double total = std::max(totalOf(kernels), 1e-12), told = 0;
  outs() << formatv("{0,5} {1,9}  {2,-14} {3}\n", "share", isTime ? "ms" : "kcycles", "class", "kernel");
  for (size_t number : numbers) {
    double cost = costOf(kernels[number]);
    told += cost;
    outs() << formatv("{0,3:f0} % {1,9:f3}  {2,-14} {3}\n", 100 * cost / total, isTime ? cost : cost * 1e-3,
                      textOf(kernels[number], "class"), printable(textOf(kernels[number], "result")));
  }
  if (size_t others = kernels.size() - numbers.size())
    outs() << formatv("{0,3:f0} % in {1} more; --top N lists N, 0 all\n", 100 * (total - told) / total, others);
  outs() << "--kernel NAME and --node NAME tell all that is known of one\n";
}

} // namespace fathom
