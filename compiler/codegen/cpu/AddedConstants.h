// Constants that multiply-adds add to, loaded where they are needed.
#pragma once

namespace llvm {
class Function;
}

namespace fathom {

void loadAddedConstants(llvm::Function &function);

} // namespace fathom
