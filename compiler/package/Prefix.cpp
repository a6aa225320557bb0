// LLVM's objcopy, in memory.
#include "compiler/package/Prefix.h"

#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace fathom {

static llvm::Expected<Object> copyWith(const llvm::objcopy::ConfigManager &config, const Object &object) {
  llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "object");
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file)
    return file.takeError();
  Object changed;
  llvm::raw_svector_ostream out(changed);
  if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(config, **file, out))
    return std::move(error);
  return std::move(changed);
}

llvm::Expected<Object> prefixSymbols(const Object &object, llvm::StringRef prefix, llvm::StringRef kept) {
  llvm::objcopy::ConfigManager all, back;
  all.Common.SymbolsPrefix = prefix;
  // The prefix is what comes last of all changes, so that this is another copy.
  std::string changed = (prefix + kept).str();
  back.Common.SymbolsToRename[changed] = kept;
  llvm::Expected<Object> prefixed = copyWith(all, object);
  return prefixed ? copyWith(back, *prefixed) : std::move(prefixed);
}

} // namespace fathom
