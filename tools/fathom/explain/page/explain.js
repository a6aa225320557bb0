// Fills the page: the headline, the list of kernels, what one of them is, and the pictures, which all choose the same kernel.
const html = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter(child => child !== null && child !== undefined && child !== ""));
  return element;
};
const byId = id => document.getElementById(id);
const few = 10;
let chosen = null, isWhole = false;

// Knobs that are other numbers than by the draft alone.
function changes(index) {
  const now = data.kernels[index], before = (data.draft ?? []).find(kernel => kernel.result === now.result);
  if (!before) return "";
  if (before.class !== now.class) return `class ${before.class} → ${now.class}`;
  const knobs = Object.entries(now.schedule ?? {}).filter(([knob, value]) => before.schedule?.[knob] !== undefined && before.schedule[knob] !== value);
  const time = before.ms > 0 ? [`${spellTime(before.ms)} by the draft`] : [];
  return [...time, ...knobs.map(([knob, value]) => `${knob} ${before.schedule[knob]} → ${value}`)].join(", ");
}

function fillHead() {
  document.title = `${data.model} – fathom explain`;
  byId("model").textContent = data.model;
  const draftMs = sum(data.draft ?? [], kernel => kernel.ms ?? 0);
  byId("headline").textContent = isMeasured ? `${spellTime(totalMs)} in kernels, with ${data.threads} thread${data.threads === 1 ? "" : "s"}`
                                            : `${spellCycles(totalCycles)} estimated`;
  byId("facts").textContent = [`${data.kernels.length} kernels`, spellFlop(sum(data.kernels, kernel => kernel.flop ?? 0)),
    isMeasured ? `${spellCycles(totalCycles)} estimated` : "not run: with --run the page has times",
    data.peak ? `this machine: ${Math.round(data.peak.gflop_per_second)} GFLOP/s, ${Number(data.peak.gb_per_second.toPrecision(3))} GB/s from memory, ${Math.round(data.peak.cached_gb_per_second)} GB/s from the cache, measured` : "",
    isMeasured && draftMs ? `${spellTime(draftMs)} with the schedules of the draft, a gain of ${(draftMs / totalMs).toFixed(3)}` : ""].filter(Boolean).join("; ") + ".";
}

function fillList() {
  const table = byId("costliest").querySelector("table"), most = Math.max(...data.kernels.map(kernel => Math.max(measuredShare(kernel), predictedShare(kernel)))) || 1;
  const hasRoof = data.kernels.some(kernel => kernel.roofline_share), isTuned = Boolean(data.draft);
  const bar = (kind, share) => html("div", { class: `bar ${kind}`, style: `width:${(100 * share / most).toFixed(1)}%`, title: `${kind}: ${percent(share)}` });
  const share = html("th", {}, "share ", ...(isMeasured ? [html("span", { class: "key measured" }), " measured "] : []), html("span", { class: "key predicted" }), " estimated");
  table.replaceChildren(html("tr", {}, html("th", {}, "kernel"), html("th", {}, isMeasured ? "time" : "cycles"), share,
                             hasRoof ? html("th", {}, "of the roofline") : "", isTuned ? html("th", {}, "what tuning changed") : ""));
  for (const index of isWhole ? order : order.slice(0, few)) {
    const kernel = data.kernels[index];
    table.append(html("tr", { "data-kernel": index, class: index === chosen ? "chosen" : "" },
      html("td", {}, html("button", { type: "button" }, kernel.result, html("br"), html("span", { class: "quiet" }, kernel.class))),
      html("td", {}, isMeasured ? spellTime(kernel.ms ?? 0) : spellCycles(cyclesOf(kernel))),
      html("td", { class: "bars" }, isMeasured ? bar("measured", measuredShare(kernel)) : "", bar("predicted", predictedShare(kernel))),
      hasRoof ? html("td", {}, kernel.roofline_share ? percent(kernel.roofline_share) : "–") : "", isTuned ? html("td", { class: "changes" }, changes(index)) : ""));
  }
  byId("more").textContent = isWhole ? `Only the first ${few}` : `All ${order.length} kernels`;
  byId("more").hidden = order.length <= few;
}

// Why a kernel is not faster: where its cycles go by the cost model, and what keeps it apart or sequential.
function reasons(kernel) {
  const parts = kernel.estimate?.[data.threads === 1 ? "one_thread" : "all_threads"] ?? kernel.estimate?.one_thread, told = [];
  if (kernel.sequential) told.push(`It is sequential because ${kernel.sequential}.`);
  if (kernel.roofline_share) told.push(`It reaches ${percent(kernel.roofline_share)} of what this machine could do at most.`);
  if (parts) {
    const largest = Object.entries(parts).filter(([name, value]) => !["total", "tasks", "arithmetic"].includes(name) && value > 0.02 * parts.total).sort((a, b) => b[1] - a[1]);
    told.push(largest.length ? `Besides arithmetic it waits, as estimated, for ${largest.map(([name, value]) => `${name.replaceAll("_", " ")} (${percent(value / parts.total)})`).join(", ")}.`
                             : "By the estimate, arithmetic is all that takes time.");
  }
  if (isMeasured && totalCycles && kernel.ms > 0) {
    const ratio = measuredShare(kernel) / (predictedShare(kernel) || 1);
    if (ratio > 1.5) told.push(`Its share of the run is ${ratio.toFixed(1)} times what was estimated: the cost model does not see all of it.`);
  }
  return told;
}

