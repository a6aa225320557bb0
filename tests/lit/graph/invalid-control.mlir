// What the verifiers of branches, loops and sizes from data refuse.
// RUN: fathom-opt %s -split-input-file -verify-diagnostics

func.func @positions(%n: tensor<2xi64>) {
  // expected-error @below {{'graph.Pin' op gives 2 positions for 1 symbols}}
  graph.Pin(%n)[[0, 1]] as [[0]] : tensor<2xi64>
  return
}

// -----

func.func @floats(%n: tensor<2xf32>) {
  // expected-error @below {{'graph.Pin' op reads an integer tensor of static size, not 'tensor<2xf32>'}}
  graph.Pin(%n)[[0]] as [[0]] : tensor<2xf32>
  return
}

// -----

func.func @outside(%n: tensor<2xi64>) {
  // expected-error @below {{'graph.Pin' op reads element 2 of 2}}
  graph.Pin(%n)[[2]] as [[0]] : tensor<2xi64>
  return
}

// -----

func.func @symbol(%n: tensor<2xi64>) {
  // expected-error @below {{'graph.Pin' op names symbol -1}}
  graph.Pin(%n)[[0]] as [[-1]] : tensor<2xi64>
  return
}

// -----

func.func @condition(%c: tensor<2xi1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.If' op needs one bool as its condition}}
  %0 = graph.If(%c) as [[]] : (tensor<2xi1>) -> tensor<3xf32> {
    graph.Yield(%x : tensor<3xf32>)
  } else {
    graph.Yield(%x : tensor<3xf32>)
  }
  return
}

// -----

func.func @branches(%c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.If' op yields 0 values, not 1}}
  %0 = graph.If(%c) as [[]] : (tensor<i1>) -> tensor<3xf32> {
    graph.Yield(%x : tensor<3xf32>)
  } else {
    graph.Yield
  }
  return
}

// -----

func.func @branchrank(%c: tensor<i1>, %x: tensor<3xf32>, %y: tensor<1x3xf32>) {
  // expected-error @below {{'graph.If' op yields 'tensor<1x3xf32>' for a result of type 'tensor<3xf32>'}}
  %0 = graph.If(%c) as [[]] : (tensor<i1>) -> tensor<3xf32> {
    graph.Yield(%x : tensor<3xf32>)
  } else {
    graph.Yield(%y : tensor<1x3xf32>)
  }
  return
}

// -----

func.func @trip(%m: tensor<i32>) {
  %none = graph.None
  // expected-error @below {{'graph.Loop' op needs one i64 as the number of iterations}}
  graph.Loop(%m, %none) as [[]] [[]] : (tensor<i32>, none) -> () {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>):
    graph.Yield(%go : tensor<i1>)
  }
  return
}

// -----

func.func @carried(%m: tensor<i64>, %x: tensor<3xf32>) {
  %none = graph.None
  // expected-error @below {{'graph.Loop' op carries 1 values, but its body takes 2 and it has 1 results}}
  %0 = graph.Loop(%m, %none, %x) as [[]] [[]] : (tensor<i64>, none, tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>):
    graph.Yield(%go, %x : tensor<i1>, tensor<3xf32>)
  }
  return
}

// -----

func.func @carriedtype(%m: tensor<i64>, %x: tensor<3xf32>) {
  %none = graph.None
  // expected-error @below {{'graph.Loop' op carries 'tensor<3xf32>' into a body that takes 'tensor<3xi32>'}}
  %0 = graph.Loop(%m, %none, %x) as [[]] [[]] : (tensor<i64>, none, tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<3xi32>):
    graph.Yield(%go, %x : tensor<i1>, tensor<3xf32>)
  }
  return
}

// -----

func.func @slices(%m: tensor<i64>, %x: tensor<3xf32>) {
  %none = graph.None
  // expected-error @below {{'graph.Loop' op yields 'tensor<3xf32>' for a result of type 'tensor<3xf32>'}}
  %0 = graph.Loop(%m, %none) as [[]] [[]] : (tensor<i64>, none) -> tensor<3xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>):
    graph.Yield(%go, %x : tensor<i1>, tensor<3xf32>)
  }
  return
}

// -----

func.func @starts(%x: tensor<4x3xf32>, %from: tensor<2xi64>) {
  %sizes = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  // expected-error @below {{[F1008] DynamicSlice: starts, sizes, axes and steps differ in length}}
  %0 = graph.DynamicSlice(%x, %from, %sizes) {axes = array<i64: 0>, steps = array<i64: 1>} : (tensor<4x3xf32>, tensor<2xi64>, tensor<1xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @count(%x: tensor<4x3xf32>, %n: tensor<i64>) {
  // expected-error @below {{[F3004] NonZero: count decides about sizes but is only known when the model runs}}
  // expected-note @below {{hint: only values computed from constants and from the sizes of tensors are known at compile time}}
  %0 = graph.NonZero(%x, %n) : (tensor<4x3xf32>, tensor<i64>) -> tensor<2x1xi64>
  return
}

// -----

func.func @boxes(%boxes: tensor<1x9x5xf32>, %scores: tensor<1x2x9xf32>, %order: tensor<1x2x9xi64>, %most: tensor<i64>) {
  %none = graph.None
  // expected-error @below {{[F1008] NonMaxSuppression: a box and its coordinates must have equal sizes, but have 5 and 4}}
  %0:2 = graph.NonMaxSuppression(%boxes, %scores, %order, %most, %none, %none) : (tensor<1x9x5xf32>, tensor<1x2x9xf32>, tensor<1x2x9xi64>, tensor<i64>, none, none) -> (tensor<1x2x9x3xi64>, tensor<1x2xi64>)
  return
}

// -----

func.func @cache(%cache: tensor<2x8x3xf32>, %new: tensor<2x9x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1008] TensorScatter: update is longer than the cache}}
  %0 = graph.TensorScatter(%cache, %new, %none) : (tensor<2x8x3xf32>, tensor<2x9x3xf32>, none) -> tensor<2x8x3xf32>
  return
}

// -----

func.func @unique(%x: tensor<2x3x4xf32>) {
  // expected-error @below {{[F1008] Unique: a vector or a matrix is needed}}
  %0:4 = graph.Unique(%x) : (tensor<2x3x4xf32>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<1xi64>)
  return
}

// -----

func.func @nodes(%x: tensor<5x3xf64>, %n: tensor<7x2xi32>, %t: tensor<1x4xi32>, %w: tensor<4x1xf64>) {
  // expected-error @below {{nodes, trees or weights do not have the form of a table}}
  graph.TreeEnsemble(%x, %n, %t, %w) {targets = 1 : i64} : (tensor<5x3xf64>, tensor<7x2xi32>, tensor<1x4xi32>, tensor<4x1xf64>) -> tensor<5x1xf64>
  return
}

// -----

func.func @aggregate(%x: tensor<5x3xf32>, %n: tensor<7x2xi32>, %t: tensor<1x4xi32>, %w: tensor<4x1xf32>) {
  // expected-error @below {{aggregate 'MEDIAN' is not known}}
  graph.TreeEnsemble(%x, %n, %t, %w) {aggregate = "MEDIAN", targets = 1 : i64} : (tensor<5x3xf32>, tensor<7x2xi32>, tensor<1x4xi32>, tensor<4x1xf32>) -> tensor<5x1xf32>
  return
}
