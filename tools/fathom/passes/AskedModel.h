// A model that is looked at, and what the options say of its passes.
#pragma once

#include "compiler/driver/DiagnosticLog.h"
#include "compiler/functional/Functional.h"
#include "tools/fathom/Commands.h"
#include "llvm/Support/Path.h"

namespace fathom {

// Without a module, the log has told why.
struct AskedModel {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  DiagnosticLog log;
  CompileOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  AskedModel(llvm::StringRef model, const OptionValues &values)
      : log(*context, llvm::sys::path::filename(model), printDiagnostic) {
    auto request = makeCompileRequest(values, *context, PassesBit);
    if (failed(request))
      return;
    options = std::move(request->options);
    module = importAny(ModelSource::file(model), *context, request->import);
  }
};

} // namespace fathom
