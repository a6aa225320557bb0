// Reading a structure from YAML, with the first problem as the error.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"
#include "llvm/Support/YAMLTraits.h"

namespace fathom {

// How deep brackets, and dashes in a line, nest.
inline int64_t nestingOf(llvm::StringRef text) {
  int64_t brackets = 0, dashes = 0, deepest = 0;
  char before = '\n', quote = 0; // the last character that is no space, and the quote that is open
  for (char character : text) {
    bool begins = llvm::StringRef("\n,:[{-?").contains(before);
    if (quote) {
      if (character == quote && (quote == '\'' || before != '\\'))
        quote = 0;
    } else if (begins && (character == '\'' || character == '"')) {
      quote = character;
    } else if (begins && (character == '[' || character == '{')) {
      ++brackets;
    } else if (character == ']' || character == '}') {
      brackets = std::max<int64_t>(0, brackets - 1);
    } else if (begins && (character == '-' || character == '?')) {
      ++dashes;
    }
    if (character == '\n')
      dashes = 0;
    if (!llvm::StringRef(" \t\r").contains(character))
      before = character;
    deepest = std::max(deepest, brackets + dashes);
  }
  return deepest;
}

// `what` names the kind of file in the message.
template <typename T>
llvm::Expected<T> parseYaml(llvm::StringRef text, llvm::StringRef fileName, llvm::StringRef what) {
  // The parser calls itself for each level.
  constexpr int64_t deepest = 100;
  if (nestingOf(text) > deepest)
    return llvm::createStringError(what + " '" + fileName + "' cannot be read: it nests deeper than " +
                                   llvm::Twine(deepest) + " levels");
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
  // Nor is there one for what refers to another.
  if (llvm::isa<llvm::yaml::AliasNode>(root))
    return llvm::createStringError(what + " '" + fileName + "' cannot be read: it is nothing but an alias");
  message.clear();
  llvm::yaml::Input yaml(llvm::MemoryBufferRef(text, fileName), nullptr, collect, &message);
  T value;
  yaml >> value;
  if (yaml.error())
    return llvm::createStringError(what + " '" + fileName + "' cannot be read: " + message);
  if (yaml.nextDocument())
    return llvm::createStringError(what + " '" + fileName + "' cannot be read: something follows behind its end");
  return value;
}

} // namespace fathom
