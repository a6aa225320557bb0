// Any bytes as a model: imported or refused, and never by an internal error.
#include "Target.h"

#include "compiler/import/Import.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  // A context keeps every attribute and type that it has ever seen, so each input has its own.
  MLIRContext context(MLIRContext::Threading::DISABLED);
  bool complained = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    complained |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    if (diagnostic.str().starts_with("[F7"))
      fathom::fuzz::fail(diagnostic.str());
  });
  fathom::ImportOptions options;
  options.limits.nodes = 10'000;
  options.limits.tensorBytes = uint64_t(1) << 28;
  OwningOpRef<ModuleOp> module = fathom::importOnnx(fathom::ModelSource::memory(bytes, ""), context, options);
  if (!module && !complained)
    fathom::fuzz::fail("refused without a word");
  fathom::collectUnsupported(fathom::ModelSource::memory(bytes, ""), context, options);
  return 0;
}
