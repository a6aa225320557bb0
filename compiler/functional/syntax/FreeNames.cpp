// The names that a function takes from around it.
#include "compiler/functional/syntax/FreeNames.h"

#include "compiler/functional/syntax/Scoped.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace fathom::functional {
namespace {

class Collector {
public:
  void visit(const Function &function) {
    auto scope = bound.scope();
    if (!function.name.empty())
      bound.bind(function.name, true);
    for (const Parameter &parameter : function.parameters)
      bound.bind(parameter.name, true);
    visit(*function.body);
  }
  std::vector<std::string> names;

private:
  void visit(const Expr &expr) {
    auto scope = bound.scope();
    if (expr.kind == Expr::Var && !bound.find(expr.name) && seen.insert(expr.name).second)
      names.push_back(expr.name);
    if (expr.function)
      visit(*expr.function);
    for (const Let &let : expr.lets) {
      visit(*let.value);
      if (let.pattern)
        bind(*let.pattern);
      else
        bound.bind(let.value->function->name, true);
    }
    for (const Expr *part : expr.parts)
      if (part)
        visit(*part);
    for (const Arm &arm : expr.arms) {
      auto scope = bound.scope();
      bind(*arm.pattern);
      visit(*arm.body);
    }
  }
  void bind(const Pattern &pattern) {
    if (pattern.kind == Pattern::Name)
      bound.bind(pattern.name, true);
    for (const Pattern *part : pattern.parts)
      bind(*part);
  }

  Scoped<char> bound;
  StringSet<> seen;
};

} // namespace

std::vector<std::string> freeNamesOf(const Function &function) {
  Collector collector;
  collector.visit(function);
  return collector.names;
}

} // namespace fathom::functional
