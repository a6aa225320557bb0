// The lines of share/tuned, which are part of the program.
#include "compiler/tune/database/Zoo.h"

#include "compiler/tune/database/EntryLines.h"

using namespace llvm;

namespace fathom::tune {

struct ZooFile {
  StringLiteral name, lines;
};
static constexpr ZooFile files[] = {
#include "compiler/tune/database/ZooFiles.inc"
};

Expected<std::unique_ptr<ScheduleDatabase>> openZoo() {
  auto database = ScheduleDatabase::inMemory(zooName);
  if (!database)
    return database.takeError();
  for (const ZooFile &file : files)
    if (Expected<int64_t> entries = importLines(**database, file.lines, file.name); !entries)
      return entries.takeError();
  return std::move(*database);
}

} // namespace fathom::tune
