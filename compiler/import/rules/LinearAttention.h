// Rules of attention whose keys and values are summed up in a state of fixed size.
#pragma once

#include "compiler/import/node/Normalize.h"

namespace fathom::importer {

llvm::ArrayRef<Rule> linearAttentionRules();

} // namespace fathom::importer
