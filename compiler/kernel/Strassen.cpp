// V. Strassen, Gaussian Elimination is not Optimal, 1969. Winograd's variant has three additions less, and larger
// errors.
#include "compiler/kernel/Strassen.h"

namespace fathom::strassen {

const TransformMatrix &leftTransform() {
  static const TransformMatrix matrix{
      {{0, 0, 1, 1}, {1, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}, {-1, 0, 1, 0}, {0, 1, 0, -1}, {1, 0, 0, 1}}};
  return matrix;
}

const TransformMatrix &rightTransform() {
  static const TransformMatrix matrix{
      {{1, 0, 0, 0}, {0, 0, 0, 1}, {0, 1, 0, -1}, {-1, 0, 1, 0}, {1, 1, 0, 0}, {0, 0, 1, 1}, {1, 0, 0, 1}}};
  return matrix;
}

const TransformMatrix &restTransform() {
  static const TransformMatrix matrix{{{1, 1, 1, 0}, {1, 1, 0, 1}, {1, 1, 0, 0}}};
  return matrix;
}

const TransformMatrix &resultTransform() {
  static const TransformMatrix matrix{
      {{0, -1, 0, 1, 0, 1, 1}, {0, 1, 1, 0, 0, 0, 0}, {1, 0, 0, 1, 0, 0, 0}, {-1, 0, 1, 0, 1, 0, 1}}};
  return matrix;
}

} // namespace fathom::strassen
