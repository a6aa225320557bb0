// A draft of what a matrix product costs in blocks of work groups, from its schedule and the machine alone: how many
// groups a multiprocessor holds, in how many waves they pass, and what bounds a step: arithmetic, local memory, the
// shared cache, memory or the time that data is on its way. In cycles.
#pragma once

#include "compiler/cost/Estimate.h"
#include "compiler/schedule/BlockContract.h"

namespace fathom::cost {

// A convolution is a product of pixels by channels, whose rows share most of their elements.
struct BlockProduct {
  int64_t batches = 1, rows = 1, columns = 1, depth = 1;
  int64_t leftBytes = 4, rightBytes = 4, resultBytes = 4; // of an element
  double leftShare = 1;                                   // of the left operand's elements that are distinct
  bool multipliesByDouble = false;
  bool takesFragments = false; // it may be computed by tensor cores, if there are any

  bool operator==(const BlockProduct &) const = default;
};

// Registers of a work item, and bytes of local memory of a group.
int64_t registersOf(const BlockContractSchedule &schedule);
int64_t localBytesOf(const BlockProduct &product, const BlockContractSchedule &schedule);
// Groups that a multiprocessor holds at a time; 0: not even one.
int64_t residentGroups(const BlockProduct &product, const BlockContractSchedule &schedule, const Gpu &gpu);

Estimate estimate(const BlockProduct &product, const BlockContractSchedule &schedule, const Target &target);

} // namespace fathom::cost
