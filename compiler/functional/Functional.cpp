// From a program's text to a module: parsed, typed, evaluated as far as it is known, and what is left imported as any
// model is.
#include "compiler/functional/Functional.h"

#include "compiler/functional/lower/Evaluate.h"
#include "compiler/functional/syntax/Parser.h"
#include "compiler/support/LargeStack.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace fathom {

bool isProgram(StringRef path) { return path.ends_with(".fir"); }

static OwningOpRef<ModuleOp> importText(StringRef text, const functional::Source &source, StringRef path,
                                        MLIRContext &context, const ImportOptions &options) {
  std::unique_ptr<functional::Program> program = functional::parse(text, source);
  if (!program)
    return {};
  functional::Typing typing(&context);
  if (failed(functional::infer(*program, source, typing)))
    return {};
  functional::Evaluator evaluator(source, typing, &context);
  if (failed(evaluator.run()))
    return {};
  std::string bytes = evaluator.takeModel().SerializeAsString();
  OwningOpRef<ModuleOp> module = importOnnx(ModelSource::memory(bytes, ""), context, options);
  if (!module)
    return {};
  Builder builder(&context);
  module->getOperation()->setAttr("graph.files", builder.getStrArrayAttr({path}));
  std::string hash = llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true);
  module->getOperation()->setAttr("graph.model_hash", builder.getStringAttr(hash));
  return module;
}

OwningOpRef<ModuleOp> importAny(const ModelSource &source, MLIRContext &context, const ImportOptions &options) {
  if (!isProgram(source.path))
    return importOnnx(source, context, options);
  Location loc = NameLoc::get(StringAttr::get(&context, source.name()));
  auto file = llvm::MemoryBuffer::getFile(source.path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) {
    emitError(loc, ErrorCode::FileUnreadable) << "cannot read '" << source.path << "': " << file.getError().message();
    return {};
  }
  OwningOpRef<ModuleOp> module;
  onLargeStack(
      [&] { module = importText((*file)->getBuffer(), {loc, source.name().str()}, source.path, context, options); });
  return module;
}

} // namespace fathom
