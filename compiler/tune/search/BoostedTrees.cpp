// XGBoost by its C interface.
#include "compiler/tune/search/BoostedTrees.h"

#include "compiler/support/Failure.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <dlfcn.h>
#include <numeric>
#include <xgboost/c_api.h>

namespace fathom::tune {
namespace {

constexpr unsigned mostRounds = 8000, patience = 20;
constexpr const char *libraryName = "libxgboost.so.0";

// The functions that are called, found by their names.
struct Library {
  void *handle = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);

  template <typename Function> Function *find(const char *name) const {
    return reinterpret_cast<Function *>(dlsym(handle, name));
  }
#define FUNCTION(name) decltype(::name) *name = handle ? find<decltype(::name)>(#name) : nullptr;
  FUNCTION(XGBGetLastError)
  FUNCTION(XGDMatrixCreateFromMat)
  FUNCTION(XGDMatrixSetFloatInfo)
  FUNCTION(XGDMatrixFree)
  FUNCTION(XGBoosterCreate)
  FUNCTION(XGBoosterSetParam)
  FUNCTION(XGBoosterUpdateOneIter)
  FUNCTION(XGBoosterPredict)
  FUNCTION(XGBoosterFree)
#undef FUNCTION

  bool isWhole() const {
    return XGBGetLastError && XGDMatrixCreateFromMat && XGDMatrixSetFloatInfo && XGDMatrixFree && XGBoosterCreate &&
           XGBoosterSetParam && XGBoosterUpdateOneIter && XGBoosterPredict && XGBoosterFree;
  }
};

const Library &library() {
  static const Library library;
  return library;
}

// What fails here is a bug: rows, labels and parameters are ours.
void check(int result) {
  if (result != 0)
    llvm::report_fatal_error(llvm::Twine("XGBoost: ") + library().XGBGetLastError());
}

class Matrix {
public:
  Matrix(llvm::ArrayRef<FeatureRow> rows, llvm::ArrayRef<float> margins) {
    std::vector<float> numbers;
    for (const FeatureRow &row : rows)
      numbers.insert(numbers.end(), row.begin(), row.end());
    check(library().XGDMatrixCreateFromMat(numbers.data(), rows.size(), rows.front().size(),
                                           std::numeric_limits<float>::quiet_NaN(), &handle));
    if (!margins.empty())
      set("base_margin", margins);
  }
  ~Matrix() { library().XGDMatrixFree(handle); }

  void set(const char *name, llvm::ArrayRef<float> values) {
    check(library().XGDMatrixSetFloatInfo(handle, name, values.data(), values.size()));
  }
  DMatrixHandle handle = nullptr;
};

std::vector<float> predictWith(BoosterHandle booster, const Matrix &matrix) {
  bst_ulong count = 0;
  const float *values = nullptr;
  check(library().XGBoosterPredict(booster, matrix.handle, /*margin=*/1, /*ntree_limit=*/0, /*training=*/0, &count,
                                   &values));
  return {values, values + count};
}

std::vector<size_t> mostFirst(llvm::ArrayRef<float> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return values[a] > values[b]; });
  return order;
}

} // namespace

llvm::Error BoostedTrees::missing() {
  if (library().isWhole())
    return llvm::Error::success();
  return fail(ErrorCode::Device, llvm::Twine("XGBoost's library ") + libraryName + " cannot be loaded",
              "install it (libxgboost0 on Debian), or take another --search");
}

BoostedTrees::BoostedTrees(llvm::ArrayRef<FeatureRow> rows, llvm::ArrayRef<float> labels, size_t top,
                           llvm::ArrayRef<float> margins) {
  Matrix matrix(rows, margins);
  matrix.set("label", labels);
  check(library().XGBoosterCreate(&matrix.handle, 1, &booster));
  for (auto [name, value] : std::initializer_list<std::pair<const char *, const char *>>{{"objective", "rank:pairwise"},
                                                                                         {"max_depth", "3"},
                                                                                         {"gamma", "0.0001"},
                                                                                         {"min_child_weight", "1"},
                                                                                         {"subsample", "1.0"},
                                                                                         {"eta", "0.3"},
                                                                                         {"lambda", "1.0"},
                                                                                         {"alpha", "0"},
                                                                                         {"nthread", "1"},
                                                                                         {"seed", "0"},
                                                                                         {"verbosity", "0"}})
    check(library().XGBoosterSetParam(booster, name, value));
  double best = -1;
  for (unsigned round = 0, since = 0; round < mostRounds && since < patience; ++round, ++since) {
    check(library().XGBoosterUpdateOneIter(booster, int(round), matrix.handle));
    double recall = averageRecall(predictWith(booster, matrix), labels, top);
    if (recall > best)
      best = recall, since = 0;
  }
}

BoostedTrees::~BoostedTrees() { library().XGBoosterFree(booster); }

std::vector<float> BoostedTrees::predict(llvm::ArrayRef<FeatureRow> rows, llvm::ArrayRef<float> margins) const {
  return rows.empty() ? std::vector<float>() : predictWith(booster, Matrix(rows, margins));
}

double averageRecall(llvm::ArrayRef<float> predicted, llvm::ArrayRef<float> labels, size_t top) {
  std::vector<size_t> rank(labels.size());
  for (auto [place, which] : llvm::enumerate(mostFirst(labels)))
    rank[which] = place;
  size_t most = std::min(top, labels.size());
  std::vector<size_t> order = mostFirst(predicted), taken; // ranks, ascending
  double sum = 0;
  for (size_t which : llvm::ArrayRef(order).take_front(most)) {
    taken.insert(llvm::upper_bound(taken, rank[which]), rank[which]);
    sum += double(llvm::lower_bound(taken, taken.size()) - taken.begin()) / double(taken.size());
  }
  return most ? sum / double(most) : 0;
}

} // namespace fathom::tune
