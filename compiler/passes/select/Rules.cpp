// One table: what each pass looks for, and what may be there when it has found it. Passes that are in no row run
// always.
#include "compiler/passes/select/Rules.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace fathom {
namespace {

using enum GraphFeature;

struct Rule {
  StringRef pass;
  GraphFeatures finds; // any of these
  GraphFeatures makes; // where it has found one
};

// What nothing but the importer makes.
constexpr GraphFeatures given = Loop | Pin | Quantized | Normalization | Function;
constexpr GraphFeatures anything = GraphFeatures::all().without(given);
// What depends on what an op reads, and not only on which ops there are.
constexpr GraphFeatures edges = Equal | Neutral | ScaledConv | Foldable | CastChain | SharedCast | Simplifiable |
                                TransposedFactors | ParallelConvs | ParallelProducts;

constexpr Rule rules[] = {
    {"alter-op-layout", Contraction, anything},
    {"batching-ops", ParallelProducts, anything},
    {"canonicalize-cast", CastChain | SharedCast, edges},
    {"canonicalize-ops", Gemm,
     Equal | Neutral | Foldable | Composite | Contraction | Simplifiable | TransposedFactors | ParallelProducts},
    {"canonicalize-ops", GlobalPool, Equal},
    {"canonicalize-ops", Split, Equal | Neutral | Foldable | Simplifiable},
    {"canonicalize-ops", Composite | KnownElements, anything},
    {"combine-parallel-conv2d", ParallelConvs, anything},
    {"combine-parallel-dense", ParallelProducts, anything},
    {"dead-code-elimination", Dead, SharedCast},
    {"decompose-quantized", Quantized, anything},
    {"dynamic-to-static", Pin, anything},
    {"eliminate-common-subexpr", Equal, edges},
    {"eliminate-common-subexpr", Dead, SharedCast},
    {"fake-quantization-to-integer", Quantized | Dequantized, anything},
    {"fast-math", Approximable, Equal},
    {"fold-constant", Foldable, Equal | Neutral | KnownElements | Foldable | Simplifiable | SharedCast},
    {"fold-explicit-padding", Padding, Equal | ParallelConvs},
    {"forward-fold-scale-axis", ScaledConv, Equal | ScaledConv | Foldable | Simplifiable},
    {"hoist-invariants", Loop, anything},
    {"nest-concats", ManyConcats, Equal | Neutral | Simplifiable},
    {"remove-unused-functions", Function, {}},
    {"simplify-expr", Simplifiable, edges | Composite},
    {"simplify-fc-transpose", TransposedFactors | Gemm, edges},
    {"to-mixed-precision", Contraction | Gemm, anything},
    {"simplify-inference", Normalization, Equal | ScaledConv | Foldable | Simplifiable},
};

// These rewrite by patterns until none applies. On the way they drop dead ops and those that change nothing, and types
// follow from operands again where sizes are symbolic.
constexpr StringRef sweeping[] = {"canonicalize-cast",       "canonicalize-ops",  "decompose-quantized",
                                  "fold-explicit-padding",   "simplify-expr",     "simplify-fc-transpose",
                                  "forward-fold-scale-axis", "simplify-inference"};
constexpr std::pair<GraphFeatures, GraphFeatures> sweeps[] = {
    {Dead, SharedCast}, {Neutral, edges}, {Symbols, anything}};

GraphFeatures made(StringRef pass, GraphFeatures features) {
  GraphFeatures makes;
  for (const Rule &rule : rules)
    if (rule.pass == pass && (rule.finds & features).any())
      makes |= rule.makes;
  for (auto [found, after] : sweeps)
    if (is_contained(sweeping, pass) && (found & features).any())
      makes |= after;
  return makes;
}

} // namespace

std::string whyUnchanged(StringRef pass, GraphFeatures features) {
  GraphFeatures looksFor;
  for (const Rule &rule : rules)
    if (rule.pass == pass)
      looksFor |= rule.finds;
  if (!looksFor.any())
    return "";
  GraphFeatures sought = looksFor;
  if (is_contained(sweeping, pass))
    for (auto [found, after] : sweeps)
      looksFor |= found;
  if ((looksFor & features).any())
    return "";
  SmallVector<StringRef> words;
  for (const FeatureText &text : featureTable())
    if ((GraphFeatures(text.feature) & sought).any())
      words.push_back(text.meaning);
  return "it has no " + join(words, ", no ");
}

std::vector<StringRef> idlePasses(ArrayRef<StringRef> passes, GraphFeatures features) {
  for (GraphFeatures before = GraphFeatures::all(); before != features;) {
    before = features;
    for (StringRef pass : passes)
      features |= made(pass, features);
  }
  std::vector<StringRef> idle;
  for (StringRef pass : passes)
    if (!is_contained(idle, pass) && !whyUnchanged(pass, features).empty())
      idle.push_back(pass);
  return idle;
}

} // namespace fathom
