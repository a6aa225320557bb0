// How often each part of a kernel's code runs, by running what decides about it: bounds of loops and conditions.
#pragma once

#include "compiler/analysis/CodeParts.h"
#include <optional>

namespace fathom {

// What is known of a call of a kernel's function: numbers of its arguments, by position.
using KnownArguments = llvm::ArrayRef<std::optional<int64_t>>;

struct PartExecutions {
  double iterations = 0; // of its body, in all
  int64_t trips = 1;     // the most of one execution
};

struct Executions {
  std::vector<PartExecutions> parts;
  bool isExact = true; // else conditions depend on data, or there were too many iterations to look at each
};

// `calls` are the arguments of each call of the function; of many, some are looked at, which stand for the others.
Executions countExecutions(const CodeParts &parts, size_t calls,
                           llvm::function_ref<void(size_t call, llvm::MutableArrayRef<std::optional<int64_t>>)> fill);

} // namespace fathom
