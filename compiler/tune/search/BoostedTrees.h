// Trees that rank: XGBoost's, with the parameters that AutoTVM has. The library is loaded when it is first needed, so
// that nothing else asks for it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace fathom::tune {

using FeatureRow = std::vector<float>;

class BoostedTrees {
public:
  // Why there are none on this machine.
  static llvm::Error missing();

  // Rows of equal length, and for each what is wanted of it, of which the order counts: more is better. Trees are added
  // to `margins`, where these are given, until for so many rounds the first `top` are ranked no better.
  BoostedTrees(llvm::ArrayRef<FeatureRow> rows, llvm::ArrayRef<float> labels, size_t top,
               llvm::ArrayRef<float> margins = {});
  ~BoostedTrees();

  std::vector<float> predict(llvm::ArrayRef<FeatureRow> rows, llvm::ArrayRef<float> margins = {}) const;

private:
  void *booster = nullptr;
};

// How well predictions find the best: the mean over n up to `top` of how many of the n best ones are among the n that
// are predicted to be. 1 is a perfect order.
double averageRecall(llvm::ArrayRef<float> predicted, llvm::ArrayRef<float> labels, size_t top);

} // namespace fathom::tune
