// Sites: what can be chosen of a model before its kernels are, as those list it who propose into the Plan. Some of it
// may be fixed; the rest is proposed as always.
#pragma once

#include "compiler/plan/Chooser.h"

namespace fathom {

// Growth has no sites: it lets other choices make weights larger than the draft's do, as far as the user's limit.
enum class SiteKind { Algorithm, Fusion, Growth };
inline constexpr SiteKind siteKinds[] = {SiteKind::Algorithm, SiteKind::Fusion, SiteKind::Growth};
// Of fusion: whether an op is in the kernel of what it reads (FuseOps.h).
inline constexpr llvm::StringLiteral together = "together", apart = "apart";
llvm::StringRef name(SiteKind kind);

struct Alternative {
  std::string name;
  int64_t bytes = 0; // by which weights grow
};

struct Site {
  SiteKind kind;
  std::string op;                        // by the name of its result
  std::vector<Alternative> alternatives; // all of them legal
  size_t proposed = 0;

  // Null where there is none of this name.
  const Alternative *find(llvm::StringRef name) const;
  void propose(llvm::StringRef name);
  PlannedChoice take(size_t alternative) const;
};

// The draft, but for what is fixed.
class SiteChooser : public Chooser {
public:
  // In the order of the graph, when it is planned.
  virtual llvm::ArrayRef<Site> sites() const = 0;
  // Fixes others, for the same graph to be planned again: what the draft found of its ops is not looked for again.
  virtual void fix(std::vector<PlannedChoice> made, std::vector<PlannedChoice> kept) = 0;
};

// The Plan names choices that are `made`, and not those that only keep what was proposed. One that the graph has no
// site for is an error, if they are the user's; else it says nothing any more, as what others made left no choice.
std::unique_ptr<SiteChooser> siteChooser(const Target &target, std::vector<PlannedChoice> made,
                                         std::vector<PlannedChoice> kept = {}, bool isUsers = false);

} // namespace fathom
