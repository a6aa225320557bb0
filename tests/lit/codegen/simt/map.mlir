// A map of work items: scalars, pointers into global memory, an index from the work item's number, and no trace of a CPU.
// RUN: fathom-opt --emit-loops --target=opencl --canonicalize --cse %s | FileCheck %s

// CHECK-LABEL: func.func @Add_Tanh
// CHECK-SAME: !llvm.ptr<1> {llvm.noalias}{{.*}}, %[[SIZE:arg[0-9]+]]: i64) attributes {gpu.kernel,
// CHECK-NOT: vector
// CHECK: %[[GROUP:.*]] = gpu.block_id x
// CHECK: arith.index_cast %[[GROUP]]
// CHECK: %[[ITEM:.*]] = gpu.thread_id x
// CHECK: arith.index_cast %[[ITEM]]
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: math.tanh %{{.*}} : f32
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK: return
// CHECK-NOT: .task
!from = tensor<7x1x?xf32, #graph.enc<shape = ()[s0] -> (7, 1, s0)>>
!seen = tensor<?x1x7xf32, #graph.enc<shape = ()[s0] -> (s0, 1, 7)>>
!to = tensor<?x3x7xf32, #graph.enc<shape = ()[s0] -> (s0, 3, 7)>>
module attributes {graph.symbols = [{name = "n", min = 1 : i64, max = 100 : i64}]} {
func.func @main(%x: !from, %y: !to) -> !to {
  %0 = graph.Transpose(%x) {perm = array<i64: 2, 1, 0>} : (!from) -> !seen
  %1 = graph.Add(%0, %y) : (!seen, !to) -> !to
  %2 = graph.Tanh(%1) : (!to) -> !to
  return %2 : !to
}
}
