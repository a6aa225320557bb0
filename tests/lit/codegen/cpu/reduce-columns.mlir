// Sums over rows read a few lines of each row, which are fetched some rows ahead. Sums along rows are one stream, which
// hardware fetches.
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --canonicalize --cse %s | FileCheck %s

// CHECK-LABEL: func @ReduceMean_down.
// CHECK: scf.for
// CHECK-COUNT-4: "llvm.intr.prefetch"
// CHECK-NOT: llvm.intr.prefetch
// CHECK: arith.addf {{.*}} : vector<64xf32>
// CHECK-LABEL: func @ReduceMean_across.
// CHECK-NOT: llvm.intr.prefetch
// CHECK: return
func.func @main(%x: tensor<300x192xf32>) -> (tensor<192xf32>, tensor<300xf32>) {
  %rows = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  %columns = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %0 = graph.ReduceMean(%x, %rows) {graph.name = "down", keepdims = 0 : i64} : (tensor<300x192xf32>, tensor<1xi64>) -> tensor<192xf32>
  %1 = graph.ReduceMean(%x, %columns) {graph.name = "across", keepdims = 0 : i64} : (tensor<300x192xf32>, tensor<1xi64>) -> tensor<300xf32>
  return %0, %1 : tensor<192xf32>, tensor<300xf32>
}
