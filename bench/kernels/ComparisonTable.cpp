// Gathers the repetitions of every benchmark and shows their medians.
#include "bench/kernels/ComparisonTable.h"

#include <algorithm>
#include <cstdio>

namespace fathom::bench {

void ComparisonTable::ReportRuns(const std::vector<Run> &runs) {
  for (const Run &run : runs) {
    if (run.run_type != Run::RT_Iteration)
      continue;
    auto counter = run.counters.find(rateCounter);
    if (counter != run.counters.end())
      rates[run.run_name.function_name].push_back(counter->second.value / 1e9);
  }
}

double ComparisonTable::rate(const std::string &name) const {
  auto found = rates.find(name);
  if (found == rates.end())
    return 0;
  std::vector<double> sorted = found->second;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

void ComparisonTable::Finalize() {
  double peak = rate("peak/fma");
  if (peak)
    std::printf("multiply-adds in registers: %.1f GFLOP/s\n", peak);
  std::printf("%-28s %16s %18s %6s %14s\n", "kernel", "fathom GFLOP/s", "openblas GFLOP/s", "ratio", "share of peak");
  for (const std::string &kernel : kernels) {
    double ours = rate(kernel + "/fathom"), theirs = rate(kernel + "/openblas");
    if (!ours && !theirs)
      continue;
    std::printf("%-28s %16.1f %18.1f %6.2f %13.0f%%\n", kernel.c_str(), ours, theirs, theirs ? ours / theirs : 0,
                peak ? 100 * ours / peak : 0);
  }
}

} // namespace fathom::bench
