// What a core computes at most, without memory.
#pragma once

#include <cstdint>

namespace fathom {

// Multiply-adds on the widest registers of this machine, `rounds` of them in each of a dozen or more independent
// chains; returns how many floating-point operations they were, 0 where the machine has no such instruction.
int64_t multiplyAdds(int64_t rounds);

} // namespace fathom
