// RUN: fathom-opt --pass-pipeline="builtin.module(repeat{rounds=1 passes={canonicalize-ops, dead-code-elimination}})" %s | FileCheck %s
// RUN: fathom-opt --repeat="rounds=3 passes={repeat{passes=canonicalize-ops}, dead-code-elimination}" %s | FileCheck %s
// RUN: not fathom-opt --repeat="passes={canonicalise-ops}" %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: [F2001] there is no pass 'canonicalise-ops'

// CHECK-LABEL: func @unused
// CHECK-NEXT: return %arg0
func.func @unused(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.Identity(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %b = graph.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %a : tensor<3xf32>
}
