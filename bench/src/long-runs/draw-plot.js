// Draws the size of each request and the money spent so far as one picture.

/**
 * @typedef {import("./play.js").Played} Played
 * @typedef {{ readonly name: string, readonly color: string, readonly values: readonly number[], readonly isCut: boolean }} Line
 * @typedef {{ readonly title: string, readonly step: number, readonly unit: (value: number) => string, readonly lines: readonly Line[] }} Panel
 */

// Colours of medium brightness can be read on a light and on a dark page.
const grey = "#7d8590";
const colors = ["#e5534b", "#c69026", "#539bf5", "#46954a", "#a371f7"];
const panel = { left: 52, top: 34, width: 340, height: 210, gap: 74 };
const mostRequests = 220;

/** @param {readonly Played[]} all */
export function drawPlot(all) {
  const lines = all.map(({ variant, served, status }, index) => ({
    name: variant.name.replaceAll("`", ""),
    color: colors[index % colors.length] ?? grey,
    isCut: status !== "completed",
    sizes: served.filter(({ isSummary }) => !isSummary).map(({ input }) => input / 1_000),
    money: addUp(served.map(({ money }) => money.cached)),
  }));
  const sizes = lines.map(({ sizes, ...line }) => ({ ...line, values: sizes }));
  const money = lines.map(({ money, ...line }) => ({ ...line, values: money }));
  const width = 2 * panel.width + panel.left + panel.gap + 14;
  const legendTop = panel.top + panel.height + 58;
  const height = legendTop + 20 * Math.ceil(lines.length / 2) - 4;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="The size of each request, and the money spent so far">
<g font-family="system-ui, sans-serif" font-size="12" fill="${grey}">
${drawPanel({ title: "Size of each request, in thousands of tokens", step: 100, unit: (value) => `${value}`, lines: sizes }, panel.left)}
${drawPanel({ title: "Money spent so far, with cache: true", step: 10, unit: (value) => `$${value}`, lines: money }, panel.left + panel.width + panel.gap)}
${lines.map((line, index) => drawName(line, index, legendTop)).join("\n")}
</g>
</svg>
`;
}

/** @param {readonly number[]} values */
function addUp(values) {
  let sum = 0;
  return values.map((value) => (sum += value));
}

/**
 * @param {Panel} panel
 * @param {number} left
 */
function drawPanel({ title, step, unit, lines }, left) {
  const top = Math.ceil(Math.max(...lines.flatMap(({ values }) => values)) / step) * step;
  const toY = (/** @type {number} */ value) => Math.round(panel.top + panel.height * (1 - value / top));
  const toX = (/** @type {number} */ request) => Math.round(left + (panel.width * request) / mostRequests);
  const marks = Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
  const right = left + panel.width;
  const grid = marks.map(
    (mark) =>
      `<path d="M${left} ${toY(mark)}H${right}" stroke="${grey}" stroke-opacity=".3"/><text x="${left - 6}" y="${toY(mark) + 4}" text-anchor="end">${unit(mark)}</text>`,
  );
  const axis = [0, 50, 100, 150, 200].map(
    (request) => `<text x="${toX(request)}" y="${panel.top + panel.height + 17}" text-anchor="middle">${request}</text>`,
  );
  const drawn = lines.map(({ color, values, isCut }) => {
    const points = values.map((value, index) => `${toX(index + 1)} ${toY(value)}`);
    const end = points.at(-1)?.split(" ").map(Number) ?? [];
    const cross = isCut
      ? `<path d="M${(end[0] ?? 0) - 4} ${(end[1] ?? 0) - 4}l8 8m0-8l-8 8" stroke="${color}" stroke-width="2"/>`
      : "";
    return `<path d="M${points.join("L")}" fill="none" stroke="${color}" stroke-width="1.5" stroke-linejoin="round"/>${cross}`;
  });
  return [
    `<text x="${left}" y="18" font-weight="600">${title}</text>`,
    ...grid,
    ...axis,
    `<text x="${right}" y="${panel.top + panel.height + 33}" text-anchor="end">request</text>`,
    ...drawn,
  ].join("\n");
}

/**
 * @param {{ readonly name: string, readonly color: string, readonly isCut: boolean }} line
 * @param {number} index
 * @param {number} top
 */
function drawName({ name, color, isCut }, index, top) {
  const x = panel.left + (index % 2) * (panel.width + panel.gap);
  const y = top + 20 * Math.floor(index / 2);
  const text = isCut ? `${name} (cross: the request is refused)` : name;
  return `<path d="M${x} ${y - 4}h22" stroke="${color}" stroke-width="3"/><text x="${x + 30}" y="${y}">${text}</text>`;
}
