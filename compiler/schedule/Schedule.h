// A schedule: how one kernel's loops are tiled, vectorised and split into tasks, as named numbers. Code is a pure
// function of the kernel, its schedule and the target.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <utility>

namespace fathom {

struct Schedule {
  // In the order of the class's knob list, so that text forms are stable.
  llvm::SmallVector<std::pair<std::string, int64_t>, 8> knobs;

  // 0 where it has no such knob. Who knows the class reads fields instead: typed<ContractSchedule>(schedule).tileM.
  int64_t value(llvm::StringRef name) const {
    for (const auto &[knob, value] : knobs)
      if (knob == name)
        return value;
    return 0;
  }
  bool has(llvm::StringRef name) const {
    return llvm::any_of(knobs, [&](const auto &knob) { return knob.first == name; });
  }
  void set(llvm::StringRef name, int64_t value) {
    for (auto &[knob, old] : knobs)
      if (knob == name)
        return void(old = value);
    knobs.emplace_back(name.str(), value);
  }
  bool operator==(const Schedule &) const = default;
};

// Another schedule of a kernel, for the sizes at run time up to a bound. What is counted is said by the kernel's class.
struct Version {
  int64_t upTo = 0;
  Schedule schedule;
};

} // namespace fathom
