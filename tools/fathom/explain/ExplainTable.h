// Which kernels fathom explain tells of, the costliest first, and the table of them where there are many.
#pragma once

#include "compiler/driver/Options.h"
#include "llvm/Support/JSON.h"

namespace fathom {

struct ChosenKernels {
  std::vector<size_t> numbers; // among the kernels, the costliest first
  bool isBrief = false;        // a line for each is enough
};
// As --top, --kernel and --node ask for. An error where there is none of that name.
llvm::Expected<ChosenKernels> chooseKernels(const llvm::json::Array &kernels, const OptionValues &options);

// One line: what all kernels take.
void printTotal(const llvm::json::Array &kernels, std::optional<int> threads);
void printTable(const llvm::json::Array &kernels, llvm::ArrayRef<size_t> numbers);

} // namespace fathom
