// A model as one page for a browser: where its time goes, predicted and measured, and what tuning changed.
#pragma once

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace fathom {

// Kernels as fathom explain tells them; without a run they have no times. `drafts` are those of the same model without
// the database that schedules were taken from; null where none was taken.
void printHtml(llvm::StringRef model, const llvm::json::Array &kernels, const llvm::json::Array *drafts, int threads,
               llvm::raw_ostream &out);

} // namespace fathom
