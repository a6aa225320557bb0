// TfIdfVectorizer: n-grams of the pool are paths of a trie, which all positions of a row descend side by side. Its
// steps are look-ups in tables, and what they end at is added up by a scatter.
#include "compiler/import/rules/ml/Text.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/graph/TypeText.h"
#include <map>

using namespace mlir;

namespace fathom::importer {
namespace {

// States are numbered; 0 is the root. Children of a state lie at its base plus the word in one array that all states
// share, each between the others' (Tarjan and Yao's row displacement).
class Trie {
public:
  explicit Trie(int64_t words) : words(words) { addState(); }

  int64_t child(int64_t state, int64_t word) {
    auto [it, isNew] = children[state].try_emplace(word, int64_t(children.size()));
    int64_t next = it->second;
    if (isNew)
      addState();
    return next;
  }

  // Where no child is, there is the dead state behind all others, which has none.
  void place() {
    int64_t dead = size();
    base.assign(dead + 1, 0);
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, dead));
    // Large rows first; the small ones fill what these leave.
    llvm::sort(order, [&](int64_t a, int64_t b) {
      return children[a].size() != children[b].size() ? children[a].size() > children[b].size() : a < b;
    });
    int64_t firstFree = 0;
    for (int64_t state : order) {
      const auto &row = children[state];
      if (row.empty())
        break;
      while (firstFree < int64_t(owner.size()) && owner[firstFree] >= 0)
        ++firstFree;
      int64_t at = std::max<int64_t>(0, firstFree - row.begin()->first);
      auto isFree = [&](const auto &entry) {
        size_t slot = at + entry.first;
        return slot >= owner.size() || owner[slot] < 0;
      };
      while (!llvm::all_of(row, isFree))
        ++at;
      base[state] = at;
      for (auto [word, next] : row) {
        if (int64_t(owner.size()) <= at + word)
          owner.resize(at + word + 1, -1), target.resize(at + word + 1, dead);
        owner[at + word] = state, target[at + word] = next;
      }
    }
    // Every base plus every word, the unknown one as well, lies inside.
    size_t reach = *llvm::max_element(base) + words + 1;
    owner.resize(std::max(owner.size(), reach), -1), target.resize(std::max(target.size(), reach), dead);
  }

  int64_t size() const { return children.size(); }

  std::vector<int64_t> base, owner, target;

private:
  void addState() { children.emplace_back(); }

  int64_t words;
  std::vector<std::map<int64_t, int64_t>> children;
};

class Vectorizer {
public:
  explicit Vectorizer(Node &node) : node(node), i64(node.builder().getI64Type()) {}

