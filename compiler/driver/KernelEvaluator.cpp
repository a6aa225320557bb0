// A part of the graph as an artifact in memory, which is loaded and called without the runtime.
#include "compiler/driver/KernelEvaluator.h"

#include "compiler/driver/Compile.h"
#include "compiler/graph/Layout.h"
#include "compiler/package/Weights.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "runtime/abi.h"
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * elementBytes(tensor.getElementType());
}

// What the compiled part asks of its host, and where it failed.
struct Host {
  char *scratch;
  int32_t kernel = -1;
  const char *refused = nullptr;
};

// Every run of the model would fail in the same way, so the model is wrong.
LogicalResult blame(ModuleOp part, int32_t fault, StringRef nodes) {
  Location loc = nodes.empty() ? part.getLoc() : NameLoc::get(StringAttr::get(part.getContext(), nodes));
  return emitError(loc, ErrorCode::BadTensor)
         << (fault == FATHOM_FAULT_INDEX ? "a constant index is outside the dimension it selects from"
                                         : "a size that constants decide is not possible");
}

LogicalResult call(ModuleOp part, ArrayRef<Type> types, const fathom_artifact &artifact, ArrayRef<ConstantOp> inputs,
                   std::vector<std::vector<char>> &results) {
  std::vector<std::vector<char>> expanded(inputs.size());
  std::vector<const void *> inputPointers;
  for (auto [constant, storage] : llvm::zip(inputs, expanded)) {
    auto given = ConstantOp(constant);
    Weight weight{given.getValue(), given.getType(), given.getType()};
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(given.getValue())) {
      inputPointers.push_back(resource.getRawHandle().getBlob()->getData().data());
      continue;
    }
    storage.resize(bytesOf(given.getType()));
    writeWeight(weight, storage);
    inputPointers.push_back(storage.data());
  }
  std::vector<void *> outputPointers;
  SmallVector<int64_t> sizes(1);
  for (Type type : types) {
    outputPointers.push_back(results.emplace_back(std::max<int64_t>(1, bytesOf(type))).data());
    sizes.resize(sizes.size() + cast<RankedTensorType>(type).getRank());
  }
  if (int32_t fault = artifact.plan(nullptr, sizes.data()))
    return blame(part, fault, "");
  std::vector<char> arena(sizes[0] + 64), scratch(artifact.scratch_size + 64);
  auto aligned = [](std::vector<char> &buffer) {
    return reinterpret_cast<char *>(llvm::alignTo(reinterpret_cast<uintptr_t>(buffer.data()), 64));
  };
  Host host{aligned(scratch)};
  fathom_services services{FATHOM_ABI_VERSION, 0,
                           [](void *host, int32_t kernel, fathom_task_fn fn, const void *env, int64_t tasks) {
                             auto *self = static_cast<Host *>(host);
                             int32_t fault = fn(env, 0, tasks, -1, self->scratch);
                             if (fault)
                               self->kernel = kernel;
                             return fault;
                           },
                           // What is computed has static sizes.
                           nullptr, nullptr, nullptr,
                           [](void *host, int32_t fault, const char *nodes) {
                             static_cast<Host *>(host)->refused = nodes;
                             return fault;
                           },
                           nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
  fathom_call arguments{
      &services, &host, artifact.weights, aligned(arena), nullptr, inputPointers.data(), outputPointers.data()};
  int32_t fault = artifact.run(&arguments);
  if (!fault)
    return success();
  return blame(part, fault, host.refused ? host.refused : host.kernel >= 0 ? artifact.kernels[host.kernel].nodes : "");
}

} // namespace

LogicalResult KernelEvaluator::evaluate(ModuleOp part, ArrayRef<ConstantOp> inputs,
                                        std::vector<std::vector<char>> &results) {
  auto target = parseTarget("host");
  if (!target)
    return emitError(part.getLoc(), ErrorCode::Internal) << llvm::toString(target.takeError());
  // Compilation replaces the function.
  SmallVector<Type> types(part.lookupSymbol<func::FuncOp>("main").getResultTypes());
  CompileOptions options;
  options.target = *target;
  options.fp = FloatMode::Strict;
  options.fold = false;
  int fd = memfd_create("fathom-fold", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  CompileReport report;
  if (failed(compileModule(part, options, path, report))) {
    close(fd);
    return failure();
  }
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto *artifact = library ? static_cast<const fathom_artifact *>(dlsym(library, FATHOM_ARTIFACT_SYMBOL)) : nullptr;
  LogicalResult outcome = success();
  if (!artifact)
    outcome = emitError(part.getLoc(), ErrorCode::Internal) << "constants could not be computed: " << dlerror();
  else
    outcome = call(part, types, *artifact, inputs, results);
  if (library)
    dlclose(library);
  close(fd);
  return outcome;
}

} // namespace fathom
