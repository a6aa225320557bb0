// From splits of all kinds to nodes of one: "is this feature at most that number?". A strict comparison is one with the
// next number below, the opposite has its children swapped, equality is two nodes. Where what is not a number goes is a
// question of which of two copies of the row a node looks at: in the second it is less than all numbers.
#include "compiler/import/rules/ml/Forest.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace fathom::importer {
namespace {

constexpr int64_t leafBits = 22; // of a float that is not a number

// A node of the one kind.
struct Step {
  int64_t feature;
  double limit;
  bool isCleaned; // whether it looks at the copy where NaN is less than all
  Link above, below;
};

class Tables {
public:
  Tables(Node &node, const Forest &forest, int64_t features, bool isWide)
      : node(node), forest(forest), features(features), isWide(isWide) {}

  bool build() {
    for (const Split &split : forest.splits)
      expand(split);
    if (!findHeights())
      return false;
    hasPlain = llvm::any_of(steps, [](const Step &step) { return !step.isCleaned; });
    hasCleaned = llvm::any_of(steps, [](const Step &step) { return step.isCleaned; });
    for (Link root : forest.roots)
      if (!addTree(root))
        return false;
    return true;
  }

  struct Record {
    double limit;
    int64_t feature, child, leaf; // a leaf's number, or -1
  };
  struct Tree {
    int64_t firstNode, firstLeaf, depth, target;
  };
  std::vector<Record> records;
  std::vector<Tree> trees;
  std::vector<int64_t> leaves; // of all trees, in the order of their weights
  int64_t largest = 0;         // nodes of a tree
  bool hasPlain = false, hasCleaned = false;

private:
  // The next number below, in the precision of the input. Nothing is below minus infinity.
  double below(double number) const {
    return isWide ? std::nextafter(number, -std::numeric_limits<double>::infinity())
                  : double(std::nextafter(float(number), -std::numeric_limits<float>::infinity()));
  }
  Link add(int64_t feature, double limit, bool isCleaned, Link above, Link under) {
    steps.push_back({feature, limit, isCleaned, above, under});
    return Link(steps.size()) - 1;
  }
  // Links between splits are followed by `entry`, as one split may be several steps.
  static constexpr Link splitLink = Link(1) << 40;
  static Link toSplit(Link link) { return link < 0 ? link : link + splitLink; }
  Link resolved(Link link) const { return link >= splitLink ? entries[link - splitLink] : link; }

  // Only what is not a number is not at most infinity.
  Link isMissing(int64_t feature, Link yes, Link no) {
    return add(feature, std::numeric_limits<double>::infinity(), /*isCleaned=*/false, yes, no);
  }
  Link equals(int64_t feature, double value, bool isMissingTrue, Link yes, Link no) {
    Link second = isLeast(value) ? yes : add(feature, below(value), /*isCleaned=*/false, yes, no);
    return add(feature, value, isMissingTrue, no, second);
  }
  static bool isLeast(double value) { return value == -std::numeric_limits<double>::infinity(); }
  // Whether no number at all, or every number, goes to the true branch. No number compares with NaN but as not equal.
  static bool isNever(const Split &split) {
    switch (split.comparison) {
    case Comparison::NotEqual:
      return false;
    case Comparison::Member:
      return split.members.empty();
    case Comparison::Less:
      return std::isnan(split.threshold) || isLeast(split.threshold);
    default:
      return std::isnan(split.threshold);
    }
  }
  static bool isAlways(const Split &split) {
    return (split.comparison == Comparison::GreaterEqual && isLeast(split.threshold)) ||
           (split.comparison == Comparison::NotEqual && std::isnan(split.threshold));
  }
  void expand(const Split &split) {
    Link yes = toSplit(split.yes), no = toSplit(split.no), entry = no;
    int64_t feature = split.feature;
    double value = split.threshold;
    // What is not a number is not equal to any.
    bool missing = split.isMissingTrue || split.comparison == Comparison::NotEqual;
    if (isNever(split) || isAlways(split)) {
      Link numbers = isAlways(split) ? yes : no, others = missing ? yes : no;
      entries.push_back(numbers == others ? numbers : isMissing(feature, others, numbers));
      return;
    }
    switch (split.comparison) {
    case Comparison::LessEqual:
      entry = add(feature, value, missing, no, yes);
      break;
    case Comparison::Less:
      entry = add(feature, below(value), missing, no, yes);
      break;
    case Comparison::GreaterEqual:
      entry = add(feature, below(value), !missing, yes, no);
      break;
    case Comparison::Greater:
      entry = add(feature, value, !missing, yes, no);
      break;
    case Comparison::Equal:
      entry = equals(feature, value, missing, yes, no);
      break;
    case Comparison::NotEqual:
      entry = equals(feature, value, false, no, yes);
      break;
    case Comparison::Member:
      for (double member : llvm::reverse(split.members))
        entry = equals(feature, member, missing, yes, entry);
      break;
    }
    entries.push_back(entry);
  }

