// The pictures: a treemap of shares, a run as a timeline, the graph of kernels in layers.
const svg = (name, attributes = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const drawing = (width, height, ...children) => svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" }, ...children);
// A kernel's mark; what its title says is shown under the picture, and a click chooses it.
const mark = (index, x, y, width, height, more = {}) =>
  svg("rect", { class: `mark ${colorOf(data.kernels[index].class)}`, "data-kernel": index, x, y, width: Math.max(width, 0.5), height, ...more },
      svg("title", {}, tell(data.kernels[index])));

// As much of a kernel's name as there is room for, from its end: that is where names differ.
function label(index, room) {
  const name = data.kernels[index].result.replace(/_output_\d+$/, "");
  return name.length > room ? "…" + name.slice(1 - room) : name;
}

// Rows of nearly square cells (Bruls, Huizing, van Wijk 2000): a row takes cells as long as their worst ratio of sides shrinks.
function squarified(items, x, y, width, height) {
  const cells = [];
  let rest = items.filter(item => item.value > 0), total = sum(rest, item => item.value);
  const worst = (row, value, side, area) => {
    const length = value / total * area / side;
    return Math.max(...row.map(item => { const other = item.value / value * side; return Math.max(other / length, length / other); }));
  };
  while (rest.length) {
    const side = Math.min(width, height), area = width * height;
    let count = 1, value = rest[0].value;
    while (count < rest.length && worst(rest.slice(0, count + 1), value + rest[count].value, side, area) <= worst(rest.slice(0, count), value, side, area))
      value += rest[count++].value;
    const length = value / total * area / side;
    let along = 0;
    for (const item of rest.slice(0, count)) {
      const share = item.value / value * side;
      cells.push(width >= height ? { ...item, x, y: y + along, width: length, height: share } : { ...item, x: x + along, y, width: share, height: length });
      along += share;
    }
    if (width >= height) x += length, width -= length; else y += length, height -= length;
    total -= value;
    rest = rest.slice(count);
  }
  return cells;
}

function drawShares(place) {
  const width = 1000, height = 460, items = order.map(index => ({ index, value: weight(data.kernels[index]) }));
  const picture = drawing(width, height);
  for (const cell of squarified(items, 0, 0, width, height)) {
    picture.append(mark(cell.index, cell.x, cell.y, cell.width, cell.height));
    if (cell.width > 60 && cell.height > 30) {
      picture.append(svg("text", { class: "inside", x: cell.x + 5, y: cell.y + 16 }, label(cell.index, Math.floor(cell.width / 7.2) - 1)),
                     svg("text", { class: "inside", x: cell.x + 5, y: cell.y + 31 }, percent(cell.value)));
    }
  }
  place.append(picture);
}

function drawTimeline(place) {
  const width = 1000, height = 74, end = Math.max(...data.launches.map(launch => launch.end_us));
  const picture = drawing(width, height);
  for (const { kernel, start_us, end_us } of data.launches)
    picture.append(mark(kernel, start_us / end * width, 4, (end_us - start_us) / end * width, 44));
  for (let i = 0; i <= 4; ++i)
    picture.append(svg("text", { class: "tick", x: i / 4 * width, y: 66, "text-anchor": ["start", "middle", "middle", "middle", "end"][i] }, spellTime(end * i / 4 / 1000)));
  place.append(picture);
}

// The layer of a kernel is one more than that of the last kernel it reads; within a layer, near to what it reads.
function layered() {
  const byResult = new Map(data.kernels.map((kernel, index) => [kernel.result, index])), layer = [], at = [], layers = [];
  const reads = data.kernels.map((kernel, index) => [...new Set((kernel.apart ?? []).map(other => byResult.get(other.kernel)))].filter(other => other < index));
  data.kernels.forEach((_, index) => {
    layer[index] = Math.max(-1, ...reads[index].map(other => layer[other])) + 1;
    (layers[layer[index]] ??= []).push(index);
  });
  for (const row of layers) {
    const wanted = index => reads[index].length ? sum(reads[index], other => at[other]) / reads[index].length : 0;
    row.sort((a, b) => wanted(a) - wanted(b) || a - b).forEach((index, i) => { at[index] = i - (row.length - 1) / 2; });
  }
  return { reads, layer, at, layers };
}

function drawGraph(place) {
  const { reads, layer, at, layers } = layered();
  const boxWidth = 190, boxHeight = 22, apart = 18, down = 44, widest = Math.max(...layers.map(row => row.length));
  const width = widest * (boxWidth + apart), height = layers.length * down;
  const x = index => width / 2 + at[index] * (boxWidth + apart), y = index => layer[index] * down + boxHeight / 2 + 2;
  const most = Math.max(...data.kernels.map(weight)), picture = drawing(width, height);
  reads.forEach((others, index) => others.forEach(other => {
    const from = y(other) + boxHeight / 2, to = y(index) - boxHeight / 2, bend = (to - from) / 2;
    picture.append(svg("path", { class: "edge", "data-from": other, "data-to": index,
                                 d: `M${x(other)},${from}C${x(other)},${from + bend} ${x(index)},${to - bend} ${x(index)},${to}` }));
  }));
  data.kernels.forEach((kernel, index) => {
    const opacity = 0.15 + 0.85 * Math.sqrt(weight(kernel) / (most || 1));
    picture.append(mark(index, x(index) - boxWidth / 2, y(index) - boxHeight / 2, boxWidth, boxHeight, { rx: 4, "fill-opacity": opacity.toFixed(2) }),
                   svg("text", { class: opacity > 0.6 ? "inside" : "inside faint", x: x(index), y: y(index) + 4, "text-anchor": "middle" }, label(index, 28)));
  });
  place.append(picture);
}

// A kernel on the roofline of the machine, with the others behind it; nothing without a measured peak.
function drawRoofline(kernel) {
  const peak = data.peak, points = data.kernels.filter(other => other.flop > 0 && other.bytes > 0 && other.gflop_per_second > 0);
  if (!peak || !points.includes(kernel)) return null;
  const width = 420, height = 240, left = 46, bottom = 34, log = Math.log10;
  const intensities = points.map(other => other.flop / other.bytes), rates = points.map(other => other.gflop_per_second);
  const x0 = log(Math.min(0.1, ...intensities)), x1 = log(Math.max(peak.gflop_per_second / peak.gb_per_second * 4, ...intensities));
  const y0 = log(Math.min(1, ...rates)), y1 = log(Math.max(peak.gflop_per_second, ...rates) * 1.5);
  const x = value => left + (log(value) - x0) / (x1 - x0) * (width - left - 8), y = value => height - bottom - (log(value) - y0) / (y1 - y0) * (height - bottom - 8);
  const ridge = peak.gflop_per_second / peak.gb_per_second, start = Math.max(10 ** x0, 10 ** y0 / peak.gb_per_second);
  const picture = drawing(width, height);
  for (let exponent = Math.ceil(y0); exponent <= y1; ++exponent)
    picture.append(svg("line", { class: "grid", x1: left, x2: width - 8, y1: y(10 ** exponent), y2: y(10 ** exponent) }),
                   svg("text", { class: "tick", x: left - 5, y: y(10 ** exponent) + 4, "text-anchor": "end" }, String(10 ** exponent)));
  for (let exponent = Math.ceil(x0); exponent <= x1; ++exponent)
    picture.append(svg("text", { class: "tick", x: x(10 ** exponent), y: height - bottom + 15, "text-anchor": x(10 ** exponent) > width - 30 ? "end" : "middle" }, String(Number((10 ** exponent).toPrecision(1)))));
  picture.append(svg("path", { class: "roof", d: `M${x(start)},${y(start * peak.gb_per_second)}L${x(ridge)},${y(peak.gflop_per_second)}L${x(10 ** x1)},${y(peak.gflop_per_second)}` }),
                 svg("text", { class: "tick", x: left, y: 10 }, "GFLOP/s"), svg("text", { class: "tick", x: width - 8, y: height - 4, "text-anchor": "end" }, "FLOP per byte of inputs, weights and results"));
  for (const other of [...points.filter(other => other !== kernel), kernel])
    picture.append(svg("circle", { cx: x(other.flop / other.bytes), cy: y(other.gflop_per_second), r: other === kernel ? 6 : 3,
                                   class: `mark ${colorOf(other.class)} ${other === kernel ? "chosen" : ""}`, "data-kernel": data.kernels.indexOf(other),
                                   "fill-opacity": other === kernel ? 1 : 0.35 }, svg("title", {}, tell(other))));
  return picture;
}
