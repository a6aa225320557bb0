// One schedule for every class of kernels that asks neither for a problem's sizes nor for a machine beyond the width of
// its vectors: what a compiler without any tuning would do.
#pragma once

#include "compiler/kernel/KernelClass.h"
#include "compiler/schedule/Relative.h"

namespace fathom {

// What the class's kernels are wished to have; knobs that it does not name have their initial values.
RelativeSchedule fixedSchedule(const KernelClass &klass);

// That, where it is legal, or what is legal and close to it (legalNear).
Schedule legalFixed(const KernelClass &klass, const Space &space, const Space &choices, const Target &target);

// A schedule as it is wished, where it is legal. Else the legal one that `choices` has closest to it, in which every
// knob has the wished value that may have it.
Schedule legalNear(const Schedule &wished, const KernelClass &klass, const Space &space, const Space &choices);

// What sizes in schedules of a kernel are relative to. The space must outlive it.
Scale scaleOf(const Space &space, const Target &target);

// The machine that all machines of its vectors and registers are, where nothing may depend on their caches and rates.
Target plainMachine(const Target &target);

} // namespace fathom
