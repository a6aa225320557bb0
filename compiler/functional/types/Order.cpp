// Strongly connected components of the graph of calls (Tarjan), with a stack of its own.
#include "compiler/functional/types/Order.h"

#include "compiler/functional/syntax/Walk.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace fathom::functional {

// The functions that an expression names. A parameter of the same name makes an edge too many, which does no harm.
static void collectNames(const Expr &expr, const StringMap<unsigned> &functions, std::vector<unsigned> &named) {
  std::vector<const Expr *> todo{&expr};
  while (!todo.empty()) {
    const Expr *next = todo.back();
    todo.pop_back();
    if (auto found = functions.find(next->name); next->kind == Expr::Var && found != functions.end())
      named.push_back(found->second);
    forEachPart(*next, [&](const Expr *part) { todo.push_back(part); });
  }
}

std::vector<std::vector<const Function *>> dependencyOrder(ArrayRef<Function *> functions) {
  StringMap<unsigned> indices;
  for (auto [i, function] : enumerate(functions))
    indices[function->name] = i;
  std::vector<std::vector<unsigned>> edges(functions.size());
  for (auto [i, function] : enumerate(functions))
    collectNames(*function->body, indices, edges[i]);

  constexpr unsigned none = ~0u;
  std::vector<unsigned> number(functions.size(), none), lowest(functions.size()), open;
  std::vector<bool> isOpen(functions.size());
  std::vector<std::vector<const Function *>> order;
  unsigned count = 0;
  struct Visit {
    unsigned function;
    size_t edge;
  };
  for (unsigned root = 0; root < functions.size(); ++root) {
    std::vector<Visit> visits;
    auto enter = [&](unsigned function) {
      number[function] = lowest[function] = count++;
      open.push_back(function), isOpen[function] = true;
      visits.push_back({function, 0});
    };
    if (number[root] == none)
      enter(root);
    while (!visits.empty()) {
      unsigned function = visits.back().function;
      if (visits.back().edge < edges[function].size()) {
        unsigned callee = edges[function][visits.back().edge++];
        if (number[callee] == none)
          enter(callee);
        else if (isOpen[callee])
          lowest[function] = std::min(lowest[function], number[callee]);
        continue;
      }
      visits.pop_back();
      if (!visits.empty())
        lowest[visits.back().function] = std::min(lowest[visits.back().function], lowest[function]);
      if (lowest[function] != number[function])
        continue;
      auto &group = order.emplace_back();
      unsigned member;
      do {
        member = open.back(), open.pop_back(), isOpen[member] = false;
        group.push_back(functions[member]);
      } while (member != function);
    }
  }
  return order;
}

} // namespace fathom::functional
