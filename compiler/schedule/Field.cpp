// What names of knobs say where their fields state nothing else.
#include "compiler/schedule/Field.h"

namespace fathom {

Level Knob::level() const {
  if (ownLevel)
    return *ownLevel;
  if (relation.inVectors || name.starts_with("tile") || name.starts_with("item_"))
    return Level::Registers;
  if (name.starts_with("block"))
    return Level::Cache;
  return name.starts_with("task_") || name == "grain" ? Level::Tasks : Level::Manner;
}

} // namespace fathom