  LogicalResult run() {
    shortest = node.intAttr("min_gram_length", 0), longest = node.intAttr("max_gram_length", 0);
    skips = node.intAttr("max_skip_count", 0);
    StringRef mode = node.stringAttr("mode", "");
    weights = node.floatsAttr("weights").value_or(SmallVector<double>());
    if (failed(readPool()))
      return failure();
    if (shortest < 1 || longest < shortest || longest > 64 || skips < 0 || skips > 64)
      return node.error(ErrorCode::BadAttribute)
             << "n-grams of " << shortest << " to " << longest << " words with up to " << skips
             << " skips; both must be natural numbers of at most 64";
    if (!llvm::is_contained({"TF", "IDF", "TFIDF"}, mode))
      return node.error(ErrorCode::BadAttribute) << "mode '" << mode << "' of TfIdfVectorizer";
    if (failed(buildTrie()))
      return failure();
    int64_t rank = node.rank(0);
    if (rank > 2)
      return node.error(ErrorCode::BadShape)
             << "the input of TfIdfVectorizer is " << node.inputText(0) << ", where one or two dimensions are needed";
    Value result = count(rank, mode);
    if (!result)
      return failure();
    graph::Sizes sizes{getAffineConstantExpr(outputs, node.context())};
    if (rank == 2)
      sizes.insert(sizes.begin(), graph::sizesOf(node.input(0))[0]);
    return node.finish(reshapeTo(node, result, sizes, ""));
  }

private:
  // The words of the pool by their numbers: the distinct ones, and for each entry which of them it is.
  LogicalResult readPool() {
    auto numbers = node.intsAttr("pool_int64s");
    auto texts = node.stringsAttr("pool_strings");
    if (numbers.has_value() == texts.has_value())
      return node.error(ErrorCode::BadAttribute) << "TfIdfVectorizer needs either pool_int64s or pool_strings";
    Type element = node.elementType(0);
    bool isString = graph::isString(element);
    if (isString != texts.has_value() || (!isString && !element.isInteger(32) && !element.isInteger(64)))
      return node.error(ErrorCode::BadType) << "the pool of TfIdfVectorizer holds " << (texts ? "strings" : "integers")
                                            << ", its input is " << node.inputText(0);
    SmallVector<int64_t> codes = numbers.value_or(SmallVector<int64_t>());
    for (StringRef text : texts.value_or(SmallVector<StringRef>()))
      codes.push_back(node.codeOf(text));
    words.element = isString ? element : i64;
    std::map<int64_t, int64_t> places;
    for (int64_t code : codes) {
      auto [it, isNew] = places.try_emplace(code, words.size());
      if (isNew)
        words.ints.push_back(code);
      pool.push_back(it->second);
    }
    return success();
  }

  LogicalResult buildTrie() {
    auto starts = node.intsAttr("ngram_counts"), columns = node.intsAttr("ngram_indexes");
    auto wrong = [&](const Twine &what) { return node.error(ErrorCode::BadAttribute) << what.str(); };
    if (!starts || !columns || columns->empty() || pool.empty())
      return wrong("TfIdfVectorizer needs ngram_counts, ngram_indexes and a pool that is not empty");
    if (llvm::any_of(*columns, [](int64_t column) { return column < 0 || column >= INT32_MAX; }))
      return wrong("ngram_indexes holds an index that is negative or too large");
    if (!weights.empty() && weights.size() != columns->size())
      return wrong("TfIdfVectorizer has " + Twine(weights.size()) + " weights for " + Twine(columns->size()) +
                   " n-grams");
    outputs = *llvm::max_element(*columns) + 1;
    trie.emplace(words.size());
    std::map<int64_t, size_t> ends; // the n-grams that end at states; the last of equal ones counts
    size_t gram = 0;
    for (size_t i = 0; i < starts->size(); ++i) {
      int64_t from = (*starts)[i], to = i + 1 < starts->size() ? (*starts)[i + 1] : int64_t(pool.size());
      int64_t length = i + 1;
      if (from < 0 || to < from || to > int64_t(pool.size()) || (to - from) % length != 0)
        return wrong("ngram_counts does not divide the pool into n-grams");
      for (; from < to; from += length, ++gram) {
        if (gram >= columns->size())
          return wrong("ngram_indexes has fewer elements than the pool has n-grams");
        if (length < shortest || length > longest)
          continue;
        int64_t state = 0;
        for (int64_t word : ArrayRef(pool).slice(from, length))
          state = trie->child(state, word);
        ends[state] = gram;
      }
    }
    trie->place();
    // Whatever ends no n-gram counts for a column that is left out.
    columnOf.assign(trie->size() + 1, outputs), weightOf.assign(trie->size() + 1, 1);
    for (auto [state, end] : ends) {
      columnOf[state] = (*columns)[end];
      if (!weights.empty())
        weightOf[state] = weights[end];
    }
    return success();
  }

  Value table(ArrayRef<int64_t> numbers, StringRef suffix) {
    ArrayRef<char> bytes(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(int64_t));
    return node.table(bytes, RankedTensorType::get({int64_t(numbers.size())}, i64), suffix);
  }
  Value lookUp(Value list, Value places) {
    return node.emit("Gather", {list, places}, node.attr("axis", int64_t(0)), "looked_up");
  }

