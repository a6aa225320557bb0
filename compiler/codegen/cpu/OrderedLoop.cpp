// An iteration is given the vectors that begin it and loads those of the next; the last one, which has none, is apart.
#include "compiler/codegen/cpu/OrderedLoop.h"

#include "compiler/codegen/common/AssemblyLoop.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace fathom {

// What AArch64 adds to an address at once: 12 bits.
constexpr int64_t mostAdded = (1 << 12) - 1;

bool OrderedLoop::order(int64_t sums, int64_t distance, const Target &target) {
  SmallVector<VectorUse> uses(loads.size(), {-1, -1});
  for (auto [at, multiplyAdd] : llvm::enumerate(body))
    for (int64_t load : {multiplyAdd.vector, multiplyAdd.factors}) {
      uses[load].last = at;
      if (uses[load].first < 0)
        uses[load].first = at;
    }
  sorted = llvm::to_vector(llvm::seq<int64_t>(loads.size()));
  llvm::sort(sorted, [&](int64_t x, int64_t y) { return std::pair(uses[x].first, x) < std::pair(uses[y].first, y); });
  SmallVector<VectorUse> inOrder = llvm::map_to_vector(sorted, [&](int64_t load) { return uses[load]; });
  // One more register for the copies that LLVM makes around the loop: without it, sums pass through memory there.
  std::optional<LoadOrder> found = orderLoads(inOrder, body.size(), target.vectorRegisters - sums - 1, distance);
  if (found)
    loadOrder = *found;
  return found && llvm::all_of(streams, [](const Stream &stream) { return stream.bytes <= mostAdded; });
}

// The assembler's operands are numbered: sums, registers of vectors, then addresses and the count of iterations.
struct OrderedLoop::Text {
  const OrderedLoop &loop;
  int64_t sums;
  int64_t vectors = 1 + *llvm::max_element(loop.loadOrder.place);
  SmallVector<int64_t> places = SmallVector<int64_t>(loop.loads.size()); // registers of the loads
  std::string text;

  Text(const OrderedLoop &loop, int64_t sums, bool fromZero) : loop(loop), sums(sums) {
    for (auto [number, place] : llvm::enumerate(loop.loadOrder.place))
      places[loop.sorted[number]] = place;
    for (int64_t number = 0; number < loop.loadOrder.carried; ++number)
      load(number, /*later=*/false);
    if (fromZero)
      for (int64_t sum = 0; sum < sums; ++sum)
        line("movi ${0}.2d, #0", sum);
    line("cbz ${0}, 2f", count());
    line("1:");
    iteration(/*isLast=*/false);
    line("b.ne 1b");
    line("2:");
    iteration(/*isLast=*/true);
  }

  int64_t vector(int64_t load) const { return sums + places[load]; }
  int64_t address(int64_t stream) const { return sums + vectors + stream; }
  int64_t count() const { return address(loop.streams.size()); }
  template <typename... Values> void line(const char *format, Values... values) {
    text += llvm::formatv(format, values...).str() + "\n";
  }

  void load(int64_t number, bool later) {
    int64_t load = loop.sorted[number], stream = loop.loads[load].stream;
    line("ldr ${{{0}:q}, [${1}, #{2}]", vector(load), address(stream),
         loop.loads[load].bytes + (later ? loop.streams[stream].bytes : 0));
  }

  void iteration(bool isLast) {
    for (const Load &fetched : loop.ahead)
      line("prfm pldl2keep, [${0}, #{1}]", address(fetched.stream), fetched.bytes);
    if (!isLast)
      line("subs ${0}, ${0}, #1", count());
    for (auto [at, todo] : llvm::enumerate(loop.body)) {
      line("fmla ${0}.4s, ${1}.4s, ${2}.s[{3}]", todo.sum, vector(todo.vector), vector(todo.factors), todo.lane);
      for (auto [number, behind] : llvm::enumerate(loop.loadOrder.behind))
        if (bool later = int64_t(number) < loop.loadOrder.carried; behind == int64_t(at) && !(later && isLast))
          load(number, later);
    }
    if (!isLast)
      for (auto [i, stream] : llvm::enumerate(loop.streams))
        line("add ${0}, ${0}, #{1}", address(i), stream.bytes);
  }
};

// What the text says to an assembler alone: how far each address moves in an iteration, and what is loaded from it.
void OrderedLoop::describe(Operation *assembly) const {
  SmallVector<int64_t> moves, places;
  for (const Stream &stream : streams)
    moves.push_back(stream.bytes);
  for (const Load &load : loads)
    places.append({load.stream, load.bytes});
  Builder b(assembly->getContext());
  assembly->setAttr(assembly_loop::streams, b.getDenseI64ArrayAttr(moves));
  assembly->setAttr(assembly_loop::loads, b.getDenseI64ArrayAttr(places));
}

SmallVector<Value> OrderedLoop::emit(Code &c, Value iterations, ValueRange sums) const {
  bool fromZero = llvm::all_of(sums, [](Value sum) { return matchPattern(sum, m_AnyZeroFloat()); });
  Text text(*this, sums.size(), fromZero);
  SmallVector<Value> operands;
  if (!fromZero)
    llvm::append_range(operands, sums);
  for (const Stream &stream : streams)
    operands.push_back(stream.pointer);
  operands.push_back(c.sub(iterations, c.i64(1)));

  // What is changed is a result, too. Vectors and addresses have registers of their own.
  SmallVector<Type> types;
  SmallVector<std::string> results, inputs;
  auto result = [&](Type type, const char *constraint) { types.push_back(type), results.push_back(constraint); };
  for (Value sum : sums) {
    if (!fromZero)
      inputs.push_back(std::to_string(results.size()));
    result(sum.getType(), fromZero ? "=&w" : "=w");
  }
  for (int64_t i = 0; i < text.vectors; ++i)
    result(sums[0].getType(), "=&w");
  for (Value operand : ArrayRef(operands).drop_front(fromZero ? 0 : sums.size())) {
    inputs.push_back(std::to_string(results.size()));
    result(operand.getType(), "=r");
  }
  std::string constraints = llvm::join(results, ",") + "," + llvm::join(inputs, ",") + ",~{cc},~{memory}";
  auto dialect = LLVM::AsmDialectAttr::get(c.b.getContext(), LLVM::AsmDialect::AD_ATT);
  auto type = LLVM::LLVMStructType::getLiteral(c.b.getContext(), types);
  auto assembly = LLVM::InlineAsmOp::create(c.b, c.loc, TypeRange{type}, operands, text.text, constraints,
                                            /*has_side_effects=*/true, /*is_align_stack=*/false,
                                            LLVM::tailcallkind::TailCallKind::None, dialect,
                                            /*operand_attrs=*/ArrayAttr());
  describe(assembly);
  Value all = assembly.getResult(0);
  SmallVector<Value> after;
  for (size_t i = 0; i < sums.size(); ++i)
    after.push_back(LLVM::ExtractValueOp::create(c.b, c.loc, all, i));
  return after;
}

} // namespace fathom
