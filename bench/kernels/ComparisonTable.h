// Prints who computes a kernel how fast, side by side, from benchmarks named KERNEL/WHO.
#pragma once

#include <benchmark/benchmark.h>
#include <map>
#include <string>
#include <vector>

namespace fathom::bench {

// The counter that benchmarks report their operations per second by.
constexpr char rateCounter[] = "flops";

class ComparisonTable : public benchmark::BenchmarkReporter {
public:
  // The rows, in this order; those that were not measured are left out.
  explicit ComparisonTable(std::vector<std::string> kernels) : kernels(std::move(kernels)) {}
  bool ReportContext(const Context &context) override { return true; }
  void ReportRuns(const std::vector<Run> &runs) override;
  void Finalize() override;

private:
  // Operations per second in GFLOP/s, the median of the repetitions; 0 where there were none.
  double rate(const std::string &name) const;

  const std::vector<std::string> kernels;
  std::map<std::string, std::vector<double>> rates;
};

} // namespace fathom::bench
