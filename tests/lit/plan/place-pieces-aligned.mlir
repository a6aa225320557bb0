// Kernels of devices count on where a tensor begins: what would begin elsewhere in another is copied.
// RUN: fathom-opt --place-pieces --target=opencl %s | FileCheck --check-prefixes=ALL,DEVICE %s
// RUN: fathom-opt --place-pieces --target=cuda:sm_90 %s | FileCheck --check-prefixes=ALL,DEVICE %s
// RUN: fathom-opt --place-pieces --target=neoverse-v1 %s | FileCheck --check-prefixes=ALL,CPU %s

// ALL-LABEL: func.func @slices
func.func @slices(%x: tensor<4100xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %n = graph.None
  %one = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %four = graph.Constant dense<4> : tensor<1xi64> as tensor<1xi64>
  %most = graph.Constant dense<4097> : tensor<1xi64> as tensor<1xi64>
  %end = graph.Constant dense<4100> : tensor<1xi64> as tensor<1xi64>
  %y = graph.Neg(%x) {graph.name = "y"} : (tensor<4100xf32>) -> tensor<4100xf32>
  // DEVICE: graph.Slice({{.*}}) {graph.name = "odd"}
  // CPU: graph.Slice({{.*}}) {graph.in_place, graph.name = "odd"}
  %a = graph.Slice(%y, %one, %most, %n, %n) {graph.name = "odd"} : (tensor<4100xf32>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<4096xf32>
  // ALL: graph.Slice({{.*}}) {graph.in_place, graph.name = "even"}
  %b = graph.Slice(%y, %four, %end, %n, %n) {graph.name = "even"} : (tensor<4100xf32>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<4096xf32>
  %c = graph.Softmax(%a) {axis = 0 : i64, graph.name = "c"} : (tensor<4096xf32>) -> tensor<4096xf32>
  %d = graph.Softmax(%b) {axis = 0 : i64, graph.name = "d"} : (tensor<4096xf32>) -> tensor<4096xf32>
  return %c, %d : tensor<4096xf32>, tensor<4096xf32>
}

// ALL-LABEL: func.func @concats
func.func @concats(%x: tensor<64xf32>, %z: tensor<65xf32>) -> (tensor<128xf32>, tensor<129xf32>) {
  %a = graph.Exp(%x) {graph.name = "a"} : (tensor<64xf32>) -> tensor<64xf32>
  %b = graph.Neg(%x) {graph.name = "b"} : (tensor<64xf32>) -> tensor<64xf32>
  // ALL: graph.Concat({{.*}}) {axis = 0 : i64, graph.in_place, graph.name = "even"}
  %even = graph.Concat(%a, %b) {axis = 0 : i64, graph.name = "even"} : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
  %c = graph.Exp(%z) {graph.name = "c"} : (tensor<65xf32>) -> tensor<65xf32>
  %d = graph.Tanh(%x) {graph.name = "d"} : (tensor<64xf32>) -> tensor<64xf32>
  // DEVICE: graph.Concat({{.*}}) {axis = 0 : i64, graph.name = "odd"}
  // CPU: graph.Concat({{.*}}) {axis = 0 : i64, graph.in_place, graph.name = "odd"}
  %odd = graph.Concat(%c, %d) {axis = 0 : i64, graph.name = "odd"} : (tensor<65xf32>, tensor<64xf32>) -> tensor<129xf32>
  return %even, %odd : tensor<128xf32>, tensor<129xf32>
}
