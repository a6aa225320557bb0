// Knobs by name: those of different families that are called the same mean the same.
#include "compiler/tune/search/Levels.h"

#include "llvm/ADT/StringSwitch.h"

namespace fathom::tune {

std::optional<Level> levelOf(llvm::StringRef knob) {
  return llvm::StringSwitch<std::optional<Level>>(knob)
      .Cases({"pack_a", "rows_outer", "through_scratch", "along_inner", "unroll_w", "stored"}, Level::Form)
      .Cases({"tile", "tile_m", "tile_n", "tile_w", "tile_o", "tile_i", "groups", "lanes", "row_n", "chunk"},
             Level::Registers)
      .Cases({"item_m", "item_n", "fragments"}, Level::Registers)
      .Cases({"unroll_k", "in_flight", "streams", "rows", "trees", "steps", "exp_together", "load_ahead"},
             Level::Registers)
      .Cases({"block_m", "block_k", "block_n", "block_c", "block", "run", "stages"}, Level::Cache)
      .Cases({"task_m", "task_n", "task_h", "task_t", "task_p", "grain"}, Level::Tasks)
      .Cases({"fetch_ahead", "fetch_block", "fetch_steps", "fetch_pairs"}, Level::Manner)
      .Cases({"pack_vectors", "store_vectors", "row_apart", "score_apart", "position_apart", "factor_apart"},
             Level::Manner)
      .Cases({"short_loop", "interleaved", "tables"}, Level::Manner)
      .Default(std::nullopt);
}

bool countsLanes(llvm::StringRef knob) {
  return llvm::StringSwitch<bool>(knob).Cases({"tile_n", "tile_o", "lanes"}, true).Default(false);
}

} // namespace fathom::tune
