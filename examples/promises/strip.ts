// A film strip: what happened in a run, in a few frames.

export type Tone = "user" | "model" | "tool" | "danger" | "result" | "quiet";

export interface Line {
  readonly tone: Tone;
  readonly text: string;
}

export interface Frame {
  /** The time on the test clock, or the process. */
  readonly when: string;
  readonly title: string;
  readonly lines: readonly Line[];
}

export interface Strip {
  readonly promise: string;
  readonly frames: readonly Frame[];
}

export function line(tone: Tone, text: string): Line {
  return { tone, text };
}

/** Returns a strip as text, with one frame per line. */
export function printStrip({ promise, frames }: Strip): string {
  const printed = frames.map(({ when, title, lines }) => {
    return `  ${when.padEnd(10)} ${title}: ${lines.map(({ text }) => text).join(" | ")}`;
  });
  return [promise, ...printed].join("\n");
}