  // How often each column's n-grams are in each row, or what they weigh there.
  Value count(int64_t rank, StringRef mode) {
    AffineExpr one = getAffineConstantExpr(1, node.context());
    graph::Sizes own = graph::sizesOf(node.input(0));
    AffineExpr batch = rank == 2 ? own[0] : one, length = rank == 0 ? one : own.back();
    Value input = reshapeTo(node, node.input(0), {batch, length}, "rows");
    Value numbers = positionOf(node, input, words);
    // Behind a row there are words that no n-gram has.
    int64_t reach = (longest - 1) * (skips + 1);
    Value padded = node.emit(
        "Pad", {numbers, node.ints({0, 0, 0, reach}, "pads"), node.scalar(words.size(), i64, "none")}, {}, "padded");
    Value bases = table(trie->base, "bases"), owners = table(trie->owner, "owners"),
          targets = table(trie->target, "targets");
    Value dead = node.scalar(trie->size(), i64, "dead"), root;
    SmallVector<Value> found;
    for (int64_t distance = 1; distance <= skips + 1; ++distance) {
      Value state = node.scalar(0, i64, "root");
      for (int64_t n = 1; n <= longest; ++n) {
        if (n == 1 && root) {
          state = root; // the first words do not depend on the distance
          continue;
        }
        int64_t from = (n - 1) * distance;
        AffineExpr to = graph::size::add(length, from);
        Value word = to ? node.emit("Slice",
                                    {padded, node.ints({from}, "from"), node.sizesValue({to}, false, "to"),
                                     node.ints({1}, "axis")},
                                    {}, "word")
                        : Value();
        Value slot = node.emit("Add", {lookUp(bases, state), word}, {}, "slot");
        Value isChild = node.emit("Equal", {lookUp(owners, slot), state}, {}, "is_child");
        state = node.emit("Where", {isChild, lookUp(targets, slot), dead}, {}, "state");
        if (!state)
          return {};
        if (n == 1)
          root = state;
        if (n >= shortest)
          found.push_back(state);
      }
      if (longest == 1)
        break;
    }
    Type f32 = node.builder().getF32Type();
    AffineExpr width = getAffineConstantExpr(outputs + 1, node.context());
    auto all = [&](double number, ArrayRef<AffineExpr> sizes, StringRef suffix) {
      return node.emit("Expand", {node.scalar(number, f32, suffix), node.sizesValue(sizes, false, "sizes")}, {},
                       suffix);
    };
    Value ends = found.size() == 1 ? found[0] : node.emit("Concat", found, node.attr("axis", int64_t(1)), "ends");
    if (!ends)
      return {};
    Value weight = mode == "TF" ? all(1, graph::sizesOf(ends), "ones")
                                : lookUp(floats(node, weightOf, {int64_t(weightOf.size())}, "weights"), ends);
    // Of IDF it counts whether an n-gram is there.
    SmallVector<NamedAttribute> attrs{node.attr("axis", int64_t(1))};
    if (mode != "IDF")
      attrs.push_back(node.attr("reduction", "add"));
    Value places = lookUp(table(columnOf, "columns"), ends);
    Value sums = node.emit("ScatterElements", {all(0, {batch, width}, "zeros"), places, weight}, attrs, "sums");
    return part(node, sums, 1, 0, outputs, "counts");
  }

  Node &node;
  Type i64;
  int64_t shortest = 0, longest = 0, skips = 0, outputs = 0;
  Column words;
  SmallVector<int64_t> pool, columnOf;
  SmallVector<double> weights, weightOf;
  std::optional<Trie> trie;
};

LogicalResult tfIdf(Node &node) { return Vectorizer(node).run(); }

} // namespace

ArrayRef<Rule> textRules() {
  static constexpr Rule rules[] = {{"TfIdfVectorizer", 1, 1, tfIdf, /*takesStrings=*/true}};
  return rules;
}

} // namespace fathom::importer
