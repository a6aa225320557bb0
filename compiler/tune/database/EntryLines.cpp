// Entries to lines of JSON and back.
#include "compiler/tune/database/EntryLines.h"

#include "compiler/support/Failure.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace fathom::tune {

// The first line says what the others are.
static constexpr StringLiteral formatKey = "fathom-schedules";
static constexpr int64_t formatVersion = 1;

json::Object describe(const Entry &entry) {
  json::Object schedule;
  for (const auto &[name, value] : entry.schedule.knobs)
    schedule[name] = value;
  return json::Object{
      {"kernel", hashOf(entry.kernel)},   {"class", entry.kernelClass}, {"sizes", json::Array(entry.sizes)},
      {"target", entry.target},           {"machine", entry.machine},   {"generator", entry.generator},
      {"fp", fathom::name(entry.fp)},     {"threads", entry.threads},   {"schedule", std::move(schedule)},
      {"found", name(entry.found)},       {"cycles", entry.cycles},     {"samples", entry.samples},
      {"nanoseconds", entry.nanoseconds}, {"spread", entry.spread},     {"time", entry.time},
      {"provenance", entry.provenance}};
}

Error exportLines(ScheduleDatabase &database, raw_ostream &out) {
  auto print = [&](json::Object object) { out << json::Value(std::move(object)) << "\n"; };
  print(json::Object{{formatKey, formatVersion}});
  StringSet<> printed;
  return database.visit({}, [&](const Entry &entry) {
    json::Object line = describe(entry);
    StringRef hash = *line.getString("kernel");
    if (printed.insert(hash).second)
      print(json::Object{{"kernel", hash}, {"text", entry.kernel}});
    print(std::move(line));
    return Error::success();
  });
}

// LLVM's parser calls itself for each level of brackets.
static bool nestsDeeply(StringRef line) {
  constexpr int deepest = 4;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i)
    if (quoted && line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      quoted = !quoted;
    else if (!quoted && (line[i] == '[' || line[i] == '{') && ++depth > deepest)
      return true;
    else if (!quoted && (line[i] == ']' || line[i] == '}'))
      --depth;
  return false;
}

namespace {

// Reads the members of a line; the first problem is the one that is told.
class LineReader {
public:
  LineReader(const json::Object &line, const Twine &where) : line(line), where(where.str()) {}

  StringRef text(StringRef key) { return need(line.getString(key), key, "text").value_or(""); }
  int64_t integer(StringRef key) { return need(line.getInteger(key), key, "a whole number").value_or(0); }
  double number(StringRef key) { return need(line.getNumber(key), key, "a number").value_or(0); }
  Entry entry(const StringMap<std::string> &kernels);
  Error takeProblem() { return problem.empty() ? Error::success() : fail(ErrorCode::BadEntry, where + ": " + problem); }

private:
  void complain(const Twine &message) {
    if (problem.empty())
      problem = message.str();
  }
  template <typename T> std::optional<T> need(std::optional<T> value, StringRef key, StringRef kind) {
    if (!value)
      complain("'" + key + "' is missing or not " + kind);
    return value;
  }
  std::vector<int64_t> sizes();
  Schedule schedule();

  const json::Object &line;
  std::string where, problem;
};

std::vector<int64_t> LineReader::sizes() {
  std::vector<int64_t> sizes;
  const json::Array *list = line.getArray("sizes");
  if (!list)
    complain("'sizes' is missing or not a list");
  else
    for (const json::Value &size : *list)
      sizes.push_back(need(size.getAsInteger(), "sizes", "a list of whole numbers").value_or(0));
  return sizes;
}

Schedule LineReader::schedule() {
  Schedule schedule;
  const json::Object *knobs = line.getObject("schedule");
  if (!knobs)
    complain("'schedule' is missing or not an object");
  else
    for (const auto &[name, value] : *knobs)
      schedule.set(StringRef(name), need(value.getAsInteger(), StringRef(name), "a whole number").value_or(0));
  llvm::sort(schedule.knobs);
  return schedule;
}

Entry LineReader::entry(const StringMap<std::string> &kernels) {
  Entry entry;
  if (auto kernel = kernels.find(text("kernel")); kernel != kernels.end())
    entry.kernel = kernel->second;
  else
    complain("no line before it has the kernel '" + text("kernel") + "'");
  entry.kernelClass = text("class");
  entry.sizes = sizes();
  entry.target = text("target");
  entry.machine = text("machine");
  entry.generator = text("generator");
  entry.fp = parseFloatMode(text("fp"));
  if (fathom::name(entry.fp) != text("fp"))
    complain("'fp' is '" + text("fp") + "'");
  entry.threads = integer("threads");
  entry.schedule = schedule();
  std::optional<Found> found = parseFound(text("found"));
  if (!found)
    complain("'found' is '" + text("found") + "'");
  entry.found = found.value_or(Found::Draft);
  entry.cycles = number("cycles");
  entry.samples = integer("samples");
  entry.nanoseconds = number("nanoseconds");
  entry.spread = number("spread");
  entry.time = integer("time");
  entry.provenance = text("provenance");
  return entry;
}

} // namespace

