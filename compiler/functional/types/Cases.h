// Whether the arms of a match leave out a value, and whether one of them can ever be taken.
#pragma once

#include "compiler/functional/types/DataTypes.h"

namespace fathom::functional {

// A value that a row of patterns matches and none of the rows before does, as a pattern for each column; nullopt when
// there is none. A null pattern matches everything.
std::optional<std::vector<std::string>> valueBeyond(const DataTypes &types,
                                                    const std::vector<std::vector<const Pattern *>> &rows,
                                                    std::vector<const Pattern *> row);

} // namespace fathom::functional
