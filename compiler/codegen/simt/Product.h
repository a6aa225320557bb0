// Products and convolutions of work items in their plain form.
#pragma once

#include "compiler/codegen/common/KernelBody.h"
#include "compiler/schedule/Product.h"

namespace fathom {

Grid emitProduct(KernelBody &k, const ProductSchedule &schedule);

} // namespace fathom
