// A family of kernels: its problems, its schedules, which of them are legal and what they are estimated to cost. Each
// is declared once, by types of its own (FamilyOf); who works with any family sees schedules as named numbers.
#pragma once

#include "compiler/cost/Estimate.h"
#include "compiler/schedule/Relative.h"
#include "mlir/IR/Operation.h"
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace fathom {

// The schedules of one kernel, whose problem is described once.
class Space {
public:
  virtual ~Space() = default;
  // Every schedule that is worth a look, each of them legal.
  virtual void enumerate(llvm::function_ref<void(const Schedule &)> body) const = 0;
  // The schedule of least score; the first of several.
  virtual Schedule best() const = 0;
  virtual cost::Estimate estimate(const Schedule &schedule) const = 0;
  // The first constraint that a schedule breaks, or an empty string. Ranges of knobs are checked before.
  virtual std::string violation(const Schedule &schedule) const = 0;
  // Estimated cycles at the sizes that are likely, of one thread and of all the target's cores together.
  virtual double score(const Schedule &schedule) const = 0;
  // What sizes of a schedule are fractions of.
  virtual Extents extents(const Schedule &schedule) const = 0;
  // Whether the problem is that of another space of the same family, or was before the width of its panels was decided:
  // the best schedule there is the best one here, if it is legal. False for families without panels.
  virtual bool isWithin(const Space &other) const = 0;
};

class Family {
public:
  virtual ~Family() = default;
  virtual std::vector<Knob> knobs() const = 0;
  // What a schedule says where nothing was said.
  virtual Schedule initial() const = 0;
  // `op` is the anchor, or the end of a kernel without one.
  virtual std::unique_ptr<Space> spaceOf(mlir::Operation *op, const Target &target) const = 0;
  // Columns of the panels that weights are packed into; 0 where they are not.
  virtual int64_t panelWidth(const Schedule &schedule) const = 0;
};

// A schedule, what it is estimated to cost, and the number that candidates are compared by. `score` is infinite where a
// space is empty.
template <typename S> struct Choice {
  S schedule;
  cost::Estimate estimate;
  double score = std::numeric_limits<double>::infinity();
};

template <typename Problem, typename S> class FamilyOf final : public Family {
public:
  using Body = llvm::function_ref<void(const S &)>;

  struct Declaration {
    Problem (*problem)(mlir::Operation *op, const Target &target);
    // The schedules that are worth a look, best decided one way where the draft cost decides it. Those that are not
    // legal are passed over.
    void (*candidates)(const Problem &problem, const Target &target, Body body);
    cost::Estimate (*estimate)(const Problem &problem, const S &schedule, const Target &target);
    std::string (*violation)(const Problem &problem, const S &schedule, const Target &target);
    // A candidate, which comes first, and what else may be in the space beside it.
    void (*variants)(const S &schedule, Body body) = [](const S &schedule, Body body) { body(schedule); };
    // What knobs say they are parts of.
    Extents (*extents)(const Problem &problem, const S &schedule) = [](const Problem &, const S &) {
      return Extents();
    };
  };

  explicit FamilyOf(const Declaration &declared) : declared(declared) {}

  Choice<S> best(const Problem &problem, const Target &target) const {
    Choice<S> best;
    declared.candidates(problem, target, [&](const S &schedule) {
      cost::Estimate estimate = declared.estimate(problem, schedule, target);
      double score = cost::overThreads(estimate, target);
      // Only what would be chosen need be legal.
      if (score < best.score && declared.violation(problem, schedule, target).empty())
        best = {schedule, estimate, score};
    });
    return best;
  }

  std::vector<Knob> knobs() const override { return {S::fields().begin(), S::fields().end()}; }

  Schedule initial() const override { return named(S()); }

  int64_t panelWidth(const Schedule &schedule) const override {
    if constexpr (requires(S s) { s.panel(); })
      return typed<S>(schedule).panel();
    return 0;
  }

  std::unique_ptr<Space> spaceOf(mlir::Operation *op, const Target &target) const override {
    return std::make_unique<OfProblem>(*this, declared.problem(op, target), target);
  }

private:
  class OfProblem final : public Space {
  public:
    OfProblem(const FamilyOf &family, Problem problem, const Target &target)
        : family(family), problem(std::move(problem)), target(target) {}

    void enumerate(llvm::function_ref<void(const Schedule &)> body) const override {
      auto isLegal = [&](const S &schedule) { return family.declared.violation(problem, schedule, target).empty(); };
      family.declared.candidates(problem, target, [&](const S &candidate) {
        if (!isLegal(candidate))
          return;
        bool isCandidate = true;
        family.declared.variants(candidate, [&](const S &schedule) {
          if (std::exchange(isCandidate, false) || isLegal(schedule))
            body(named(schedule));
        });
      });
    }
    Schedule best() const override { return named(family.best(problem, target).schedule); }
    cost::Estimate estimate(const Schedule &schedule) const override {
      return family.declared.estimate(problem, typed<S>(schedule), target);
    }
    std::string violation(const Schedule &schedule) const override {
      return family.declared.violation(problem, typed<S>(schedule), target);
    }
    double score(const Schedule &schedule) const override { return cost::overThreads(estimate(schedule), target); }
    Extents extents(const Schedule &schedule) const override {
      return family.declared.extents(problem, typed<S>(schedule));
    }
    bool isWithin(const Space &other) const override {
      if constexpr (requires(const Problem &p) { p.panel; }) {
        const Problem &wider = static_cast<const OfProblem &>(other).problem;
        Problem open = problem;
        open.panel = {};
        return problem == wider || open == wider;
      }
      return false;
    }

  private:
    const FamilyOf &family;
    Problem problem;
    const Target &target;
  };

  Declaration declared;
};

} // namespace fathom
