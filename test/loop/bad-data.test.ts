import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestart,
  contextRestarts,
  isLoopError,
  type LoopOptions,
  type Message,
  onIteration,
  processResults,
  stopWhen,
  toolResult,
} from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play, type Playing, tool } from "./play.ts";
import { usual, usualProvider } from "./ports/port.ts";

const cycle: { self?: unknown } = {};
cycle.self = cycle;
let deep: unknown = 1;
for (let level = 0; level < 2_000; level += 1) deep = [deep];

const bad: { readonly [what: string]: unknown } = {
  "a bigint": 10n,
  "a symbol": Symbol("s"),
  "a cycle": cycle,
  "a value nested too deeply": deep,
};
/** `JSON.stringify` leaves out a property whose value is a symbol. */
const isLeftOut = (what: string): boolean => what === "a symbol";

const t = tool("t", () => 1);
const asked = (args: unknown): readonly Message[] => [
  { role: "user", content: "Go." },
  { role: "assistant", content: [{ type: "tool-call", callId: "c", name: "t", args: args as never }] },
  { role: "tool", results: [{ callId: "c", name: "t", outcome: "completed", result: 1 }] },
];

type Place = (value: never) => Partial<LoopOptions>;

const fields: { readonly [place: string]: Place } = {
  system: (system) => ({ system }),
  runId: (runId) => ({ runId }),
  "toolChoice.name": (name) => ({ toolChoice: { name } }),
  "provider.id": (id) => ({ provider: { ...usualProvider(), id } }),
  "provider.model": (model) => ({ provider: { ...usualProvider(), model } }),
  "provider.family": (family) => ({ provider: { ...usualProvider(), family } }),
  "session.detailsLabel": (detailsLabel) => ({ session: { detailsLabel } }),
  "session.responseTarget.name": (name) => ({ session: { responseTarget: { kind: "persona", name } } }),
  "modelSettings.stopSequences": (word) => ({ modelSettings: { stopSequences: [word] } }),
  "contextRestarts.effects": (name) => ({ middleware: [contextRestarts({ effects: { more: [name] } })] }),
  "a message's content": (content) => ({ messages: [{ role: "user", content }] }),
  "a tool's name": (name) => ({ tools: [{ ...t, name }] }),
  "a tool's description": (description) => ({ tools: [{ ...t, description }] }),
};

const data: { readonly [place: string]: Place } = {
  contextItems: (value) => ({ middleware: [contextRestarts({ items: [{ value }] })] }),
  "modelSettings.extra": (value) => ({ modelSettings: { extra: { value } } }),
  answers: (value) => ({ answers: { c: { kind: "modify", args: { value } } } }),
  "a tool call's args": (value) => ({ messages: asked({ value }) }),
  "a tool's inputSchema": (value) => ({ tools: [{ ...t, inputSchema: { type: "object", default: { value } } }] }),
};

async function findRefusal(start: () => Playing): Promise<unknown> {
  let playing: Playing | undefined;
  try {
    playing = start();
    return await playing.result;
  } catch (error) {
    return isLoopError(error) && (playing?.provider.calls ?? 0) === 0 ? "refused at once" : error;
  }
}

const rowsOf = (places: { readonly [place: string]: unknown }): readonly (readonly [place: string, what: string])[] =>
  Object.keys(places).flatMap((place) => Object.keys(bad).map((what) => [place, what] as const));

describe("runToolLoop options", () => {
  it.for(rowsOf(fields))("are rejected before any request if the value of %s contains %s", async ([place, what]) => {
    expect(await findRefusal(() => play(usual, { tools: [t], ...fields[place]?.(bad[what] as never) }))).toBe("refused at once");
  });

  it.for(rowsOf(data).filter(([, what]) => !isLeftOut(what)))(
    "are rejected before any request if the value of %s contains %s",
    async ([place, what]) => {
      expect(await findRefusal(() => play(usual, { tools: [t], ...data[place]?.(bad[what] as never) }))).toBe("refused at once");
    },
  );
});

const called = (execute: () => unknown): Partial<LoopOptions> => ({ tools: [tool("t", execute)] });

/**
 * The places where a run gets data, each with the outcome of the first call if the data is bad. The third value is the outcome for
 * data that JSON leaves out.
 */
const during: { readonly [place: string]: readonly [over: Place, outcome: string, ifLeftOut?: string] } = {
  "a tool's return value": [(value) => called(() => ({ value })), "failed", "completed"],
  "the data of a toolResult()": [(value) => called(() => toolResult({ data: { value } })), "failed", "completed"],
  "the content of a toolResult()": [
    (value) => called(() => toolResult({ data: 1, content: [{ type: "text", text: value }] })),
    "failed",
  ],
  "the error of a toolResult()": [(error) => called(() => toolResult({ success: false, error })), "failed"],
  "a value thrown by a tool": [
    (value) =>
      called(() => {
        throw value;
      }),
    "failed",
  ],
  "the metadata of a toolResult()": [(metadata) => called(() => toolResult({ data: 1, metadata })), "completed"],
  "the progress of a tool": [(value) => ({ tools: [tool("t", (_, { progress }) => progress({ value }))] }), "completed"],
  "the context item of a restart": [
    (value) => ({
      ...called(() => contextRestart({ type: "context_restart_more", enhanced_context_item: { value } })),
      middleware: [contextRestarts()],
    }),
    "failed",
    "restarted",
  ],
  "a context item from the stash": [
    (value) => ({
      ...called(() => contextRestart({ type: "context_restart_more", pending_context_key: "k" })),
      middleware: [contextRestarts({ stash: { take: () => ({ value }) } })],
    }),
    "restarted",
  ],
  "the reason for a denial": [(reason) => ({ middleware: [approve(() => ({ kind: "deny", reason }))] }), "denied"],
  "an argument edited by approve": [
    (value) => ({ middleware: [approve(() => ({ kind: "modify", args: { value } }))] }),
    "approval-failed",
    "completed",
  ],
  "the reason from stopWhen": [(reason) => ({ middleware: [stopWhen(() => ({ kind: "stop", reason }))] }), "not-run"],
  "the reason from hooks.onIteration": [
    (reason) => ({ middleware: [onIteration(() => ({ abort: true, reason }))] }),
    "completed",
  ],
  "the price from options.pricing": [(value) => ({ pricing: () => value }), "completed"],
  "a result from processResults": [(value) => ({ middleware: [processResults({ processor: () => value })] }), "completed"],
};

describe("runToolLoop", () => {
  it.for(rowsOf(during))("returns a result that JSON can represent if %s contains %s", async ([place, what]) => {
    const [over, outcome, ifLeftOut = outcome] = during[place] ?? [];
    const playing = play([toolCall("t"), text("Done.")], { tools: [t], ...over?.(bad[what] as never) });
    const result = await playing.result;
    expect(() => JSON.stringify(result)).not.toThrow();
    expect(() => JSON.stringify(result.journal)).not.toThrow();
    expect(structuredClone(result.messages)).toEqual(result.messages);
    expect(answersOf(result)[0]?.outcome).toBe(isLeftOut(what) ? ifLeftOut : outcome);
  });
});
