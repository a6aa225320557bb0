// One page that needs nothing else: its style is in it, and bars are its plots.
#include "tools/fathom/ExplainHtml.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace fathom {
namespace {

constexpr StringLiteral style = R"(
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color-scheme: light dark }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #8884; vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums }
.bars { width: 30% }
.bar { height: .6rem; margin: .15rem 0; min-width: 1px }
.measured { background: #2a78d6 }
.predicted { background: #eb6834 }
.key { display: inline-block; width: 1rem; height: .6rem; margin: 0 .3rem 0 1rem }
small { opacity: .75 }
)";

// Of one thread where one thread ran, else of all.
double predictedCycles(const json::Object &kernel, int threads) {
  const json::Object *estimate = kernel.getObject("estimate");
  const json::Object *parts = estimate ? estimate->getObject(threads == 1 ? "one_thread" : "all_threads") : nullptr;
  return parts ? parts->getNumber("total").value_or(0) : 0;
}

std::string nameOf(const json::Object &kernel) { return kernel.getString("result").value_or("?").str(); }

// The knobs that are other numbers now.
std::string changes(const json::Object &kernel, const json::Object &draft) {
  const json::Object *now = kernel.getObject("schedule"), *before = draft.getObject("schedule");
  if (kernel.getString("class") != draft.getString("class"))
    return ("class " + draft.getString("class").value_or("?") + " → " + kernel.getString("class").value_or("?")).str();
  std::string text;
  if (now && before)
    for (const auto &[knob, value] : *now)
      if (const json::Value *old = before->get(knob); old && *old != value)
        text += formatv("{0}{1} {2} → {3}", text.empty() ? "" : ", ", StringRef(knob), *old, value).str();
  return text;
}

struct Row {
  const json::Object *kernel, *draft = nullptr;
  double measured = 0, predicted = 0; // shares
};

std::string escaped(StringRef text) {
  std::string result;
  raw_string_ostream out(result);
  printHTMLEscaped(text, out);
  return result;
}

std::string spellTime(const json::Object *kernel) {
  auto ms = kernel ? kernel->getNumber("ms") : std::nullopt;
  return ms ? formatv("{0:f1}", *ms * 1e3).str() : "";
}

} // namespace

void printHtml(StringRef model, const json::Array &kernels, const json::Array *drafts, int threads, raw_ostream &out) {
  StringMap<const json::Object *> draftOf;
  double draftMs = 0, ms = 0, cycles = 0;
  if (drafts)
    for (const json::Value &value : *drafts)
      if (const json::Object *kernel = value.getAsObject())
        draftOf[nameOf(*kernel)] = kernel, draftMs += kernel->getNumber("ms").value_or(0);
  std::vector<Row> rows;
  for (const json::Value &value : kernels)
    if (const json::Object *kernel = value.getAsObject()) {
      double own = kernel->getNumber("ms").value_or(0), predicted = predictedCycles(*kernel, threads);
      rows.push_back({kernel, draftOf.lookup(nameOf(*kernel)), own, predicted});
      ms += own, cycles += predicted;
    }
  double largest = 0;
  for (Row &row : rows) {
    row.measured /= ms > 0 ? ms : 1, row.predicted /= cycles > 0 ? cycles : 1;
    largest = std::max({largest, row.measured, row.predicted});
  }
  sort(rows, [](const Row &a, const Row &b) {
    if (std::pair(a.measured, a.predicted) != std::pair(b.measured, b.predicted))
      return std::pair(a.measured, a.predicted) > std::pair(b.measured, b.predicted);
    return nameOf(*a.kernel) < nameOf(*b.kernel);
  });
  std::string title = escaped(model);
  out << "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" << title << "</title><style>" << style
      << "</style>\n<h1>" << title << "</h1>\n<p>" << rows.size() << " kernels, " << formatv("{0:f0}", cycles / 1e3)
      << " thousand cycles by the draft";
  if (ms > 0)
    out << formatv("; {0:f3} ms measured with {1} threads", ms, threads);
  if (ms > 0 && draftMs > 0)
    out << formatv(", {0:f3} ms with the schedules of the draft: a gain of {1:f3}", draftMs, draftMs / ms);
  out << ".</p>\n<p>Shares of the whole: <span class=\"key measured\"></span>measured <span class=\"key "
         "predicted\"></span>predicted</p>\n<table><tr><th>kernel<th class=\"bars\">share<th>µs<th>by the draft, "
         "µs<th>what tuning changed</tr>\n";
  for (const Row &row : rows) {
    auto bar = [&](StringRef kind, double share) {
      out << formatv("<div class=\"bar {0}\" style=\"width:{1:f1}%\" title=\"{0}: {2:f1} %\"></div>", kind,
                     largest > 0 ? 100 * share / largest : 0, 100 * share);
    };
    out << "<tr><td>" << escaped(nameOf(*row.kernel)) << "<br><small>"
        << escaped(row.kernel->getString("class").value_or("?")) << "</small><td>";
    if (ms > 0)
      bar("measured", row.measured);
    bar("predicted", row.predicted);
    out << "<td class=\"number\">" << spellTime(row.kernel) << "<td class=\"number\">" << spellTime(row.draft) << "<td>"
        << (row.draft ? escaped(changes(*row.kernel, *row.draft)) : "") << "</tr>\n";
  }
  out << "</table></html>\n";
}

} // namespace fathom
