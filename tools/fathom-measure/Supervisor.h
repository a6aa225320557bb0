// Keeps what candidates do to their process from everything else.
#pragma once

#include "tools/fathom-measure/Group.h"

namespace fathom::measure {

// Measures a group in processes of their own and prints what is found to stdout. A candidate that crashes or hangs is
// told as such, and the others are measured without it.
void supervise(const Group &group);

} // namespace fathom::measure
