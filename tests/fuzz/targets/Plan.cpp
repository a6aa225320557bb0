// Any text as a plan. One that can be read is printed and read back: the same plan.
#include "Target.h"

#include "compiler/plan/Plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto plan = fathom::parsePlan({reinterpret_cast<const char *>(data), size}, "input");
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return 0;
  }
  std::string text = fathom::printPlan(*plan);
  auto again = fathom::parsePlan(text, "printed");
  if (!again)
    fathom::fuzz::fail("a printed plan is refused: " + llvm::toString(again.takeError()));
  if (fathom::printPlan(*again) != text)
    fathom::fuzz::fail("a printed plan reads back as another");
  return 0;
}
