// Only f32 and f64 are lowered: halves are extended before, and a function of them is left to be seen.
// RUN: fathom-opt --lower-math %s | FileCheck %s

// CHECK-LABEL: func @half
// CHECK: math.exp %{{.*}} : vector<8xf16>
func.func @half(%x: vector<8xf16>) -> vector<8xf16> {
  %y = math.exp %x : vector<8xf16>
  return %y : vector<8xf16>
}
