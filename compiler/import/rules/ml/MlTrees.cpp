// Ensembles of trees in their three forms, and what becomes of what the trees say: base values, transforms, labels.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/ml/Forest.h"

using namespace mlir;

namespace fathom::importer {
namespace {

LogicalResult mismatch(Node &node, StringRef what) {
  return node.error(ErrorCode::BadAttribute)
         << "the attributes " << what << " of " << node.type() << " do not have one length";
}

// Rows in the precision in which thresholds are compared: that of the input, single for integers. Of features whose
// number is not known, those that the trees ask for.
Value treeRows(Node &node, const Forest &forest) {
  if (node.rank(0) < 1 || node.rank(0) > 2) {
    node.error(ErrorCode::BadShape) << node.type() << " needs rows of features, not " << node.inputText(0);
    return {};
  }
  Value input = node.input(0);
  if (!graph::constantSize(graph::sizesOf(input).back())) {
    int64_t most = 0;
    for (const Split &split : forest.splits)
      most = std::max(most, split.feature);
    constexpr int64_t limit = 1 << 20;
    if (most >= limit) {
      node.error(ErrorCode::UnsupportedShape)
          << "the number of features of " << node.type() << " is not known, and it asks for feature " << most;
      return {};
    }
    Value asked = node.ints(llvm::to_vector(llvm::seq<int64_t>(0, most + 1)), "asked");
    input = node.emit("Gather", {input, asked}, node.attr("axis", int64_t(-1)), "features");
  }
  if (input && node.rank(0) == 1)
    input = node.emit("Unsqueeze", {input, node.ints({0}, "axis")}, {}, "rows");
  return node.elementType(0).isF64() ? input : castAs(node, input, node.builder().getF32Type(), "float");
}

std::optional<Comparison> comparisonOf(StringRef mode) {
  return llvm::StringSwitch<std::optional<Comparison>>(mode)
      .Case("BRANCH_LEQ", Comparison::LessEqual)
      .Case("BRANCH_LT", Comparison::Less)
      .Case("BRANCH_GTE", Comparison::GreaterEqual)
      .Case("BRANCH_GT", Comparison::Greater)
      .Case("BRANCH_EQ", Comparison::Equal)
      .Case("BRANCH_NEQ", Comparison::NotEqual)
      .Default(std::nullopt);
}

// The form of lists with a tree's and a node's number in each entry; `what` is "class" or "target".
FailureOr<Forest> readLists(Node &node, StringRef what, int64_t targets) {
  auto intsOf = [&](StringRef name) { return node.intsAttr(name).value_or(SmallVector<int64_t>()); };
  SmallVector<int64_t> treeIds = intsOf("nodes_treeids"), nodeIds = intsOf("nodes_nodeids"),
                       features = intsOf("nodes_featureids"), yes = intsOf("nodes_truenodeids"),
                       no = intsOf("nodes_falsenodeids"), missing = intsOf("nodes_missing_value_tracks_true");
  auto modes = node.stringsAttr("nodes_modes").value_or(SmallVector<StringRef>());
  SmallVector<double> values = numbersOf(node, "nodes_values");
  node.ignoreAttr("nodes_hitrates"), node.ignoreAttr("nodes_hitrates_as_tensor");
  size_t count = nodeIds.size();
  for (size_t length : {treeIds.size(), features.size(), yes.size(), no.size(), modes.size(), values.size()})
    if (length != count)
      return mismatch(node, "nodes_*");
  if (!missing.empty() && missing.size() != count)
    return mismatch(node, "nodes_*");
  Forest forest;
  forest.targets = targets;
  // Where each node's number leads: to a split or a leaf. A tree begins with its first node.
  llvm::DenseMap<std::pair<int64_t, int64_t>, Link> links;
  llvm::DenseSet<int64_t> begun;
  SmallVector<size_t> origin; // of the splits
  for (size_t i = 0; i < count; ++i) {
    if (treeIds[i] < 0 || treeIds[i] > INT32_MAX)
      return node.error(ErrorCode::BadAttribute) << node.type() << " has a tree " << treeIds[i];
    bool isLeaf = modes[i] == "LEAF";
    Link link = isLeaf ? ~Link(forest.leaves.size()) : Link(forest.splits.size());
    if (!links.try_emplace({treeIds[i], nodeIds[i]}, link).second)
      return node.error(ErrorCode::BadAttribute)
             << "tree " << treeIds[i] << " of " << node.type() << " has two nodes " << nodeIds[i];
    if (begun.insert(treeIds[i]).second)
      forest.roots.push_back(link);
    if (isLeaf) {
      forest.leaves.emplace_back();
      continue;
    }
    std::optional<Comparison> comparison = comparisonOf(modes[i]);
    if (!comparison)
      return node.error(ErrorCode::BadAttribute) << "the node mode '" << modes[i] << "' is not known";
    forest.splits.push_back({*comparison, features[i], values[i], {}, !missing.empty() && missing[i] != 0});
    origin.push_back(i);
  }
  for (auto [split, i] : llvm::zip_equal(forest.splits, origin))
    for (auto [link, id] : {std::pair(&split.yes, yes[i]), std::pair(&split.no, no[i])}) {
      auto found = links.find({treeIds[i], id});
      if (found == links.end())
        return node.error(ErrorCode::BadAttribute)
               << "tree " << treeIds[i] << " of " << node.type() << " has no node " << id;
      *link = found->second;
    }
  SmallVector<int64_t> leafTrees = intsOf((what + "_treeids").str()), leafNodes = intsOf((what + "_nodeids").str()),
                       leafTargets = intsOf((what + "_ids").str());
  SmallVector<double> weights = numbersOf(node, (what + "_weights").str());
  if (leafTrees.size() != weights.size() || leafNodes.size() != weights.size() || leafTargets.size() != weights.size())
    return mismatch(node, (what + "_*").str());
  for (size_t i = 0; i < weights.size(); ++i) {
    auto found = links.find({std::clamp<int64_t>(leafTrees[i], -1, INT32_MAX), leafNodes[i]});
    if (found == links.end())
      return node.error(ErrorCode::BadAttribute) << what << "_nodeids of " << node.type() << " names node "
                                                 << leafNodes[i] << ", which tree " << leafTrees[i] << " does not have";
    // A weight of a node that is no leaf is never reached.
    if (found->second < 0)
      forest.leaves[~found->second].push_back({leafTargets[i], weights[i]});
  }
  return forest;
}

// Adds base values, one for each target; another number of them is ignored, as ONNX Runtime does.
Value withBase(Node &node, Value scores, ArrayRef<double> base, StringRef suffix = "based") {
  if (base.empty() || !scores)
    return scores;
  Value values = floats(node, base, {1, int64_t(base.size())}, "base", getElementTypeOrSelf(scores));
  return node.emit("Add", {scores, values}, {}, suffix);
}

Value aggregated(Node &node, Value rows, const Forest &forest, StringRef aggregate, ArrayRef<double> base) {
  bool isAverage = aggregate == "AVERAGE";
  Value scores = evaluate(node, rows, forest, isAverage ? "SUM" : aggregate);
  if (isAverage)
    scores = withNumber(node, "Div", scores, double(forest.roots.size()), "average");
  return withBase(node, scores, int64_t(base.size()) == forest.targets ? base : ArrayRef<double>());
}

// A single target has no other transform.
Value regression(Node &node, Value scores, int64_t targets, StringRef transform) {
  return targets == 1 && transform != "PROBIT" ? scores : transformed(node, scores, transform, "transformed");
}

LogicalResult treeEnsembleRegressor(Node &node) {
  int64_t targets = node.intAttr("n_targets", 1);
  StringRef aggregate = node.stringAttr("aggregate_function", "SUM");
  StringRef transform = node.stringAttr("post_transform", "NONE");
  SmallVector<double> base = numbersOf(node, "base_values");
  if (!llvm::is_contained({"SUM", "AVERAGE", "MIN", "MAX"}, aggregate))
    return node.error(ErrorCode::BadAttribute) << "aggregate_function '" << aggregate << "' is not known";
  if (targets < 1 || targets > INT32_MAX)
    return node.error(ErrorCode::BadAttribute) << node.type() << " has " << targets << " targets";
  if (!isTransform(node, transform))
    return failure();
  FailureOr<Forest> forest = readLists(node, "target", targets);
  Value rows = succeeded(forest) ? treeRows(node, *forest) : Value();
  if (!rows)
    return failure();
  Value scores = regression(node, aggregated(node, rows, *forest, aggregate, base), targets, transform);
  return node.finish(castAs(node, scores, node.builder().getF32Type(), "single"));
}

// Two classes. Most models have one number for both, of which the sign or the half decides.
LogicalResult twoClasses(Node &node, Forest &forest, Value rows, Labels labels, ArrayRef<double> base,
                         StringRef transform) {
  bool arePositive = true, has[2] = {false, false};
  for (auto &leaf : forest.leaves)
    for (auto &[target, weight] : leaf) {
      if (target < 0 || target > 1)
        return node.error(ErrorCode::BadAttribute)
               << "a leaf of " << node.type() << " is about class " << target << " of 2";
      arePositive &= weight >= 0;
      has[target] = true;
    }
  Type f32 = node.builder().getF32Type();
  auto isAbove = [&](Value scores, double limit) {
    return node.emit("Greater", {scores, node.scalar(limit, getElementTypeOrSelf(scores), "limit")}, {}, "is_second");
  };
  if (has[0] && has[1]) {
    // A base value for one class is that of the first.
    SmallVector<double> both(base.begin(), base.end());
    if (both.size() == 1)
      both.push_back(0);
    Value scores = withBase(node, evaluate(node, rows, forest, "SUM"), both.size() == 2 ? both : ArrayRef<double>());
    if (!scores)
      return failure();
    Value label = labelWhere(node, labels, isAbove(part(node, scores, 1, 1, 2, "second"), 0));
    return node.finish({label, transformed(node, castAs(node, scores, f32, "single"), transform)});
  }
  int64_t which = has[1] ? 1 : 0;
  for (auto &leaf : forest.leaves)
    for (auto &[target, weight] : leaf)
      target = 0;
  forest.targets = 1;
  Value score = evaluate(node, rows, forest, "SUM");
  if (!score)
    return failure();
  if (base.size() == 2)
    score = withBase(node, score, base[which]);
  else if (base.size() == 1 && which == 0)
    score = withBase(node, score, base);
  Value label = labelWhere(node, labels, isAbove(score, arePositive ? 0.5 : 0));
  score = castAs(node, score, f32, "single");
  // The other class has a score of its own, which is nothing.
  if (which == 1 || base.size() == 2) {
    Value nothing = withNumber(node, "Mul", score, 0, "nothing");
    SmallVector<Value> sides{which ? nothing : score, which ? score : nothing};
    return node.finish(
        {label, transformed(node, node.emit("Concat", sides, node.attr("axis", int64_t(1)), "both"), transform)});
  }
  return node.finish({label, transformedPair(node, score, arePositive, transform)});
}

LogicalResult treeEnsembleClassifier(Node &node) {
  std::optional<Labels> labels = labelsOf(node, "classlabels_int64s", "classlabels_strings");
  StringRef transform = node.stringAttr("post_transform", "NONE");
  SmallVector<double> base = numbersOf(node, "base_values");
  if (!labels || !isTransform(node, transform))
    return failure();
  int64_t classes = labels->size();
  if (classes < 2)
    return node.error(ErrorCode::UnsupportedAttribute) << node.type() << " with one class is not supported";
  FailureOr<Forest> forest = readLists(node, "class", classes);
  Value rows = succeeded(forest) ? treeRows(node, *forest) : Value();
  if (!rows)
    return failure();
  if (classes == 2)
    return twoClasses(node, *forest, rows, *labels, base, transform);
  SmallVector<double> all(base.begin(), base.end());
  if (!all.empty())
    all.resize(classes, 0);
  Value scores = withBase(node, evaluate(node, rows, *forest, "SUM"), all);
  // A class that no leaf and no base value speaks of is never the label.
  SmallVector<double> silent(classes, base.empty() ? -std::numeric_limits<double>::infinity() : 0);
  for (const auto &leaf : forest->leaves)
    for (auto [target, weight] : leaf)
      if (target >= 0 && target < classes)
        silent[target] = 0;
  Value candidates = llvm::all_of(silent, [](double value) { return value == 0; })
                         ? scores
                         : withBase(node, scores, silent, "candidates");
  if (!candidates)
    return failure();
  Value label = labelOfGreatest(node, *labels, candidates);
  return node.finish(
      {label, transformed(node, castAs(node, scores, node.builder().getF32Type(), "single"), transform)});
}

// The form of the fifth version: splits and leaves apart, each in a list of its own.
LogicalResult treeEnsemble(Node &node) {
  static constexpr StringLiteral aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static constexpr StringLiteral transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  auto intsOf = [&](StringRef name) { return node.intsAttr(name).value_or(SmallVector<int64_t>()); };
  auto tensorOf = [&](StringRef name) {
    ElementsAttr tensor = node.tensorAttr(name);
    return tensor ? columnOf(tensor) : Column{node.builder().getF32Type()};
  };
  Forest forest;
  forest.targets = node.intAttr("n_targets", 1);
  int64_t aggregate = node.intAttr("aggregate_function", 1), transform = node.intAttr("post_transform", 0);
  SmallVector<int64_t> roots = intsOf("tree_roots"), features = intsOf("nodes_featureids"),
                       yes = intsOf("nodes_truenodeids"), no = intsOf("nodes_falsenodeids"),
                       yesLeaves = intsOf("nodes_trueleafs"), noLeaves = intsOf("nodes_falseleafs"),
                       missing = intsOf("nodes_missing_value_tracks_true"), targets = intsOf("leaf_targetids");
  Column modes = tensorOf("nodes_modes"), limits = tensorOf("nodes_splits"), weights = tensorOf("leaf_weights"),
         members = tensorOf("membership_values");
  node.ignoreAttr("nodes_hitrates");
  size_t count = features.size();
  for (size_t length : {yes.size(), no.size(), yesLeaves.size(), noLeaves.size(), modes.ints.size(),
                        limits.floats.size(), missing.empty() ? count : missing.size()})
    if (length != count)
      return mismatch(node, "nodes_*");
  if (targets.size() != weights.floats.size())
    return mismatch(node, "leaf_*");
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4 || forest.targets < 1 ||
      forest.targets > INT32_MAX)
    return node.error(ErrorCode::BadAttribute) << "aggregate_function " << aggregate << ", post_transform " << transform
                                               << " or n_targets " << forest.targets << " is not known";
  for (auto [target, weight] : llvm::zip_equal(targets, weights.floats))
    forest.leaves.push_back({{target, weight}});
  const double *nextMember = members.floats.begin(), *lastMember = members.floats.end();
  for (size_t i = 0; i < count; ++i) {
    if (modes.ints[i] < 0 || modes.ints[i] > int64_t(Comparison::Member))
      return node.error(ErrorCode::BadAttribute) << "the node mode " << modes.ints[i] << " is not known";
    Split split{Comparison(modes.ints[i]), features[i], limits.floats[i], {}, !missing.empty() && missing[i] != 0};
    // The sets follow each other, each ended by what is not a number.
    if (split.comparison == Comparison::Member) {
      for (; nextMember != lastMember && !std::isnan(*nextMember); ++nextMember)
        split.members.push_back(*nextMember);
      if (nextMember != lastMember)
        ++nextMember;
    }
    for (auto [link, id, isLeaf] :
         {std::tuple(&split.yes, yes[i], yesLeaves[i]), std::tuple(&split.no, no[i], noLeaves[i])}) {
      if (id < 0 || id >= int64_t(isLeaf ? forest.leaves.size() : count))
        return node.error(ErrorCode::BadAttribute) << node.type() << " has no " << (isLeaf ? "leaf " : "node ") << id;
      *link = isLeaf ? ~id : id;
    }
    forest.splits.push_back(std::move(split));
  }
  for (int64_t root : roots) {
    if (root < 0 || root >= int64_t(count))
      return node.error(ErrorCode::BadAttribute) << node.type() << " has no node " << root;
    forest.roots.push_back(root);
  }
  Value rows = treeRows(node, forest);
  if (!rows)
    return failure();
  Value scores = aggregated(node, rows, forest, aggregates[aggregate], {});
  return node.finish(
      castAs(node, regression(node, scores, forest.targets, transforms[transform]), node.elementType(0), "typed"));
}

} // namespace

ArrayRef<Rule> mlTreeRules() {
  static constexpr Rule rules[] = {{"TreeEnsemble", 1, 1, treeEnsemble},
                                   {"TreeEnsembleClassifier", 1, 1, treeEnsembleClassifier},
                                   {"TreeEnsembleRegressor", 1, 1, treeEnsembleRegressor}};
  return rules;
}

} // namespace fathom::importer
