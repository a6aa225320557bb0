// The matrices, for the interpolation points 0, 1, -1 (2, -2) and infinity.
#include "compiler/kernel/Winograd.h"

namespace fathom::winograd {

const TransformMatrix &inputTransform(int64_t m) {
  static const TransformMatrix two{{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}}};
  static const TransformMatrix four{{{4, 0, -5, 0, 1, 0},
                                     {0, -4, -4, 1, 1, 0},
                                     {0, 4, -4, -1, 1, 0},
                                     {0, -2, -1, 2, 1, 0},
                                     {0, 2, -1, -2, 1, 0},
                                     {0, 4, 0, -5, 0, 1}}};
  return m == 2 ? two : four;
}

const TransformMatrix &weightTransform(int64_t m) {
  static const TransformMatrix two{{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
  static const TransformMatrix four{{{1.0 / 4, 0, 0},
                                     {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                     {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                     {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                     {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                     {0, 0, 1}}};
  return m == 2 ? two : four;
}

const TransformMatrix &outputTransform(int64_t m) {
  static const TransformMatrix two{{{1, 1, 1, 0}, {0, 1, -1, 1}}};
  static const TransformMatrix four{
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
  return m == 2 ? two : four;
}

} // namespace fathom::winograd
