// Descriptions of machines as text: what schedules and algorithms are chosen by, for a CPU that LLVM knows.
#pragma once

#include "compiler/target/Target.h"

namespace fathom {

// The cpu that a description is for, with its triple and features where it says them.
struct MachineName {
  std::string triple, cpu, features;
};
llvm::Expected<MachineName> readMachineName(llvm::StringRef text, llvm::StringRef fileName);
// Overrides what was derived from the CPU by what the description says.
llvm::Error applyMachineFile(llvm::StringRef text, llvm::StringRef fileName, Target &target);
// The whole description of a target, which can be edited and given back.
std::string printMachineFile(const Target &target);

// The description that comes with the compiler, or an empty text.
llvm::StringRef builtinMachine(llvm::StringRef cpu);
std::vector<std::string> builtinMachines();

} // namespace fathom
