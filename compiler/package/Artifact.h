// The artifact: a shared object with no undefined symbols, the weights behind the code in the same file.
#pragma once

#include "compiler/package/MemoryPlan.h"
#include "compiler/target/Target.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace fathom {

// How the runtime calls the type of an element: FATHOM_ABI_ of runtime/abi.h.
int32_t dtypeOf(mlir::Type type);

struct ArtifactInfo {
  std::string manifest;                // JSON
  std::optional<uint64_t> weightsSeed; // leave the weights out and let the runtime make them up
  // The CPUs that the artifact has code for, the one whose table is exported first; empty: one alone.
  std::vector<std::string> variants;
  size_t variant = 0; // which of them this is the code of
  // Of devices: the kernels' programs in the order of the program's codes, and whether a run can be recorded.
  std::vector<std::string> programs;
  bool isReplayable = false;
};

// Adds the table `fathom_artifact` (runtime/abi.h), which refers to the host functions, to the host's module.
void addArtifactTable(llvm::Module &host, const Program &program, const MemoryPlan &memory, const Target &target,
                      const ArtifactInfo &info);

using Object = llvm::SmallVector<char, 0>;
// The bytes of a shared object. Which of their functions can be found in it, the objects say. The prefixes are those of
// objects by which they, too, know the base of the weights.
llvm::Expected<std::string> linkObjects(llvm::ArrayRef<Object> objects, const Target &target,
                                        llvm::ArrayRef<std::string> prefixes = {});
// What comes before the name of every symbol of a variant's objects; nothing in those of the first.
std::string variantPrefix(const ArtifactInfo &info, size_t variant);
// Links objects into a file and streams the first bytes of the weights behind the code. The file appears under its name
// only when it is whole.
llvm::Error writeArtifact(llvm::ArrayRef<Object> objects, llvm::ArrayRef<Weight> weights, int64_t weightBytes,
                          const Target &target, const ArtifactInfo &info, llvm::StringRef path);

} // namespace fathom
