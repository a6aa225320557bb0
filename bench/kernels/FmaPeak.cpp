// Independent chains of multiply-adds, enough of them to hide the latency, in the widest registers of this machine.
#include "bench/kernels/FmaPeak.h"

namespace fathom::bench {
namespace {

#if defined(__AVX512F__)
constexpr int bytes = 64, chains = 24;
#elif defined(__AVX__)
constexpr int bytes = 32, chains = 12; // of 16 registers
#else
constexpr int bytes = 16, chains = 24;
#endif
constexpr int lanes = bytes / sizeof(float);
typedef float Vector __attribute__((vector_size(bytes)));

} // namespace

int64_t multiplyAddInRegisters(int64_t operations) {
  const int64_t operationsPerRound = 2 * chains * lanes, rounds = operations / operationsPerRound;
  // Volatile, so that neither the factors are known nor the result is unused: the loop cannot be simplified.
  volatile Vector first = Vector{} + 0.999f, second = Vector{} + 0.001f, result;
  const Vector x = first, y = second;
  Vector sums[chains] = {};
  for (int64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (Vector &sum : sums)
      sum = __builtin_elementwise_fma(x, y, sum);
  }
  Vector total{};
  for (const Vector &sum : sums)
    total += sum;
  result = total;
  (void)result;
  return rounds * operationsPerRound;
}

} // namespace fathom::bench
