// The multiply-adds of a machine: by operation, type of the elements, and where the second factor comes from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fathom {

// A dot product adds up the products of neighbours, two of 16 bits or four of 8, in a lane of 32.
enum class Arithmetic { MultiplyAdd, DotProduct };
enum class Element { F64, F32, F16, BF16, I8 };
// A whole register; one lane of a register for all lanes; one element of memory for all lanes.
enum class Factor { Vector, Lane, Memory };

// How many of an instruction start in a cycle, and how long one takes.
struct Rate {
  double perCycle = 0; // 0: there is no such instruction
  int64_t latency = 0;

  explicit operator bool() const { return perCycle > 0; }
};

class Instructions {
public:
  const Rate &operator()(Arithmetic arithmetic, Element element, Factor factor) const {
    return rates[size_t(arithmetic)][size_t(element)][size_t(factor)];
  }
  void set(Arithmetic arithmetic, Element element, Factor factor, Rate rate) {
    rates[size_t(arithmetic)][size_t(element)][size_t(factor)] = rate;
  }

private:
  std::array<std::array<std::array<Rate, 3>, 5>, 2> rates;
};

} // namespace fathom
