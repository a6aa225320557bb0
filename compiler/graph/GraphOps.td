// All families of the graph dialect, for the table generator.
include "ElementwiseOps.td"
include "MovementOps.td"
include "ReductionOps.td"
include "QuantizedOps.td"
include "ControlOps.td"
include "SequenceOps.td"
