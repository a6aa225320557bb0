// Relations that are open, and messages about types that disagree.
#pragma once

#include "compiler/functional/types/Infer.h"

namespace fathom::functional {

class Relations {
public:
  Relations(const Source &source, Typing &typing) : source(source), typing(typing), unifier(typing.unifier) {}

  // Solves what can be, from a position of `pending` on, until nothing changes.
  llvm::LogicalResult settle(size_t begin);
  // Takes out of `pending`, from a position on, what depends on types deeper than a level.
  std::vector<Relation> takeDeeper(size_t begin, unsigned level);
  // Reports where a relation can never be solved, whatever the caller chooses.
  llvm::LogicalResult checkOpen(const Relation &relation);
  // Reports that not enough is known.
  llvm::LogicalResult unknown(const Relation &relation);

  // Makes two types the same, or reports both with their places.
  bool same(Type *want, Type *got, Place place, const llvm::Twine &what);
  void noteOrigin(mlir::InFlightDiagnostic &error, Type *type);

  std::vector<Relation> pending;

private:
  enum class Outcome { Solved, Open, Wrong };
  Outcome solve(const Relation &relation);
  Outcome refuse(const Relation &relation, llvm::StringRef problem, std::optional<ErrorCode> code = {});
  bool broadcast(const Relation &relation);

  const Source &source;
  Typing &typing;
  Unifier &unifier;
};

} // namespace fathom::functional
