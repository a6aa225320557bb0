// The multiply-adds of a machine: by operation, type of the elements, and where the second factor comes from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fathom {

// A dot product adds up the products of neighbours, two of 16 bits or four of 8, in a lane of 32.
enum class MultiplyKind { MultiplyAdd, DotProduct };
// U8I8: the first factor has no sign, the second has.
enum class FactorType { F64, F32, F16, BF16, I8, U8I8 };
// A whole register; one lane of a register for all lanes; one element of memory for all lanes.
enum class FactorSource { Vector, Lane, Memory };

// How many of an instruction start in a cycle, and how long one takes.
struct Rate {
  double perCycle = 0; // 0: there is no such instruction
  int64_t latency = 0;

  explicit operator bool() const { return perCycle > 0; }
};

// How four products of 8-bit factors, the left ones without a sign, are added to a lane of 32 bits. Each is exact.
enum class ByteProduct {
  None,     // by arithmetic of 32-bit lanes
  Pairs,    // factors are widened to 16 bits, of which two products are added at a time
  Signed,   // one instruction that takes signs: 128 less than the left factors
  Unsigned, // one instruction that takes the factors as they are
};

class Instructions {
public:
  const Rate &operator()(MultiplyKind kind, FactorType type, FactorSource source) const {
    return rates[size_t(kind)][size_t(type)][size_t(source)];
  }
  void set(MultiplyKind kind, FactorType type, FactorSource source, Rate rate) {
    rates[size_t(kind)][size_t(type)][size_t(source)] = rate;
  }

private:
  std::array<std::array<std::array<Rate, 3>, 6>, 2> rates;
};

} // namespace fathom
