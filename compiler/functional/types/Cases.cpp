// The usefulness of a row of patterns behind others (Maranget, "Warnings for pattern matching", 2007).
#include "compiler/functional/types/Cases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace fathom::functional {
namespace {

using Row = std::vector<const Pattern *>;
using Witness = std::optional<std::vector<std::string>>;

bool isRefutable(const Pattern *pattern) {
  return pattern && (pattern->kind == Pattern::Constructor || pattern->kind == Pattern::Tuple);
}

class Usefulness {
public:
  explicit Usefulness(const DataTypes &types) : types(types) {}

  Witness find(const std::vector<Row> &rows, const Row &row) {
    if (row.empty())
      return rows.empty() ? Witness(std::in_place) : std::nullopt;
    // Every row may double the cases. None that a person wrote comes near.
    if (++steps > 100'000)
      return std::nullopt;
    const Pattern *first = row.front(), *shaped = first;
    for (const Row &other : rows)
      if (!isRefutable(shaped))
        shaped = other.front();
    if (!isRefutable(shaped))
      return wrap(find(without(rows), Row(row.begin() + 1, row.end())), "_", 0);
    if (shaped->kind == Pattern::Tuple)
      return findIn(rows, row, "", shaped->parts.size());
    const DataType &type = *types.constructor(shaped->name)->type;
    for (const Constructor &constructor : type.constructors)
      if (!isRefutable(first) || first->name == constructor.name)
        if (Witness found = findIn(rows, row, constructor.name, constructor.fields.size()))
          return found;
    return std::nullopt;
  }

private:
  // The rows that match a constructor, its fields in front.
  static std::optional<Row> specialize(const Row &row, StringRef name, size_t fields) {
    const Pattern *first = row.front();
    Row made(fields, nullptr);
    if (isRefutable(first)) {
      if (first->name != name || first->parts.size() != fields)
        return std::nullopt;
      made.assign(first->parts.begin(), first->parts.end());
    }
    made.insert(made.end(), row.begin() + 1, row.end());
    return made;
  }
  Witness findIn(const std::vector<Row> &rows, const Row &row, StringRef name, size_t fields) {
    std::vector<Row> inside;
    for (const Row &other : rows)
      if (std::optional<Row> made = specialize(other, name, fields))
        inside.push_back(std::move(*made));
    std::optional<Row> made = specialize(row, name, fields);
    return made ? wrap(find(inside, *made), name, fields) : std::nullopt;
  }
  static std::vector<Row> without(const std::vector<Row> &rows) {
    std::vector<Row> rest;
    for (const Row &row : rows)
      rest.emplace_back(row.begin() + 1, row.end());
    return rest;
  }
  static Witness wrap(Witness inside, StringRef name, size_t fields) {
    if (!inside)
      return inside;
    std::string text = name.str();
    if (fields || name.empty())
      text += "(" + join(ArrayRef(*inside).take_front(fields), ", ") + ")";
    inside->erase(inside->begin(), inside->begin() + fields);
    inside->insert(inside->begin(), text);
    return inside;
  }

  const DataTypes &types;
  unsigned steps = 0;
};

} // namespace

std::optional<std::vector<std::string>> valueBeyond(const DataTypes &types, const std::vector<Row> &rows, Row row) {
  return Usefulness(types).find(rows, row);
}

} // namespace fathom::functional
