// Creates journals that hang at one chosen place, and a run that reaches all these places.

import { approve, type Journal, type LoopOptions, memoryJournal, onIteration, type Tool } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { never, play, type Playing, tool } from "./play.ts";

/** `at` is a journal method or the key of a step. `when` says if the step hangs before or after its body has run. */
export interface Hang {
  readonly at: string;
  readonly when?: "before" | "after";
}

const open = (): Promise<() => Promise<void>> => Promise.resolve(() => Promise.resolve());

export function hanging({ at, when = "before" }: Hang): Journal {
  const inner = memoryJournal();
  const step = async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
    if (key !== at) return inner.step(key, body);
    if (when === "after") await body();
    return never;
  };
  return {
    durable: true,
    step,
    read: (key) => (at === "read" ? never : inner.read(key)),
    open: at === "open" ? () => never : at === "close" ? () => Promise.resolve(() => never) : open,
  };
}

export const echo: Tool = tool("echo", (args) => args);

export function start(journal: Journal, more: Partial<LoopOptions> = {}): Playing {
  return play([[text("Look: "), toolCall("echo"), toolCall("echo")], text("Done.")], {
    runId: "hangs",
    tools: [echo],
    journal,
    middleware: [onIteration(() => undefined), approve(() => ({ kind: "approve" }))],
    ...more,
  });
}

export const places: readonly Hang[] = [
  { at: "open" },
  { at: "close" },
  ...[
    "run",
    "begin",
    "i0/request/model",
    "i0/call/0/echo/@approve/decision",
    "i0/call/0/echo/begun",
    "i0/call/0/echo/outcome",
    "i0/after/@on-iteration/said",
    "i1/answered",
  ].flatMap((at): readonly Hang[] => [
    { at, when: "before" },
    { at, when: "after" },
  ]),
];
