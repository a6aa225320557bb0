// What a graph has that passes look for: found in one walk, from ops and edges alone.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace fathom {

enum class GraphFeature : unsigned {
  Symbols,
  Dead,
  Equal,
  Neutral,
  Gemm,
  GlobalPool,
  Split,
  Composite,
  KnownElements,
  Quantized,
  Dequantized,
  Normalization,
  ScaledConv,
  Padding,
  Loop,
  ManyConcats,
  Foldable,
  Pin,
  Function,
  Contraction,
  CastChain,
  SharedCast,
  Simplifiable,
  TransposedFactors,
  ParallelConvs,
  ParallelProducts,
  Approximable,
};

// A set of them.
class GraphFeatures {
public:
  constexpr GraphFeatures() = default;
  constexpr GraphFeatures(GraphFeature feature) : bits(uint64_t(1) << unsigned(feature)) {}
  static constexpr GraphFeatures all() { return GraphFeatures(~uint64_t(0)); }

  constexpr GraphFeatures operator|(GraphFeatures other) const { return GraphFeatures(bits | other.bits); }
  constexpr GraphFeatures operator&(GraphFeatures other) const { return GraphFeatures(bits & other.bits); }
  constexpr GraphFeatures without(GraphFeatures other) const { return GraphFeatures(bits & ~other.bits); }
  constexpr GraphFeatures &operator|=(GraphFeatures other) { return bits |= other.bits, *this; }
  constexpr bool any() const { return bits != 0; }
  constexpr bool operator==(const GraphFeatures &) const = default;

private:
  explicit constexpr GraphFeatures(uint64_t bits) : bits(bits) {}
  uint64_t bits = 0;
};
constexpr GraphFeatures operator|(GraphFeature a, GraphFeature b) { return GraphFeatures(a) | GraphFeatures(b); }

struct FeatureText {
  GraphFeature feature;
  llvm::StringRef meaning; // what a graph has
};
llvm::ArrayRef<FeatureText> featureTable();

// Those of a graph before layouts. Where it is not sure whether a pass would find what it looks for, the graph has it.
GraphFeatures featuresOf(mlir::ModuleOp module);

} // namespace fathom
