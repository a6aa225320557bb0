// What names mean at a place of the program; inner ones hide outer ones.
#pragma once

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace fathom::functional {

template <typename T> class Scoped {
public:
  void bind(llvm::StringRef name, T meaning) {
    bound[name].push_back(std::move(meaning));
    order.push_back(name.str());
  }
  // Null where nothing has the name. Good until something is bound.
  T *find(llvm::StringRef name) {
    auto found = bound.find(name);
    return found == bound.end() || found->second.empty() ? nullptr : &found->second.back();
  }
  // Forgets, at its end, what was bound since.
  auto scope() {
    return llvm::scope_exit([this, size = order.size()] {
      for (; order.size() > size; order.pop_back())
        bound[order.back()].pop_back();
    });
  }

private:
  llvm::StringMap<std::vector<T>> bound;
  std::vector<std::string> order;
};

} // namespace fathom::functional