  // The longest way from each step to a leaf, without recursion; trees must not bite their tails.
  bool findHeights() {
    for (Link &entry : entries)
      entry = resolvedFully(entry);
    if (llvm::is_contained(entries, splitLink))
      return reportCircle();
    for (Step &step : steps)
      step.above = resolved(step.above), step.below = resolved(step.below);
    constexpr int64_t unseen = -1, open = -2;
    heights.assign(steps.size(), unseen);
    SmallVector<Link> stack;
    auto heightOf = [&](Link link) { return link < 0 ? 0 : heights[link]; };
    for (Link root = 0; root < Link(steps.size()); ++root) {
      if (heights[root] == unseen)
        stack.push_back(root);
      while (!stack.empty()) {
        Link at = stack.back();
        const Step &step = steps[at];
        if (heights[at] == unseen) {
          heights[at] = open;
          for (Link next : {step.above, step.below}) {
            if (heightOf(next) == open)
              return reportCircle();
            if (heightOf(next) == unseen)
              stack.push_back(next);
          }
          continue;
        }
        stack.pop_back();
        if (heights[at] == open)
          heights[at] = 1 + std::max(heightOf(step.above), heightOf(step.below));
      }
    }
    return true;
  }
  // A split without members leads on to another at once.
  Link resolvedFully(Link link) const {
    for (size_t hops = 0; link >= splitLink; ++hops) {
      if (hops > entries.size())
        return splitLink;
      link = entries[link - splitLink];
    }
    return link;
  }
  bool reportCircle() {
    node.error(ErrorCode::BadAttribute) << "the nodes of a tree of " << node.type() << " lead in a circle";
    return false;
  }

  // Nodes from the root down, level by level: what rows have in common lies close together. A step that is reached in
  // several ways is there several times, its children once.
  bool addTree(Link root) {
    root = resolved(toSplit(root));
    Tree tree{int64_t(records.size()), int64_t(leaves.size()), root < 0 ? 0 : heights[root], 0};
    llvm::DenseMap<Link, int64_t> children, leafNumbers;
    SmallVector<Link> places{root}; // by place in the tree, what is there
    for (size_t at = 0; at < places.size(); ++at) {
      Link link = places[at];
      if (link < 0) {
        auto [found, isNew] = leafNumbers.try_emplace(link, leafNumbers.size());
        if (isNew)
          leaves.push_back(~link);
        records.push_back({std::numeric_limits<double>::quiet_NaN(), 0, int64_t(at), found->second});
        continue;
      }
      const Step &step = steps[link];
      auto [found, isNew] = children.try_emplace(link, places.size());
      if (isNew)
        places.append({step.above, step.below});
      int64_t feature = step.feature + (step.isCleaned && hasPlain ? features : 0);
      records.push_back({step.limit, feature, found->second, -1});
    }
    largest = std::max<int64_t>(largest, places.size());
    trees.push_back(tree);
    if (int64_t(leafNumbers.size()) < int64_t(1) << leafBits && records.size() < INT32_MAX && leaves.size() < INT32_MAX)
      return true;
    node.error(ErrorCode::Limit) << node.type() << " has a tree of " << leafNumbers.size() << " leaves, or "
                                 << records.size() << " nodes and more";
    return false;
  }

