// A model as one page for a browser: where its time goes, what each kernel is, and what tuning changed.
#pragma once

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace fathom {

// `told` is what fathom explain --json prints, and `model` its name; with `draft`, the kernels of the same model
// without the database that schedules were taken from, the page compares the two.
void printHtml(const llvm::json::Object &told, llvm::raw_ostream &out);

} // namespace fathom
