// Reading texts of stages: what MLIR's parser and verifiers say becomes one error with a place.
#include "compiler/driver/StageTexts.h"

#include "compiler/support/ErrorCodeText.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace fathom {

// Verifies functions one by one, without what they call.
static LogicalResult verifyFunctions(ModuleOp module) {
  OwningOpRef<ModuleOp> empty = ModuleOp::create(module.getLoc());
  (*empty)->setAttrs(module->getAttrs());
  if (failed(verify(empty->getOperation())))
    return failure();
  for (Operation &op : *module.getBody())
    if (failed(verify(&op)))
      return failure();
  return success();
}

OwningOpRef<ModuleOp> parseStage(StringRef path, StringRef text, size_t line, Calls calls, Location loc) {
  std::string problem;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(loc.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error || !problem.empty())
        return success();
      llvm::raw_string_ostream out(problem);
      if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
        out << "line " << place.getLine() << ", column " << place.getColumn() << ": ";
      std::string message = diagnostic.str();
      takeErrorCode(message);
      out << message;
      return success();
    });
    std::string numbered(line - 1, '\n');
    numbered += text;
    module = parseSourceString<ModuleOp>(numbered, ParserConfig(loc.getContext(), /*verifyAfterParse=*/false), path);
    if (module && failed(calls == Calls::Fit ? verify(*module) : verifyFunctions(*module)))
      module = nullptr;
  }
  if (!module)
    emitError(loc, ErrorCode::BadPlan) << "cannot go on from '" << path << "': " << problem;
  return module;
}

} // namespace fathom
