// Texts of code, divided at the titles of their parts.
#include "compiler/driver/GivenCode.h"

#include "compiler/codegen/common/LowerLoops.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace fathom {

// A context of its own, since parts are compiled in parallel.
struct GivenCode::LlvmPart {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};

GivenCode::GivenCode() = default;
GivenCode::GivenCode(GivenCode &&) = default;
GivenCode::~GivenCode() = default;

std::string titleOf(const KernelCode &kernel, const Target &target) {
  std::string title = "kernel " + kernel.symbol + " for " + target.spelling() + ": " + kernel.kernelClass->name.str();
  for (const auto &[name, value] : kernel.schedule.knobs)
    title += " " + name + "=" + std::to_string(value);
  return title;
}

std::string hostTitle(const Target &target) { return "host for " + target.spelling(); }

namespace {

InFlightDiagnostic refuse(Location loc, StringRef path, const Twine &why) {
  return emitError(loc, ErrorCode::BadPlan) << "cannot go on from '" << path << "': " << why;
}

// Calls `read` with the title, the text and the first line of every part. Titles are comments, lines that begin with
// `mark`.
LogicalResult divide(const StageText &given, StringRef mark, const llvm::StringSet<> &titles, Location loc,
                     llvm::function_ref<LogicalResult(StringRef title, StringRef text, size_t line)> read) {
  StringRef title, rest = given.text;
  const char *begin = rest.begin();
  size_t line = 0, first = 1;
  auto end = [&](const char *end) -> LogicalResult {
    StringRef part(begin, end - begin);
    if (!title.empty())
      return read(title, part, first);
    if (part.trim().empty())
      return success();
    return hint(refuse(loc, given.path, "no line above it tells what its first lines are the code of"),
                "start from what --emit loops or --emit llvm prints, with the comments above the parts");
  };
  while (!rest.empty()) {
    StringRef current = rest.take_until([](char c) { return c == '\n'; });
    rest = rest.drop_front(std::min(current.size() + 1, rest.size()));
    ++line;
    StringRef stripped = current.rtrim('\r');
    if (!stripped.consume_front(mark) || !(stripped.starts_with("kernel ") || stripped.starts_with("host ")))
      continue;
    if (failed(end(current.begin())))
      return failure();
    if (!titles.contains(stripped))
      return LogicalResult(hint(refuse(loc, given.path, "line " + Twine(line) + ": the program has no " + stripped),
                                "compile with the target, the plan and the options that it was printed with"));
    title = stripped, begin = rest.begin(), first = line + 1;
  }
  return end(rest.begin());
}

} // namespace

FailureOr<GivenCode> GivenCode::read(const StageTexts &texts, const llvm::StringSet<> &titles, Location loc) {
  GivenCode code;
  if (texts.loops.isGiven() && failed(code.readLoops(texts.loops, titles, loc)))
    return failure();
  if (texts.llvm.isGiven() && failed(code.readLlvm(texts.llvm, titles, loc)))
    return failure();
  return code;
}

LogicalResult GivenCode::readLoops(const StageText &given, const llvm::StringSet<> &titles, Location loc) {
  loopsPath = given.path;
  return divide(given, "// ", titles, loc, [&](StringRef title, StringRef text, size_t line) -> LogicalResult {
    OwningOpRef<ModuleOp> &part = loopsParts[title];
    if (part)
      return refuse(loc, given.path, "line " + Twine(line - 1) + ": there is " + title + " twice");
    part = parseStage(given.path, text, line, Calls::Fit, loc);
    return success(bool(part));
  });
}

LogicalResult GivenCode::readLlvm(const StageText &given, const llvm::StringSet<> &titles, Location loc) {
  return divide(given, "; ", titles, loc, [&](StringRef title, StringRef text, size_t line) -> LogicalResult {
    std::unique_ptr<LlvmPart> &part = llvmParts[title];
    if (part)
      return refuse(loc, given.path, "line " + Twine(line - 1) + ": there is " + title + " twice");
    // LLVM's parser ends the process where a module with it breaks a rule.
    if (text.contains("Debug Info Version"))
      return refuse(loc, given.path, title + ": code with debug info is not taken");
    part = std::make_unique<LlvmPart>();
    llvm::SMDiagnostic problem;
    std::string owned = text.str(); // the parser wants a zero behind it
    part->module = llvm::parseAssembly(llvm::MemoryBufferRef(owned, given.path), problem, part->context);
    if (!part->module)
      return refuse(loc, given.path,
                    "line " + Twine(problem.getLineNo() + int64_t(line) - 1) + ", column " +
                        Twine(problem.getColumnNo() + 1) + ": " + problem.getMessage());
    part->module->setModuleIdentifier(generatedModuleName);
    std::string broken;
    llvm::raw_string_ostream out(broken);
    if (llvm::verifyModule(*part->module, &out))
      return refuse(loc, given.path, title + ": " + StringRef(broken).trim());
    return success();
  });
}

FailureOr<ModuleOp> GivenCode::loops(StringRef title, ModuleOp generated) const {
  auto found = loopsParts.find(title);
  if (found == loopsParts.end())
    return generated;
  ModuleOp given = *found->second;
  for (auto function : generated.getOps<func::FuncOp>()) {
    auto other = given.lookupSymbol<func::FuncOp>(function.getName());
    if (!function.isExternal() &&
        (!other || other.isExternal() || other.getFunctionType() != function.getFunctionType()))
      return LogicalResult(
          refuse(generated.getLoc(), loopsPath,
                 title + ": it has no function '" + function.getName() + "' of the generated one's type"));
  }
  for (auto function : given.getOps<FunctionOpInterface>())
    if (function.isExternal() && !generated.lookupSymbol(function.getName()))
      return LogicalResult(
          refuse(generated.getLoc(), loopsPath, title + ": the artifact has no function '" + function.getName() + "'"));
  return given;
}

llvm::Module *GivenCode::llvm(StringRef title) const {
  auto found = llvmParts.find(title);
  return found == llvmParts.end() ? nullptr : found->second->module.get();
}

} // namespace fathom
