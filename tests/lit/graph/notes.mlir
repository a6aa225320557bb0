// Attributes by which stages talk are declared: others, and those of another type, are refused.
// RUN: fathom-opt %s -split-input-file -verify-diagnostics

func.func @known(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.Relu(%x) {graph.name = "y"} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @unknown(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{the graph dialect has no attribute 'graph.nmae'}}
  %0 = graph.Relu(%x) {graph.nmae = "y"} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @other_type(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{'graph.name' (the model's name for the op's first result, or one derived from it) cannot be 1 : i64}}
  %0 = graph.Relu(%x) {graph.name = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
