// What is left of math functions: arithmetic and the ops that are instructions.
// RUN: fathom-opt --lower-math %s | FileCheck %s
// RUN: fathom-opt --lower-math="fma=false rounding=false" %s | \
// RUN:   FileCheck %s --check-prefix=BASE --implicit-check-not=math.f --implicit-check-not=math.exp --implicit-check-not=arith.remf
// RUN: fathom-opt --lower-math="strict=true" %s | FileCheck %s --check-prefix=STRICT

// The square root and a division, in the type itself.
// CHECK-LABEL: func @rsqrt
// CHECK: %[[one:.*]] = arith.constant dense<1.000000e+00> : vector<16xf32>
// CHECK: %[[root:.*]] = math.sqrt %{{.*}} : vector<16xf32>
// CHECK: arith.divf %[[one]], %[[root]] : vector<16xf32>
// STRICT-LABEL: func @rsqrt
// STRICT: arith.extf %{{.*}} : vector<16xf32> to vector<16xf64>
// STRICT: math.sqrt %{{.*}} : vector<16xf64>
// STRICT: arith.truncf %{{.*}} : vector<16xf64> to vector<16xf32>
func.func @rsqrt(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.rsqrt %x : vector<16xf32>
  return %y : vector<16xf32>
}

// No conversion to an integer, which would be undefined for large arguments.
// CHECK-LABEL: func @exp
// CHECK-NOT: arith.fptosi
// CHECK: math.fma
// CHECK-NOT: math.exp
// CHECK: return
// BASE-LABEL: func @exp
// BASE: arith.mulf
func.func @exp(%x: vector<3xf32>) -> vector<3xf32> {
  %y = math.exp %x : vector<3xf32>
  return %y : vector<3xf32>
}

// Instructions stay where the target has them.
// CHECK-LABEL: func @instructions
// CHECK-DAG: math.absf
// CHECK-DAG: math.floor
// CHECK-DAG: math.fma
// CHECK-DAG: math.copysign
// BASE-LABEL: func @instructions
// BASE-DAG: math.absf
// BASE-DAG: math.copysign
func.func @instructions(%x: f64, %y: f64) -> (f64, f64, f64, f64) {
  %a = math.absf %x : f64
  %b = math.floor %x : f64
  %c = math.fma %x, %y, %a : f64
  %d = math.copysign %b, %y : f64
  return %a, %b, %c, %d : f64, f64, f64, f64
}

// CHECK-LABEL: func @remainder
// CHECK-NOT: arith.remf
// CHECK: return
func.func @remainder(%x: vector<4xf32>, %y: vector<4xf32>) -> vector<4xf32> {
  %z = arith.remf %x, %y : vector<4xf32>
  return %z : vector<4xf32>
}
