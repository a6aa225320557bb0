// One instruction where there is one for vectors of this size, else pairs of 16 bits, else arithmetic of single bytes.
#include "compiler/codegen/cpu/DotProduct.h"

using namespace mlir;
using fathom::graph::Quads;

namespace fathom {
namespace {

class DotProduct {
public:
  DotProduct(Code &c, const Target &target, Quads kind, Value sum)
      : c(c), target(target), kind(kind), type(sum.getType()) {
    auto vector = dyn_cast<VectorType>(type);
    lanes = vector ? vector.getNumElements() : 1;
  }

  Value added(Value left, Value right, Value sum) const {
    if (std::string name = instruction(); !name.empty())
      return isSigned() ? call(name, type, {sum, as(right, 8), as(left, 8)}) // a lane's quad comes last
                        : call(name, type, {sum, as(left, 8), as(right, 8)});
    if (std::string pairs = pairsInstruction(); !pairs.empty())
      return kind == Quads::Narrow ? addNarrowPairs(left, right, sum, pairs) : addPairs(left, right, sum, pairs);
    return addBytes(left, right, sum);
  }

private:
  bool isSigned() const { return kind == Quads::Centred; }
  int64_t bits() const { return 32 * lanes; }
  bool isWholeVector() const { return lanes == target.lanes(32); }
  // Shorter vectors have instructions of their own where the longest are of 64 bytes.
  bool takesShorter() const { return bits() >= 128 && llvm::isPowerOf2_64(bits()) && target.has("avx512vl"); }

  std::string instruction() const {
    ByteProduct form = target.byteProduct();
    if (form != ByteProduct::Signed && form != ByteProduct::Unsigned)
      return "";
    std::string width = std::to_string(bits());
    if (!target.isAArch64())
      return isWholeVector() || takesShorter() ? "llvm.x86.avx512.vpdpbusd." + width : "";
    if (bits() != 128 && bits() != 64)
      return "";
    std::string shape = llvm::formatv(".v{0}i32.v{1}i8", lanes, 4 * lanes).str();
    return (isSigned() ? "llvm.aarch64.neon.sdot" : "llvm.aarch64.neon.usdot") + shape;
  }

  // That of 16-bit factors; that of bytes is named after it.
  std::string pairsInstruction() const {
    ByteProduct form = target.byteProduct();
    bool isX86 = !target.isAArch64() && form != ByteProduct::None;
    if (!isX86 || !(isWholeVector() || takesShorter()) || bits() < 256)
      return "";
    return bits() == 512 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
  }

  Value call(StringRef name, Type result, ValueRange operands) const {
    return LLVM::CallIntrinsicOp::create(c.b, c.loc, result, c.b.getStringAttr(name), operands).getResult(0);
  }

  Type vectorOf(int64_t width) const { return VectorType::get(bits() / width, c.b.getIntegerType(width)); }
  Value as(Value quads, int64_t width) const { return vector::BitCastOp::create(c.b, c.loc, vectorOf(width), quads); }

  // The first and third bytes as 16-bit numbers, then the second and fourth: other pairs than instructions that widen
  // make, and the same sum.
  Value addPairs(Value left, Value right, Value sum, StringRef multiply) const {
    Value x = as(left, 16), y = as(right, 16), eight = c.integer(x.getType(), 8);
    Value lowLeft = arith::AndIOp::create(c.b, c.loc, x, c.integer(x.getType(), 255));
    Value highLeft = arith::ShRUIOp::create(c.b, c.loc, x, eight);
    Value moved = arith::ShLIOp::create(c.b, c.loc, y, eight);
    Value lowRight = arith::ShRSIOp::create(c.b, c.loc, moved, eight);
    Value highRight = arith::ShRSIOp::create(c.b, c.loc, y, eight);
    sum = arith::AddIOp::create(c.b, c.loc, sum, call(multiply, type, {lowLeft, lowRight}));
    return arith::AddIOp::create(c.b, c.loc, sum, call(multiply, type, {highLeft, highRight}));
  }

  // Sums of two that cannot saturate, then their sum by a product with ones.
  Value addNarrowPairs(Value left, Value right, Value sum, StringRef multiply) const {
    StringRef name = bits() == 512 ? "llvm.x86.avx512.pmaddubs.w.512" : "llvm.x86.avx2.pmadd.ub.sw";
    Value pairs = call(name, vectorOf(16), {as(left, 8), as(right, 8)});
    return arith::AddIOp::create(c.b, c.loc, sum, call(multiply, type, {pairs, c.integer(pairs.getType(), 1)}));
  }

  Value addBytes(Value left, Value right, Value sum) const {
    auto byte = [&](Value quads, int64_t at, bool isSigned) -> Value {
      Value top = arith::ShLIOp::create(c.b, c.loc, quads, c.integer(type, 24 - 8 * at)), down = c.integer(type, 24);
      return isSigned ? Value(arith::ShRSIOp::create(c.b, c.loc, top, down))
                      : Value(arith::ShRUIOp::create(c.b, c.loc, top, down));
    };
    for (int64_t at = 0; at < graph::bytesOfQuad; ++at) {
      Value product = arith::MulIOp::create(c.b, c.loc, byte(left, at, isSigned()), byte(right, at, true));
      sum = arith::AddIOp::create(c.b, c.loc, sum, product);
    }
    return sum;
  }

  Code &c;
  const Target &target;
  Quads kind;
  Type type;
  int64_t lanes;
};

} // namespace

Value asLeftQuads(Code &c, Quads kind, Value quads) {
  if (kind != Quads::Centred)
    return quads;
  return arith::XOrIOp::create(c.b, c.loc, quads, c.integer(quads.getType(), 0x80808080));
}

Value addDotProduct(Code &c, const Target &target, Quads kind, Value left, Value right, Value sum) {
  return DotProduct(c, target, kind, sum).added(left, right, sum);
}

} // namespace fathom
