// RUN: fathom-opt --update-weights --split-input-file %s | FileCheck %s

// Of a weight and its gradient the weight after a step, and of what is remembered what the next step gets: results have
// the names of the inputs that they are for.
// CHECK-LABEL: func @main(
// CHECK-SAME: %arg0: tensor<3xf32> {graph.name = "w"}, %arg1: tensor<3xf32> {graph.name = "w.momentum"})
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss"}, tensor<3xf32> {graph.name = "w.momentum"}, tensor<3xf32> {graph.name = "w"})
// CHECK: %[[KEPT:.*]] = graph.Mul(%arg1, %{{.*}})
// CHECK: %[[SPEED:.*]] = graph.Add(%[[KEPT]], %[[G:.*]]) {{.*}}
// CHECK: %[[STEP:.*]] = graph.Mul(%{{.*}}, %[[SPEED]])
// CHECK: %[[NOW:.*]] = graph.Sub(%arg0, %[[STEP]])
// CHECK: return %{{.*}}, %[[SPEED]], %[[NOW]]
module attributes {graph.wrt = ["w"], graph.train = "sgd:lr=0.5,momentum=0.9"} {
  func.func @main(%w: tensor<3xf32> {graph.name = "w"}) -> (tensor<f32> {graph.name = "loss"}, tensor<3xf32> {graph.name = "w.gradient"}) {
    %n = graph.None
    %0 = graph.ReduceSumSquare(%w, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<3xf32>, none) -> tensor<f32>
    %1 = graph.Add(%w, %w) {graph.name = "g"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    return %0, %1 : tensor<f32>, tensor<3xf32>
  }
}

// -----

// One rate and one number of the step for all weights.
// CHECK-LABEL: func @main(
// CHECK-SAME: "v"{{.*}}"w"{{.*}}"v.mean"{{.*}}"v.square"{{.*}}"optimizer.step"{{.*}}"optimizer.rate"{{.*}}"w.mean"{{.*}}"w.square"}) -> ({{.*}}"loss"{{.*}}"v.mean"{{.*}}"v.square"{{.*}}"v"{{.*}}"w.mean"{{.*}}"w.square"{{.*}}"w"{{.*}}"optimizer.step"}) {
module attributes {graph.wrt = ["v", "w"], graph.train = "adam:lr=input"} {
  func.func @main(%v: tensor<f32> {graph.name = "v"}, %w: tensor<f32> {graph.name = "w"}) -> (tensor<f32> {graph.name = "loss"}, tensor<f32> {graph.name = "v.gradient"}, tensor<f32> {graph.name = "w.gradient"}) {
    %0 = graph.Mul(%v, %w) {graph.name = "loss"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0, %w, %v : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
