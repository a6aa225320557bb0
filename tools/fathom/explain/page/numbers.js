// How quantities are written, and what is known of a kernel by what the compiler told.
const units = (value, names, step, digits = 3) => {
  let i = 0;
  while (Math.abs(value) >= step && i < names.length - 1) value /= step, ++i;
  return `${value === 0 ? 0 : Number(value.toPrecision(digits))} ${names[i]}`;
};
const spellTime = ms => units(ms * 1e6, ["ns", "µs", "ms", "s"], 1000);
const spellCycles = cycles => units(cycles, ["cycles", "thousand cycles", "million cycles", "billion cycles"], 1000);
const spellBytes = bytes => units(bytes, ["B", "kB", "MB", "GB"], 1000);
const spellFlop = flop => units(flop, ["FLOP", "kFLOP", "MFLOP", "GFLOP"], 1000);
const percent = share => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

const data = JSON.parse(document.getElementById("data").textContent);
const isMeasured = data.kernels.some(kernel => kernel.ms > 0);
const cyclesOf = kernel => (kernel.estimate?.[data.threads === 1 ? "one_thread" : "all_threads"] ?? kernel.estimate?.one_thread)?.total ?? 0;
const sum = (list, of) => list.reduce((total, item) => total + of(item), 0);
const totalMs = sum(data.kernels, kernel => kernel.ms ?? 0), totalCycles = sum(data.kernels, cyclesOf);
const measuredShare = kernel => totalMs ? (kernel.ms ?? 0) / totalMs : 0;
const predictedShare = kernel => totalCycles ? cyclesOf(kernel) / totalCycles : 0;
// What a kernel's size in a picture and its place in a list come from.
const weight = kernel => isMeasured ? measuredShare(kernel) : predictedShare(kernel);
const order = data.kernels.map((_, i) => i).sort((a, b) => weight(data.kernels[b]) - weight(data.kernels[a]) || a - b);

// The classes that take most have a colour of their own, the others share the last.
const classes = [...new Set(order.map(i => data.kernels[i].class))];
const byClass = new Map(classes.map(name => [name, sum(data.kernels.filter(kernel => kernel.class === name), weight)]));
classes.sort((a, b) => byClass.get(b) - byClass.get(a));
const colors = 8;
const colorOf = name => `s${Math.min(classes.indexOf(name), colors - 1)}`;

const tell = kernel => `${kernel.result} (${kernel.class}): ` +
  (kernel.ms > 0 ? `${spellTime(kernel.ms)}, ${percent(measuredShare(kernel))} of the run` : `${spellCycles(cyclesOf(kernel))} estimated, ${percent(predictedShare(kernel))}`);
