// Independent chains, enough of them to hide the latency.
#include "tools/fathom/machine/MultiplyAdds.h"

namespace fathom {
namespace {

// Small enough that the compiler keeps all chains in registers: 16 vectors of AVX2, 32 elsewhere.
template <int bytes, int chains> inline __attribute__((always_inline)) int64_t multiplyAdd(int64_t rounds) {
  typedef float Vector __attribute__((vector_size(bytes)));
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
  return rounds * 2 * chains * int64_t(bytes / sizeof(float));
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) int64_t multiplyAdd512(int64_t rounds) { return multiplyAdd<64, 24>(rounds); }
__attribute__((target("avx2,fma"))) int64_t multiplyAdd256(int64_t rounds) { return multiplyAdd<32, 12>(rounds); }
#endif

} // namespace

int64_t multiplyAdds(int64_t rounds) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return multiplyAdd512(rounds);
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiplyAdd256(rounds) : 0;
#else
  return multiplyAdd<16, 24>(rounds);
#endif
}

} // namespace fathom
