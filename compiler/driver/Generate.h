// From a planned program to its code: machine code, or the text of a stage.
#pragma once

#include "compiler/driver/Compile.h"
#include "compiler/driver/GivenCode.h"
#include "compiler/package/MemoryPlan.h"

namespace fathom {

// Turns parts of a program's code, modules of loops, into what is asked for. Options and code must outlive it.
class PartGenerator {
public:
  PartGenerator(const CompileOptions &options, const GivenCode &given) : options(options), given(given) {}

  using Complete = llvm::function_ref<void(llvm::Module &)>;
  mlir::FailureOr<MachineCode> generate(const Backend &backend, mlir::ModuleOp generated, const Target &target,
                                        llvm::StringRef title, Complete complete) const;

private:
  CodeForm form() const;

  const CompileOptions &options;
  const GivenCode &given;
};

// Code for every kernel, each in a module of its own, so that they are compiled in parallel and their order does not
// matter.
llvm::LogicalResult generateKernels(Program &program, const CompileOptions &options, const PartGenerator &parts,
                                    std::vector<MachineCode> &codes);

// The model's own code, which calls the kernels, with the artifact's table.
mlir::FailureOr<MachineCode> generateHost(const Program &program, const MemoryPlan &memory,
                                          const CompileOptions &options, const PartGenerator &parts,
                                          ArtifactInfo &info);

// The objects of an artifact: those of all codes, the last of which is the host's, and what they call.
std::vector<Object> objectsOf(std::vector<MachineCode> codes, const Target &target);

} // namespace fathom
