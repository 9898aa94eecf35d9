// Draws the film strips of examples/promises for the README, as docs/promises/*.svg. `npm run docs:sync` writes them, and the gate
// `snippets` checks that they show what the runs do today.

import type { Frame, Line, Strip, Tone } from "../examples/promises/strip.ts";
import { strips } from "../examples/promises/strips.ts";

const frame = { width: 205, height: 128, gap: 20, margin: 12 };
const lineHeight = 18;
const widest = 24;
const maxLines = 4;

const colors: { readonly [Name in Tone]: readonly [dark: string, light: string] } = {
  user: ["#c9b0ff", "#6b3fc4"],
  model: ["#93c8ff", "#0b5cad"],
  tool: ["#ffd480", "#8a5a00"],
  danger: ["#ff9a9a", "#b3261e"],
  result: ["#8ae6a5", "#1a7036"],
  quiet: ["#a3abba", "#5b6472"],
};

/** Returns the pictures, by their paths. */
export async function drawPromises(): Promise<ReadonlyMap<string, string>> {
  const drawn = Object.entries(strips).map(
    async ([name, play]) => [`docs/promises/${name}.svg`, drawStrip(await play())] as const,
  );
  return new Map(await Promise.all(drawn));
}

function drawStrip({ promise, frames }: Strip): string {
  const { width, height, gap } = frame;
  const whole = frames.length * (width + gap) - gap;
  const story = frames
    .map(({ when, title, lines }) => `${when}: ${title} (${lines.map(({ text }) => text).join(" ")})`)
    .join(", then ");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${whole} ${height}" role="img" aria-label="${escape(`${promise}. ${story}`)}">
<style>${drawStyle()}</style>
${frames.map(drawFrame).join("\n")}
</svg>
`;
}

function drawFrame({ when, title, lines }: Frame, index: number): string {
  const { width, height, gap, margin } = frame;
  const left = index * (width + gap);
  const rows = [
    `<text class="quiet when" x="${left + margin}" y="22">${escape(when)}</text>`,
    `<text class="title" x="${left + margin}" y="42">${escape(title)}</text>`,
    ...wrap(lines).map(
      ({ tone, text }, row) => `<text class="${tone}" x="${left + margin}" y="${64 + row * lineHeight}">${escape(text)}</text>`,
    ),
  ];
  const arrow = `<text class="quiet" x="${left - gap + 6}" y="${height / 2}">›</text>`;
  const card = `<rect class="card" x="${left + 0.5}" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`;
  return [...(index === 0 ? [] : [arrow]), card, ...rows].join("\n");
}

function wrap(lines: readonly Line[]): readonly Line[] {
  const rows = lines.flatMap(({ tone, text }) => {
    const broken: string[] = [];
    for (const word of text.split(" ")) {
      const longer = `${broken.at(-1) ?? ""} ${word}`.trim();
      if (broken.length > 0 && longer.length <= widest) broken[broken.length - 1] = longer;
      else broken.push(word);
    }
    return broken.map((row) => ({ tone, text: row }));
  });
  if (rows.length > maxLines)
    throw new Error(`A frame holds ${maxLines} lines of ${widest} characters. Shorten "${lines[0]?.text}".`);
  return rows;
}

/** A page cannot style a picture, so the picture follows the system. */
function drawStyle(): string {
  const tones = (which: 0 | 1): string =>
    Object.entries(colors)
      .map(([tone, color]) => `.${tone}{fill:${color[which]}}`)
      .join("");
  const dark = `.card{fill:#1a1d24;stroke:#343a46}.title{fill:#eceff4}${tones(0)}`;
  const light = `.card{fill:#fbfbfd;stroke:#d5d9e0}.title{fill:#1b1f27}${tones(1)}`;
  const fonts =
    "text{font:12.5px ui-monospace,Menlo,Consolas,monospace}.title{font:600 14px system-ui,sans-serif}.when{font-size:11px}";
  return `${fonts}${dark}@media(prefers-color-scheme:light){${light}}`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
