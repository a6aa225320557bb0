// A back end: what a kind of machine decides for itself. It says which classes of kernels it has and which an op gets,
// how operands are to lie in memory, how a kernel becomes code and is launched, and where its tensors live. All others
// ask it and know none by name: driver/Backends.cpp lists them, a Target says which is its own.
#pragma once

#include "compiler/kernel/Grid.h"
#include "compiler/kernel/KernelClass.h"
#include "runtime/abi.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm
namespace mlir {
class DialectRegistry;
}

namespace fathom {

class Code;

// A memory that tensors can live in.
enum class MemorySpace : int32_t {
  Host = FATHOM_ABI_SPACE_HOST,
  Cuda = FATHOM_ABI_SPACE_CUDA,
  OpenCl = FATHOM_ABI_SPACE_OPENCL
};

// How a kernel reads one of its anchor's operands.
struct OperandLayout {
  enum Kind {
    Pixels, // channels innermost, with at least this halo of zeros
    Rows,   // the last dimension's elements side by side, without a halo there
    Packed  // in exactly this order, in panels as wide as the schedule says or without any
  } kind;
  unsigned operand;
  llvm::SmallVector<int64_t> halo = {};  // of pixels: two numbers for each dimension; empty: none is needed
  llvm::SmallVector<int64_t> order = {}; // of what is packed; a dimension in panels stands in it twice
  bool inPanels = false;
};
struct AnchorLayouts {
  llvm::SmallVector<OperandLayout, 2> operands;
  bool writesPixels; // channels of the result lie innermost; else its columns do
};

struct CodegenOptions {
  const Target &target;
  bool strict = false; // floating point as the model has it, operation by operation
};

// What a module of loops becomes: an object, or the text of a stage before it. Of a device, the text of its program
// takes an object's place.
enum class CodeForm { Llvm, Assembly, Object };
struct MachineCode {
  std::string text;
  llvm::SmallVector<char, 0> object;
};

// What devices' kernels are as the artifact has them (runtime/abi.h).
struct DevicePrograms {
  int32_t kind = 0;         // FATHOM_ABI_PROGRAM_
  int32_t architecture = 0; // the least one that they are for
};

// A launch in the model's host code (runtime/abi.h).
struct Launch {
  mlir::Value services, runtime; // what the runtime gave
  int32_t kernel;                // its number in the artifact's table
  mlir::Value entry;             // of the code, as entryOf() has it
  mlir::Value arguments;         // pointers of operands and results, then symbols
  mlir::Value tasks;
};

class Backend {
public:
  virtual ~Backend() = default;
  virtual llvm::StringRef name() const = 0;

  // Kernels. A class that an op gets is one of those that the back end has; null where it has none for the op. An op
  // that is no anchor is computed on demand; so is null.
  virtual llvm::ArrayRef<const KernelClass *> kernelClasses() const = 0;
  // The class of an algorithm that is chosen among others; null where the back end does not have it.
  const KernelClass *classFor(Algorithm algorithm) const;
  bool has(Algorithm algorithm) const { return classFor(algorithm); }
  virtual const KernelClass *classOf(mlir::Operation *anchor) const = 0;
  virtual const KernelClass *classOf(mlir::func::FuncOp kernel) const = 0;

  // Layouts. None where the op's kernel takes its operands as they come.
  virtual std::optional<AnchorLayouts> layoutsOf(mlir::Operation *anchor, const Target &target) const = 0;
  // What the address at which a tensor begins is a multiple of, in bytes, where kernels count on more than elements
  // that are whole: one that begins elsewhere in another is copied.
  virtual int64_t alignment() const { return 1; }

  // Code. Emits a kernel as a function `name` of loops into a module; errors are reported.
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;
  virtual mlir::FailureOr<Grid> emitKernel(mlir::func::FuncOp kernel, const KernelClass &klass,
                                           const Schedule &schedule, llvm::StringRef name, unsigned symbolCount,
                                           const CodegenOptions &options, mlir::ModuleOp loops) const = 0;
  // `complete` sees the LLVM module, where there is one, before it is optimised.
  virtual mlir::FailureOr<MachineCode> generate(mlir::ModuleOp loops, const CodegenOptions &options, CodeForm form,
                                                llvm::function_ref<void(llvm::Module &)> complete) const = 0;
  // The same of an optimised module that somebody wrote in the place of what the loops are lowered to.
  virtual mlir::FailureOr<MachineCode> finish(llvm::Module &module, mlir::ModuleOp loops, const CodegenOptions &options,
                                              CodeForm form) const;
  // What becomes machine code, to whoever looks at how: the optimised module and LLVM's machine. Fails where the back
  // end's code is not LLVM's.
  using Look = llvm::function_ref<void(llvm::Module &module, llvm::TargetMachine &machine)>;
  virtual mlir::LogicalResult lookAtModule(mlir::ModuleOp loops, const CodegenOptions &options, Look look) const;

  // Artifacts. Without them, only the text of its kernels can be had, and nothing below is asked.
  virtual bool makesArtifacts() const { return false; }
  virtual MemorySpace memorySpace() const { return MemorySpace::Host; } // of what its kernels read and write
  // In the host code: declares what a launch of a kernel's code refers to, refers to it, and launches it. A launch's
  // result is a fault or 0 (i32).
  virtual void declareEntry(Code &c, llvm::StringRef code) const;
  virtual mlir::Value entryOf(Code &c, llvm::StringRef code, size_t number) const;
  virtual mlir::Value emitLaunch(Code &c, const Launch &launch) const;
  // Of devices: the programs that kernels become, and what a kernel is called in its program.
  virtual DevicePrograms devicePrograms(const Target &target) const;
  virtual std::string entryName(llvm::StringRef code) const;
  // Of a back end that host code is made by: the object with what its code may call.
  virtual llvm::SmallVector<char, 0> supportObject(const Target &target) const;
};

// The target's back end, and the one that the host code of an artifact for it is made by. Defined by the driver, who
// alone knows all of them.
const Backend &backendOf(const Target &target);
const Backend &hostBackendOf(const Target &target);
// The CPU that runs the host code of an artifact for the target.
Target hostTargetOf(const Target &target);

// The class of kernels that an op anchors, and of a kernel, of a back end that has one.
const KernelClass &kernelClassOf(mlir::Operation *anchor, const Backend &backend);
const KernelClass &kernelClassOf(mlir::func::FuncOp kernel, const Backend &backend);

} // namespace fathom
