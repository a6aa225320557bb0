// LLVM's objcopy, in memory.
#include "compiler/package/Prefix.h"

#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace fathom {

llvm::Expected<Object> prefixSymbols(const Object &object, llvm::StringRef prefix) {
  llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "object");
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file)
    return file.takeError();
  llvm::objcopy::ConfigManager config;
  config.Common.SymbolsPrefix = prefix;
  Object renamed;
  llvm::raw_svector_ostream out(renamed);
  if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(config, **file, out))
    return std::move(error);
  return std::move(renamed);
}

} // namespace fathom
