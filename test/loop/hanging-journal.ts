// Creates journals that hang at one chosen place, and a run that reaches all these places.

import { type Journal, type LoopOptions, memoryJournal, type Step, type Tool } from "turnwright";
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
  const step = async <T>(one: Step<T>): Promise<T> => {
    if (one.key !== at) return inner.step(one);
    if (when === "after") await one.run({});
    return never;
  };
  return {
    durable: true,
    step,
    all: (steps) => (at === "all" ? never : Promise.all(steps.map((one) => step(one)))),
    open: at === "open" ? () => never : at === "close" ? () => Promise.resolve(() => never) : open,
  };
}

export const echo: Tool = tool("echo", (args) => args);

export function start(journal: Journal, more: Partial<LoopOptions> = {}): Playing {
  return play([[text("Look: "), toolCall("echo"), toolCall("echo")], text("Done.")], {
    runId: "hangs",
    tools: [echo],
    journal,
    policies: { approve: () => ({ kind: "approve" }) },
    hooks: { onIteration: () => undefined },
    ...more,
  });
}

export const places: readonly Hang[] = [
  { at: "open" },
  { at: "close" },
  { at: "all" },
  ...[
    "run",
    "i0/inbox",
    "i0/model",
    "i0/approval/0/echo",
    "i0/intent/0/echo",
    "i0/tool/0/echo",
    "i0/iteration",
    "i1/inbox-end",
  ].flatMap((at): readonly Hang[] => [
    { at, when: "before" },
    { at, when: "after" },
  ]),
];
