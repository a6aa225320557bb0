// The list of back ends: the one place that knows them by name.
#include "compiler/driver/Backends.h"

#include "compiler/codegen/cpu/CpuBackend.h"
#include "compiler/codegen/cuda/CudaBackend.h"
#include "compiler/codegen/opencl/OpenClBackend.h"

using namespace mlir;

namespace fathom {

ArrayRef<const Backend *> allBackends() {
  static const Backend *const all[] = {&cpuBackend(), &cudaBackend(), &openClBackend()};
  return all;
}

const Backend &backendOf(const Target &target) {
  auto found = llvm::find_if(allBackends(), [&](const Backend *one) { return one->name() == target.backend; });
  assert(found != allBackends().end() && "a target names a back end that there is");
  return **found;
}

const Backend &hostBackendOf(const Target &) { return cpuBackend(); }

Target hostTargetOf(const Target &target) {
  return target.host.empty() ? target : llvm::cantFail(parseTarget(target.host));
}

void registerCodegenDialects(DialectRegistry &registry) {
  for (const Backend *backend : allBackends())
    backend->registerDialects(registry);
}

} // namespace fathom
