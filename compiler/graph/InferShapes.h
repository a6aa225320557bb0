// The pass that re-runs shape functions, for tests and for passes that change types.
#pragma once

namespace fathom::graph {
void registerInferShapesPass();
} // namespace fathom::graph
