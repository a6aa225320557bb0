// fathom db: what a database of schedules has, and its way into others.
#include "compiler/driver/Manifest.h"
#include "compiler/package/OutputFile.h"
#include "compiler/tune/database/EntryLines.h"
#include "compiler/tune/database/Locate.h"
#include "tools/fathom/Commands.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace fathom::tune;

namespace fathom {
namespace {

constexpr size_t shownOfId = 12;

std::string spellCost(const Entry &entry) {
  if (entry.samples)
    return formatv("{0:f1} us", entry.nanoseconds / 1e3);
  return formatv("{0:f0} cycles", entry.cycles);
}

std::string spellTime(int64_t seconds) {
  return formatv("{0:%Y-%m-%d %H:%M} UTC", sys::UtcTime<std::chrono::seconds>(std::chrono::seconds(seconds)));
}

json::Object describeWithId(const Entry &entry) {
  json::Object described = describe(entry);
  described["id"] = entry.id();
  return described;
}

Expected<int> list(ScheduleDatabase &database, const Arguments &arguments) {
  json::Array all;
  int64_t count = 0;
  bool asJson = arguments.options.flag("json");
  Error error = database.visit({}, [&](const Entry &entry) {
    ++count;
    if (asJson)
      all.push_back(describeWithId(entry));
    else
      outs() << formatv("{0}  {1,-14} {2,-20} {3} --fp {4}, {5} threads: {6} ({7})\n",
                        StringRef(entry.id()).take_front(shownOfId), printable(entry.kernelClass),
                        printSizes(entry.sizes), printable(entry.target), name(entry.fp), entry.threads,
                        spellCost(entry), name(entry.found));
    return Error::success();
  });
  if (error)
    return std::move(error);
  if (asJson)
    printJson(std::move(all), /*oneLine=*/true);
  else
    notes() << count << " entries in " << printable(database.name()) << "\n";
  return 0;
}

void printEntry(const Entry &entry) {
  auto line = [](StringRef name, const Twine &value) {
    outs() << formatv("  {0,-12}{1}\n", name, printable(value.str()));
  };
  outs() << "entry " << entry.id() << "\n";
  line("class", entry.kernelClass);
  line("sizes", printSizes(entry.sizes));
  line("target", entry.target);
  line("machine", entry.machine.empty() ? "not known" : entry.machine);
  line("generator", entry.generator);
  line("fp", fathom::name(entry.fp));
  line("threads", Twine(entry.threads));
  line("schedule", printSchedule(entry.schedule));
  line("found", name(entry.found) + ", " + spellTime(entry.time));
  if (entry.cycles > 0)
    line("estimated", formatv("{0:f0} cycles", entry.cycles).str());
  if (entry.samples)
    line("measured", formatv("{0} ns, the median of {1}; {2} ns between the quartiles", entry.nanoseconds,
                             entry.samples, entry.spread)
                         .str());
  if (!entry.provenance.empty())
    line("provenance", entry.provenance);
  outs() << "kernel " << hashOf(entry.kernel) << "\n";
  for (StringRef text : split(entry.kernel, '\n'))
    outs() << "  " << printable(text) << "\n";
}

Expected<int> show(ScheduleDatabase &database, const Arguments &arguments) {
  StringRef id = arguments.positional[1];
  Expected<std::vector<Entry>> found = database.find(id);
  if (!found)
    return found.takeError();
  if (found->size() != 1)
    return fail(ErrorCode::BadEntry,
                found->empty() ? "there is no entry '" + id + "' in '" + database.name() + "'"
                               : Twine(found->size()) + " entries begin with '" + id + "'",
                "'fathom db list' shows how all of them begin");
  const Entry &entry = found->front();
  if (!arguments.options.flag("json")) {
    printEntry(entry);
    return 0;
  }
  json::Object described = describeWithId(entry);
  described["text"] = entry.kernel;
  printJson(std::move(described), /*oneLine=*/true);
  return 0;
}

Expected<int> exportAll(ScheduleDatabase &database, const Arguments &arguments) {
  std::string output = arguments.options.text("output");
  if (output.empty() || output == "-") {
    if (Error error = exportLines(database, outs()))
      return std::move(error);
    return 0;
  }
  std::string text;
  raw_string_ostream out(text);
  if (Error error = exportLines(database, out))
    return std::move(error);
  if (Error error = writeFile(output, [&](raw_ostream &file) { file << text; }))
    return fail(ErrorCode::FileUnwritable, toString(std::move(error)));
  return 0;
}

Expected<int> import(ScheduleDatabase &database, const Arguments &arguments) {
  const std::string &path = arguments.positional[1];
  ErrorOr<std::unique_ptr<MemoryBuffer>> text = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!text)
    return fail(ErrorCode::FileUnreadable, "cannot read '" + path + "': " + text.getError().message());
  Expected<int64_t> entries = importLines(database, (*text)->getBuffer(), path);
  if (!entries)
    return entries.takeError();
  notes() << *entries << " entries read from " << printable(path) << "\n";
  return 0;
}

Expected<int> merge(ScheduleDatabase &database, const Arguments &arguments) {
  auto other = openToRead({arguments.positional[1]});
  if (!other)
    return other.takeError();
  Expected<int64_t> entries = mergeFrom(database, **other);
  if (!entries)
    return entries.takeError();
  notes() << *entries << " entries read from " << printable(arguments.positional[1]) << "\n";
  return 0;
}

Expected<int> prune(ScheduleDatabase &database, const Arguments &arguments) {
  Expected<int64_t> removed = database.prune(generatorVersion, arguments.options.integer("keep"));
  if (!removed)
    return removed.takeError();
  notes() << *removed << " entries removed\n";
  return 0;
}

struct Action {
  StringLiteral name, operand; // no operand: an empty text
  Access access;
  bool makes; // a database that is missing
  Expected<int> (*run)(ScheduleDatabase &database, const Arguments &arguments);
};

constexpr Action actions[] = {
    {"list", "", Access::Read, false, list},        {"show", "ENTRY", Access::Read, false, show},
    {"export", "", Access::Read, false, exportAll}, {"import", "FILE", Access::Write, true, import},
    {"merge", "OTHER", Access::Write, true, merge}, {"prune", "", Access::Write, false, prune}};

} // namespace

Expected<int> databaseCommand(const Arguments &arguments) {
  StringRef word = arguments.positional[0];
  const Action *action = find_if(actions, [&](const Action &known) { return known.name == word; });
  auto usage = [](const Twine &message) {
    return fail(usageError, message, "'fathom db --help' says what each action takes");
  };
  if (action == std::end(actions))
    return usage("'fathom db' has no action '" + word + "'");
  if (arguments.positional.size() == 1 && !action->operand.empty())
    return usage(action->operand + " is missing");
  if (arguments.positional.size() == 2 && action->operand.empty())
    return usage("unexpected argument '" + arguments.positional[1] + "'");
  std::optional<DatabaseFile> file = locate(arguments.options.text("db"));
  if (!file)
    return usage("no database is named: --db, or else FATHOM_DB, is 'none', or there is no home folder");
  if (!action->makes && file->isMissing())
    return fail(ErrorCode::FileUnreadable, "there is no database '" + file->path + "'",
                "'fathom db import' and 'merge' make one");
  auto database = action->access == Access::Read ? openToRead(*file) : openToWrite(*file);
  if (!database)
    return database.takeError();
  return action->run(**database, arguments);
}

} // namespace fathom