  Node &node;
  const Forest &forest;
  int64_t features;
  bool isWide;
  std::vector<Step> steps;
  std::vector<Link> entries; // of the splits
  std::vector<int64_t> heights;
};

// The rows as nodes look at them, the copy where NaN is less than all numbers behind the plain one.
Value copies(Node &node, Value rows, const Tables &tables) {
  if (!tables.hasCleaned)
    return rows;
  Value least = node.scalar(-std::numeric_limits<double>::infinity(), getElementTypeOrSelf(rows), "least");
  Value cleaned = node.emit("Where", {node.emit("IsNaN", rows, {}, "is_missing"), least, rows}, {}, "cleaned");
  return tables.hasPlain ? node.emit("Concat", {rows, cleaned}, node.attr("axis", int64_t(1)), "both") : cleaned;
}

Value nodeTable(Node &node, const Tables &tables, bool isWide, int64_t features) {
  bool isNarrow = !isWide && tables.largest <= 65536 && features <= 65536;
  std::vector<uint32_t> words;
  for (const Tables::Record &record : tables.records) {
    uint32_t leaf = record.leaf < 0 ? 0 : uint32_t(record.leaf);
    if (isWide) {
      uint64_t bits = record.leaf < 0 ? llvm::bit_cast<uint64_t>(record.limit) : 0x7ff8000000000000ull | leaf;
      words.insert(words.end(), {uint32_t(bits), uint32_t(bits >> 32)});
    } else {
      words.push_back(record.leaf < 0 ? llvm::bit_cast<uint32_t>(float(record.limit)) : 0x7fc00000u | leaf);
      if (!isNarrow)
        words.push_back(0);
    }
    if (isNarrow)
      words.push_back(uint32_t(record.feature) | uint32_t(record.child) << 16);
    else
      words.insert(words.end(), {uint32_t(record.feature), uint32_t(record.child)});
  }
  auto type = RankedTensorType::get({int64_t(tables.records.size()), isNarrow ? 2 : 4}, node.builder().getI32Type());
  return node.table(ArrayRef(reinterpret_cast<const char *>(words.data()), words.size() * 4), type, "nodes");
}

Value treeTable(Node &node, const Tables &tables) {
  std::vector<int32_t> words;
  for (const Tables::Tree &tree : tables.trees)
    for (int64_t word : {tree.firstNode, tree.firstLeaf, tree.depth, tree.target})
      words.push_back(int32_t(word));
  auto type = RankedTensorType::get({int64_t(tables.trees.size()), 4}, node.builder().getI32Type());
  return node.table(ArrayRef(reinterpret_cast<const char *>(words.data()), words.size() * 4), type, "trees");
}

// Whether all leaves of each tree are about one target, which its row then names.
bool hasTargetPerTree(const Forest &forest, Tables &tables) {
  for (size_t t = 0; t < tables.trees.size(); ++t) {
    std::optional<int64_t> target;
    size_t end = t + 1 < tables.trees.size() ? size_t(tables.trees[t + 1].firstLeaf) : tables.leaves.size();
    for (size_t leaf = tables.trees[t].firstLeaf; leaf < end; ++leaf)
      for (auto [which, weight] : forest.leaves[tables.leaves[leaf]]) {
        if (target.value_or(which) != which)
          return false;
        target = which;
      }
    tables.trees[t].target = target.value_or(0);
  }
  return true;
}

} // namespace

Value evaluate(Node &node, Value rows, const Forest &forest, StringRef aggregate) {
  auto type = cast<RankedTensorType>(rows.getType());
  bool isWide = type.getElementType().isF64();
  int64_t features = type.getDimSize(1);
  for (const Split &split : forest.splits)
    if (split.feature < 0 || split.feature >= features) {
      node.error(ErrorCode::BadAttribute)
          << "a node of " << node.type() << " asks for feature " << split.feature << " of " << features;
      return {};
    }
  for (const auto &leaf : forest.leaves)
    for (auto [target, weight] : leaf)
      if (target < 0 || target >= forest.targets) {
        node.error(ErrorCode::BadAttribute)
            << "a leaf of " << node.type() << " is about target " << target << " of " << forest.targets;
        return {};
      }
  if (forest.roots.empty()) {
    node.error(ErrorCode::BadAttribute) << node.type() << " has no trees";
    return {};
  }
  Tables tables(node, forest, features, isWide);
  if (!tables.build())
    return {};
  bool isSingle = hasTargetPerTree(forest, tables);
  int64_t width = isSingle ? 1 : forest.targets;
  // Leaves that say little of many targets would take up far more room than the model has.
  size_t given = 0;
  for (const auto &leaf : forest.leaves)
    given += leaf.size();
  int64_t most = std::min<int64_t>(INT32_MAX, 64 * int64_t(given) + (1 << 20));
  if (width > most / int64_t(tables.leaves.size())) {
    node.error(ErrorCode::Limit) << node.type() << " has " << tables.leaves.size() << " leaves with " << width
                                 << " weights each";
    return {};
  }
  bool isSum = aggregate == "SUM";
  std::vector<double> weights(width * tables.leaves.size(), isSum ? 0 : std::numeric_limits<double>::quiet_NaN());
  for (auto [i, leaf] : llvm::enumerate(tables.leaves))
    for (auto [target, weight] : forest.leaves[leaf]) {
      double &here = weights[i * width + (isSingle ? 0 : target)];
      bool isFirst = std::isnan(here);
      here = isSum                ? here + weight
             : isFirst            ? weight
             : aggregate == "MIN" ? std::min(here, weight)
                                  : std::max(here, weight);
    }
  bool hasBoth = tables.hasPlain && tables.hasCleaned;
  Value result =
      node.emit("TreeEnsemble",
                {copies(node, rows, tables), nodeTable(node, tables, isWide, hasBoth ? 2 * features : features),
                 treeTable(node, tables),
                 floats(node, weights, {int64_t(tables.leaves.size()), width}, "weights", type.getElementType())},
                {node.attr("targets", forest.targets), node.attr("aggregate", aggregate)}, "votes");
  if (isSum || !result)
    return result;
  // A target of which no leaf has said anything.
  return node.emit(
      "Where", {node.emit("IsNaN", result, {}, "is_silent"), node.scalar(0, type.getElementType(), "nothing"), result},
      {}, "heard");
}

} // namespace fathom::importer
