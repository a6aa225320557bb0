// The list of passes, and what facts are called.
#include "compiler/passes/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include <mutex>

using namespace mlir;

namespace fathom {

ArrayRef<FactText> factTable() {
  static const FactText table[] = {
      {RowMajor, "row-major", "every tensor lies row by row"},
      {Movable, "movable", "no op lies in another's memory or kernel, so that ops can be moved"},
      {Canonical, "canonical",
       "operators that others express are expressed by them, but for those of the next two lines"},
      {Unquantized, "unquantized", "no product or convolution is of quantised numbers"},
      {Inferring, "inferring", "no normalisation has statistics of its own"},
      {Names, "names", "every op has a name of its own"},
      {Layouts, "layouts", "every tensor has a layout"},
      {Results, "results", "what leaves a block is a kernel's result"},
      {Groups, "groups", "every op is in a group that becomes a kernel"},
      {Kernels, "kernels", "the graph calls kernels"},
      {Textual, "textual", "the graph is the text of a program"},
  };
  return table;
}

std::string spellFacts(Facts facts) {
  SmallVector<StringRef> names;
  for (const FactText &text : factTable())
    if (facts & text.fact)
      names.push_back(text.name);
  return llvm::join(names, ", ");
}

// Registered at the start, read afterwards.
static std::vector<std::unique_ptr<GraphPass>> &known() {
  static std::vector<std::unique_ptr<GraphPass>> passes;
  return passes;
}

void registerGraphPass(PassAllocatorFunction make) {
  known().emplace_back(static_cast<GraphPass *>(make().release()));
  registerPass(make);
}

void registerPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
#define FATHOM_PASS(name) registerGraphPass([] { return create##name(); });
#include "compiler/passes/PassList.inc"
#undef FATHOM_PASS
  });
}

ArrayRef<std::unique_ptr<GraphPass>> registeredPasses() { return known(); }

GraphPass *asGraphPass(Pass &pass) {
  bool isOurs = llvm::any_of(known(), [&](const auto &one) { return one->getTypeID() == pass.getTypeID(); });
  return isOurs ? static_cast<GraphPass *>(&pass) : nullptr;
}

} // namespace fathom
