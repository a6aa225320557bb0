// What families of kernels share.
#pragma once

#include "compiler/kernel/Family.h"
#include "compiler/schedule/Contract.h"

namespace fathom {

// So many schedules of a space, each as likely as any other; all of them where there are fewer.
std::vector<Schedule> sampleSchedules(const Space &space, size_t count, uint64_t seed);

// Why loads cannot come ahead in the loops of such a tile, for a reduction of so many steps; empty if they can, or need
// not.
std::string loadAheadViolation(const ContractSchedule &schedule, int64_t run, const Target &target);
// Why a tile does not fit the registers that it needs; empty if it does.
std::string registerViolation(int64_t rows, int64_t columns, int64_t needed, const Target &target);
// Why panels of this width are not those of weights that are packed already (0: they are not); empty if they are.
std::string panelViolation(int64_t width, int64_t packed);

// Fractions of a number of units, each rounded up to whole units of `each`: the number itself, a half, a third, ...
// down to a 64th, as far as they are at most `most`; where none is, the most whole units that are.
llvm::SmallVector<int64_t> fractions(int64_t count, int64_t each, int64_t most = INT64_MAX);

} // namespace fathom
