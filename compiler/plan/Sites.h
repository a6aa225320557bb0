// Sites: what can be chosen of a model before its kernels are, as those list it who propose into the Plan. Some of it
// may be fixed; the rest is proposed as always.
#pragma once

#include "compiler/plan/Chooser.h"

namespace fathom {

// Growth has no sites: it lets other choices make weights larger than the draft's do, as far as the user's limit.
enum class SiteKind { Algorithm, Growth };
inline constexpr SiteKind siteKinds[] = {SiteKind::Algorithm, SiteKind::Growth};
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

// The draft, but for what is fixed. A choice that the graph does not have is an error.
class SiteChooser : public Chooser {
public:
  // In the order of the graph, when it is planned.
  virtual llvm::ArrayRef<Site> sites() const = 0;
};

// The Plan names choices that are `made`, and not those that only keep what was proposed.
std::unique_ptr<SiteChooser> siteChooser(const Target &target, std::vector<PlannedChoice> made,
                                         std::vector<PlannedChoice> kept = {});

} // namespace fathom
