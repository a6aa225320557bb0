// Convolutions and their adjoints.
#include "compiler/passes/gradient/Window.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/passes/gradient/Parts.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {

static DenseI64ArrayAttr padsOf(OpBuilder &b, const Window &window) {
  SmallVector<int64_t> pads = window.padsBegin;
  llvm::append_range(pads, window.padsEnd);
  return b.getDenseI64ArrayAttr(pads);
}

Term convolved(Term image, Term weight, const Window &window, int64_t group) {
  Emitter &ops = image.ops();
  OpBuilder &b = ops.builder;
  return image.apply<ConvOp>(Value(weight), ops.none(), b.getStringAttr("NOTSET"),
                             b.getDenseI64ArrayAttr(window.dilations), b.getDenseI64ArrayAttr(window.kernel),
                             padsOf(b, window), b.getDenseI64ArrayAttr(window.strides), ops.attr(group));
}

Term spread(Term adjoint, Term weight, const Window &window, int64_t group, ArrayRef<AffineExpr> sizes) {
  Emitter &ops = adjoint.ops();
  OpBuilder &b = ops.builder;
  // Pixels behind the last window belong to none: they are made by output padding, of which there is always enough, and
  // the rest is cut off. A window may reach over the end, if that was padded.
  SmallVector<int64_t> more;
  Window inner = window;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    AffineExpr reach = size::add(size::mul(size::add(adjoint.sizes()[d + 2], -1), window.strides[d]),
                                 effectiveKernel(window, d) - window.padsBegin[d]);
    auto missing = constantSize(size::sub(sizes[d + 2], reach));
    more.push_back(missing ? std::max<int64_t>(*missing, 0) : window.strides[d] - 1);
    inner.padsEnd[d] = missing ? std::max<int64_t>(-*missing, 0) : 0;
  }
  // Output padding is less than a stride; where windows lie further apart than that, zeros are behind them.
  SmallVector<int64_t> behind(more.size(), 0);
  for (size_t d = 0; d < more.size(); ++d)
    if (int64_t most = std::max(window.strides[d], window.dilations[d]) - 1; more[d] > most)
      behind[d] = more[d] - most, more[d] = most;
  Term result = adjoint.apply<ConvTransposeOp>(
      Value(weight), ops.none(), b.getStringAttr("NOTSET"), b.getDenseI64ArrayAttr(window.dilations),
      b.getDenseI64ArrayAttr(window.kernel), padsOf(b, inner), b.getDenseI64ArrayAttr(window.strides), ops.attr(group),
      b.getDenseI64ArrayAttr(more), DenseI64ArrayAttr());
  AffineExpr zero = getAffineConstantExpr(0, b.getContext());
  for (size_t d = 0; d < more.size(); ++d) {
    result = padded(result, d + 2, zero, getAffineConstantExpr(behind[d], b.getContext()));
    result = sliced(result, d + 2, zero, sizes[d + 2]);
  }
  return result;
}

// Images [C, group * N, ...] and windows [K, N, ...], of which a group's have the images of its channels.
FailureOr<Term> correlated(Term image, Term adjoint, const Window &window, int64_t group) {
  Sizes sizes = image.sizes(), outputs = adjoint.sizes();
  Window turned = window;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    auto extent = constantSize(outputs[d + 2]), size = constantSize(sizes[d + 2]);
    if (!extent || !size)
      return LogicalResult(hint(emitError(image.ops().like, ErrorCode::UnsupportedShape)
                                    << "the gradient of weights needs images of known sizes",
                                "give the model's dynamic dimensions sizes with --dim"));
    turned.kernel[d] = *extent;
    std::swap(turned.strides[d], turned.dilations[d]);
    // Just as many places as the window has.
    turned.padsEnd[d] = (*extent - 1) * window.strides[d] + effectiveKernel(window, d) - *size - window.padsBegin[d];
    if (turned.padsEnd[d] < 0) {
      image = sliced(image, d + 2, getAffineConstantExpr(0, image.type().getContext()),
                     getAffineConstantExpr(*size + turned.padsEnd[d], image.type().getContext()));
      turned.padsEnd[d] = 0;
    }
  }
  sizes = image.sizes();
  AffineExpr groups = getAffineConstantExpr(group, image.type().getContext());
  Sizes split{sizes[0], groups, size::floorDiv(sizes[1], group)}, joined{split[2], size::mul(sizes[0], group)};
  split.append(sizes.begin() + 2, sizes.end());
  joined.append(sizes.begin() + 2, sizes.end());
  SmallVector<int64_t> order{2, 1, 0}, exchanged{1, 0};
  llvm::append_range(order, llvm::seq<int64_t>(3, split.size()));
  llvm::append_range(exchanged, llvm::seq<int64_t>(2, sizes.size()));
  Term images = group == 1 ? image.transposed(exchanged) : image.reshaped(split).transposed(order).reshaped(joined);
  Term products = convolved(images, adjoint.transposed(exchanged), turned, group);
  // Convolutions have their channels innermost in memory: these rows are views, and what is transposed is one matrix.
  Sizes found = products.sizes(), result = found;
  std::swap(result[0], result[1]);
  SmallVector<int64_t> channelsLast{0};
  llvm::append_range(channelsLast, llvm::seq<int64_t>(2, found.size()));
  channelsLast.push_back(1);
  SmallVector<AffineExpr> inner(found.begin() + 2, found.end());
  inner.push_back(found[0]);
  AffineExpr rows = graph::product(inner, image.type().getContext());
  return products.transposed(channelsLast).reshaped({rows, found[1]}).exchanged().reshaped(result);
}

} // namespace fathom::gradient
