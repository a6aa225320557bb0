// Data as inputs: tables with a row for each node. Row 0 is the whole; a field that is data of the same type holds the
// number of a row. What a row says of fields that its constructor does not have is never read.
#include "compiler/functional/lower/Evaluate.h"

#include "compiler/functional/syntax/Codes.h"

using namespace llvm;

namespace fathom::functional {

// A node of a table by the number of its row.
static ValueRef nodeOf(size_t table, ValueRef row) {
  auto made = std::make_shared<Value>();
  made->kind = Value::Node, made->location = table, made->parts = {std::move(row)};
  return made;
}

ValueRef Evaluator::tableInput(Type *type, const std::string &name, Place place) {
  Table table{type, typing.unifier.symbol(name + ".nodes", /*isRigid=*/true), name + ".tag", {}};
  size_t index = tables.size();
  tables.push_back(table);
  tensorInput({table.count}, ElementType::Int64, table.tag);
  for (const Constructor &constructor : typing.dataTypes.named(type->name)->constructors) {
    auto &columns = table.columns.emplace_back();
    if (constructor.fields.empty())
      continue;
    Type *made = typing.unifier.instantiate(typing.constructors[constructor.name], 0, place).type;
    typing.unifier.unify(made->parts.back(), type);
    for (auto [i, field] : enumerate(ArrayRef(made->parts).drop_back()))
      if (!columns.emplace_back(
              columnInput(field, table, name + "." + constructor.name + "." + std::to_string(i), place)))
        return nullptr;
  }
  tables[index] = std::move(table);
  return nodeOf(index, constant({ElementType::Int64, {}, {0}, {}}));
}

ValueRef Evaluator::columnInput(Type *type, const Table &table, const std::string &name, Place place) {
  type = Unifier::known(type);
  if (type->kind == Type::Tensor) {
    SmallVector<mlir::AffineExpr> sizes{table.count};
    sizes.append(type->sizes.begin(), type->sizes.end());
    return tensorInput(sizes, Unifier::known(type->parts[0])->element, name);
  }
  if (type->kind == Type::Tuple) {
    std::vector<ValueRef> parts;
    for (auto [i, part] : enumerate(type->parts))
      if (!parts.emplace_back(columnInput(part, table, name + "." + std::to_string(i), place)))
        return nullptr;
    return makeValue(Value::Tuple, std::move(parts));
  }
  if (type->kind == Type::Data && typing.unifier.spell(type) == typing.unifier.spell(table.type))
    return nodeOf(tables.size() - 1, tensorInput({table.count}, ElementType::Int64, name));
  return hint(source.error(place, notLowered) << "the fields of an input of type " << typing.unifier.spell(table.type)
                                              << " cannot be " << typing.unifier.spell(type),
              "they are tensors, tuples of them and data of the same type"),
         nullptr;
}

ValueRef Evaluator::loadFrom(const Value &column, const std::string &row, Place place) {
  if (column.kind == Value::Tensor) {
    TensorType type = column.type;
    type.sizes.erase(type.sizes.begin());
    return makeTensor(builder.one("Gather", {column.name, row}, place), std::move(type));
  }
  std::vector<ValueRef> parts;
  for (const ValueRef &part : column.parts)
    parts.push_back(loadFrom(*part, row, place));
  return withParts(column, std::move(parts));
}

ValueRef Evaluator::load(const Value &node, size_t constructor, Place place) {
  const Table &table = tables[node.location];
  std::vector<ValueRef> fields;
  for (const ValueRef &column : table.columns[constructor]) {
    ValueRef field = loadFrom(*column, joiner.nameOf(*node.parts[0]), place);
    fields.push_back(std::move(field));
  }
  auto made = std::make_shared<Value>();
  made->kind = Value::Data, made->parts = std::move(fields);
  const DataType &type = *typing.dataTypes.named(table.type->name);
  made->constructor = typing.dataTypes.constructor(type.constructors[constructor].name);
  return made;
}

ValueRef Evaluator::selectNode(const Value &node, size_t first, const std::string &tag,
                               function_ref<ValueRef(const ValueRef &)> each, Place place, bool isTail) {
  const Table &table = tables[node.location];
  if (first + 1 == table.columns.size())
    return each(load(node, first, place));
  std::string is = tag.empty() ? builder.one("Gather", {table.tag, joiner.nameOf(*node.parts[0])}, place) : tag;
  std::string number = builder.constant({ElementType::Int64, {}, {int64_t(first)}, {}});
  return decide(
      makeTensor(builder.one("Equal", {is, number}, place), {ElementType::Bool, {}}),
      [&] { return each(load(node, first, place)); },
      [&] { return selectNode(node, first + 1, is, each, place, isTail); }, place, isTail);
}

} // namespace fathom::functional