static Expected<json::Object> parseLine(StringRef line, const Twine &where) {
  if (nestsDeeply(line))
    return fail(ErrorCode::BadEntry, where + " nests too deeply");
  Expected<json::Value> value = json::parse(line);
  if (!value)
    return fail(ErrorCode::BadEntry, where + " is not JSON: " + toString(value.takeError()));
  if (json::Object *object = value->getAsObject())
    return std::move(*object);
  return fail(ErrorCode::BadEntry, where + " is not an object");
}

static Error checkHeader(const json::Object &header, StringRef fileName) {
  std::optional<int64_t> version = header.getInteger(formatKey);
  if (!version)
    return fail(ErrorCode::BadEntry, "'" + fileName + "' does not begin with a line {\"" + formatKey + "\": ...}",
                "'fathom db export' writes what 'import' reads");
  if (*version != formatVersion)
    return fail(ErrorCode::BadEntry, "'" + fileName + "' has version " + Twine(*version) +
                                         " of lines of schedules, and this fathom reads version " +
                                         Twine(formatVersion));
  return Error::success();
}

static Error addKernel(const json::Object &line, const Twine &where, StringMap<std::string> &kernels) {
  LineReader reader(line, where);
  StringRef hash = reader.text("kernel"), text = reader.text("text");
  if (Error error = reader.takeProblem())
    return error;
  if (hashOf(text) != hash)
    return fail(ErrorCode::BadEntry, where + ": '" + hash + "' is not the hash of the kernel's text",
                "it is " + hashOf(text));
  kernels[hash] = text.str();
  return Error::success();
}

Expected<int64_t> importLines(ScheduleDatabase &database, StringRef text, StringRef fileName) {
  int64_t entries = 0;
  StringMap<std::string> kernels;
  auto insertAll = [&](ScheduleDatabase::Insert insert) -> Error {
    bool begun = false;
    StringRef rest = text;
    for (int64_t number = 1; !rest.empty(); ++number) {
      StringRef line;
      std::tie(line, rest) = rest.split('\n');
      if (line.trim().empty())
        continue;
      std::string where = ("line " + Twine(number) + " of '" + fileName + "'").str();
      Expected<json::Object> object = parseLine(line, where);
      if (!object)
        return object.takeError();
      if (!std::exchange(begun, true)) {
        if (Error error = checkHeader(*object, fileName))
          return error;
        continue;
      }
      if (object->get("text")) {
        if (Error error = addKernel(*object, where, kernels))
          return error;
        continue;
      }
      LineReader reader(*object, where);
      Entry entry = reader.entry(kernels);
      if (Error error = reader.takeProblem())
        return error;
      if (Error error = checkEntry(entry))
        return fail(ErrorCode::BadEntry, where + ": " + toString(std::move(error)));
      if (Error error = insert(entry))
        return error;
      ++entries;
    }
    return begun ? Error::success() : checkHeader({}, fileName);
  };
  if (Error error = database.write(insertAll))
    return std::move(error);
  return entries;
}

Expected<int64_t> mergeFrom(ScheduleDatabase &database, ScheduleDatabase &other) {
  int64_t entries = 0;
  auto insertAll = [&](ScheduleDatabase::Insert insert) {
    return other.visit({}, [&](const Entry &entry) -> Error {
      if (Error error = checkEntry(entry))
        return fail(ErrorCode::BadEntry, "entry " + StringRef(entry.id()).take_front(12) + " of '" + other.name() +
                                             "': " + toString(std::move(error)));
      ++entries;
      return insert(entry);
    });
  };
  if (Error error = database.write(insertAll))
    return std::move(error);
  return entries;
}

} // namespace fathom::tune
