// Products of bytes: a MatMul or Conv of uint8 with quads, which hold four signed factors along the depth each. Results
// are sums of 32 bits.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace fathom::graph {

constexpr int64_t bytesOfQuad = 4;

// What makes a MatMul or Conv one, and says of its factors what instructions depend on.
constexpr llvm::StringLiteral quadsAttribute = "graph.quads";
enum class Quads {
  Plain,
  // Left factors count 128 less than they are, as instructions that take signs have it: zeros, too, also those around
  // an image. What is thereby missing is added elsewhere.
  Centred,
  // Two neighbouring products, of any left factors, stay within 16 bits when they are added.
  Narrow,
};

constexpr llvm::StringLiteral quadsNames[] = {"plain", "centred", "narrow"};

// Why a product of quantised numbers is computed in floating point.
constexpr llvm::StringLiteral whyFloatAttribute = "graph.why_float";

inline std::optional<Quads> quadsOf(mlir::Operation *op) {
  auto name = op->getAttrOfType<mlir::StringAttr>(quadsAttribute);
  if (!name)
    return std::nullopt;
  return name.getValue() == quadsNames[1]   ? Quads::Centred
         : name.getValue() == quadsNames[2] ? Quads::Narrow
                                            : Quads::Plain;
}

inline void setQuads(mlir::Operation *op, Quads quads) {
  op->setAttr(quadsAttribute, mlir::StringAttr::get(op->getContext(), quadsNames[size_t(quads)]));
}

} // namespace fathom::graph
