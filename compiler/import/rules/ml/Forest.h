// Decision trees as the attributes of a model have them, and the tables that graph.TreeEnsemble takes.
#pragma once

#include "compiler/import/rules/ml/Ml.h"

namespace fathom::importer {

// Where a split leads to: another split by its number, or a leaf as ~number.
using Link = int64_t;

enum class Comparison { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Member };

struct Split {
  Comparison comparison = Comparison::LessEqual;
  int64_t feature = 0;
  double threshold = 0;
  llvm::SmallVector<double, 0> members;
  bool isMissingTrue = false; // where what is not a number goes
  Link yes = 0, no = 0;
};

struct Forest {
  std::vector<Split> splits;
  std::vector<llvm::SmallVector<std::pair<int64_t, double>, 1>> leaves; // target and weight
  llvm::SmallVector<Link> roots;
  int64_t targets = 1;
};

// What all trees say of each row, of shape (rows, targets), in the precision of the input: the sum, the least or the
// greatest. Null after a report.
mlir::Value evaluate(Node &node, mlir::Value rows, const Forest &forest, llvm::StringRef aggregate);

} // namespace fathom::importer