function partsBar(parts) {
  const shown = Object.entries(parts).filter(([name, value]) => name !== "total" && name !== "tasks" && value > 0).sort((a, b) => b[1] - a[1]);
  const total = sum(shown, ([, value]) => value) || 1;
  return [html("div", { class: "parts" }, ...shown.map(([name, value], i) =>
            html("div", { style: `width:${100 * value / total}%;background:var(--s${i % colors})`, title: `${name.replaceAll("_", " ")}: ${spellCycles(value)}` }))),
          html("ul", { class: "legend", style: "padding:0" }, ...shown.slice(0, 6).map(([name, value], i) =>
            html("li", {}, html("span", { class: "key", style: `background:var(--s${i % colors})` }), `${name.replaceAll("_", " ")} ${percent(value / total)}`)))];
}

function fillKernel() {
  const kernel = data.kernels[chosen], pairs = object => html("dl", {}, ...Object.entries(object).filter(([, value]) => value !== undefined && value !== "").flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, String(value))]));
  const parts = kernel.estimate?.[data.threads === 1 ? "one_thread" : "all_threads"] ?? kernel.estimate?.one_thread, roofline = drawRoofline(kernel);
  const apart = (kernel.apart ?? []).map(other => html("li", {}, `not with ${other.kernel}: ${other.why}`));
  byId("kernel").replaceChildren(
    html("h2", {}, kernel.result),
    html("p", { class: "quiet" }, [kernel.class, kernel.ms > 0 ? spellTime(kernel.ms) : "", kernel.flop ? spellFlop(kernel.flop) : "", kernel.bytes ? spellBytes(kernel.bytes) : "",
                                   kernel.flop > 0 && kernel.gflop_per_second ? `${Number(kernel.gflop_per_second.toPrecision(3))} GFLOP/s` : "", kernel.launches > 1 ? `${kernel.launches} launches` : ""].filter(Boolean).join(", ")),
    html("div", { class: "columns" },
      html("div", {}, html("h3", {}, "Its nodes"), html("ul", {}, ...(kernel.ops ?? []).map(op => html("li", {}, `${op.op} ${op.node}: ${op.why}`))),
           apart.length ? html("h3", {}, "What it is not together with") : "", apart.length ? html("ul", {}, ...apart) : "",
           html("h3", {}, "Why it is not faster"), html("ul", {}, ...reasons(kernel).map(text => html("li", {}, text))),
           parts ? html("h3", {}, "Where its cycles go, as estimated") : "", ...(parts ? partsBar(parts) : [])),
      html("div", {}, html("h3", {}, "How it is computed"), pairs({ algorithm: kernel.algorithm, stages: (kernel.stages ?? []).join(" → "), "from the database": kernel.schedule_entry && "yes", "changed by tuning": changes(chosen) }),
           html("h3", {}, "Schedule"), pairs(kernel.schedule ?? {}), roofline ? html("h3", {}, "Roofline") : "", roofline)));
}

function choose(index, isScrolled) {
  chosen = index;
  fillList();
  fillKernel();
  for (const element of document.querySelectorAll("svg [data-kernel], svg .edge"))
    element.classList.toggle("chosen", [element.dataset.kernel, element.dataset.from, element.dataset.to].includes(String(index)));
  if (isScrolled) byId("kernel").scrollIntoView({ behavior: "smooth", block: "nearest" });
}

fillHead();
fillList();
byId("shares").querySelector(".legend").append(...classes.slice(0, colors).map((name, i) =>
  html("li", {}, html("span", { class: "key", style: `background:var(--s${i})` }), `${i === colors - 1 && classes.length > colors ? "other" : name} ${percent(byClass.get(name))}`)));
if (data.kernels.length) {
  drawShares(byId("shares").querySelector(".picture"));
  drawGraph(byId("graph").querySelector(".picture"));
  choose(order[0], false);
}
if (data.launches?.length) drawTimeline(byId("timeline").querySelector(".picture"));
else byId("timeline").remove();
byId("more").addEventListener("click", () => { isWhole = !isWhole; fillList(); });
document.addEventListener("click", event => {
  const found = event.target.closest("[data-kernel]");
  if (found) choose(Number(found.dataset.kernel), true);
});
// A finger cannot point without touching: what a mark's title says is shown under its picture, too.
for (const figure of document.querySelectorAll("figure"))
  figure.addEventListener("pointerover", event => {
    const title = event.target.closest(".mark")?.querySelector("title");
    if (title) figure.querySelector("output").textContent = title.textContent;
  });
