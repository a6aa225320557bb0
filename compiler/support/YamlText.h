// Reading a structure from YAML, with the first problem as the error.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"
#include "llvm/Support/YAMLTraits.h"

namespace fathom {

// `what` names the kind of file in the message.
template <typename T>
llvm::Expected<T> parseYaml(llvm::StringRef text, llvm::StringRef fileName, llvm::StringRef what) {
  std::string message;
  auto collect = [](const llvm::SMDiagnostic &diagnostic, void *context) {
    auto &message = *static_cast<std::string *>(context);
    if (message.empty())
      message = ("line " + llvm::Twine(diagnostic.getLineNo()) + ": " + diagnostic.getMessage()).str();
  };
  // A text without a document has no node to report a problem at.
  llvm::SourceMgr sources;
  sources.setDiagHandler(collect, &message);
  llvm::yaml::Stream stream(text, sources);
  auto document = stream.begin();
  llvm::yaml::Node *root = document == stream.end() ? nullptr : document->getRoot();
  if (!root || llvm::isa<llvm::yaml::NullNode>(root))
    return llvm::createStringError(what + " '" + fileName +
                                   "' cannot be read: " + (message.empty() ? "there is nothing in it" : message));
  message.clear();
  llvm::yaml::Input yaml(llvm::MemoryBufferRef(text, fileName), nullptr, collect, &message);
  T value;
  yaml >> value;
  if (yaml.error())
    return llvm::createStringError(what + " '" + fileName + "' cannot be read: " + message);
  return value;
}

} // namespace fathom
