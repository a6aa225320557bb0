// The strings that a model knows, each by a number. Inside a model a string tensor is one of numbers: equal strings
// have equal ones, so that comparing and moving them is all that it takes.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace fathom::importer {

class Vocabulary {
public:
  int64_t codeOf(llvm::StringRef text) {
    auto [it, isNew] = codes.try_emplace(text, int64_t(texts.size()));
    if (isNew)
      texts.push_back(it->first());
    return it->second;
  }
  int64_t size() const { return texts.size(); }
  llvm::ArrayRef<llvm::StringRef> all() const { return texts; }

private:
  llvm::StringMap<int64_t> codes;
  std::vector<llvm::StringRef> texts; // in the map's memory
};

} // namespace fathom::importer
