// Functions that may be cheaper have shorter polynomials and one factor for the exponent; in strict mode and in double
// precision they are as all others.
// RUN: fathom-opt --lower-math %s | FileCheck %s
// RUN: fathom-opt --lower-math="strict=true" %s | FileCheck %s --check-prefix=STRICT

// CHECK-LABEL: func @exp
// CHECK-COUNT-6: math.fma
// CHECK-NOT: math.fma
// CHECK: return
// STRICT-LABEL: func @exp
// STRICT: arith.extf
func.func @exp(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp %x {fast} : vector<8xf32>
  return %y : vector<8xf32>
}

// CHECK-LABEL: func @usual
// CHECK-COUNT-8: math.fma
// CHECK: return
func.func @usual(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp %x : vector<8xf32>
  return %y : vector<8xf32>
}

// A quotient of two polynomials.
// CHECK-LABEL: func @tanh
// CHECK: arith.divf
// CHECK-NOT: arith.divf
// CHECK-NOT: math.copysign
// CHECK: return
func.func @tanh(%x: f32) -> f32 {
  %y = math.tanh %x {fast} : f32
  return %y : f32
}

// CHECK-LABEL: func @wide
// CHECK-COUNT-10: math.fma
// CHECK: return
func.func @wide(%x: f64) -> f64 {
  %y = math.exp %x {fast} : f64
  return %y : f64
}
