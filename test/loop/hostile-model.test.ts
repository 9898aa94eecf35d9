// A model that never has enough: whatever it repeats, its run ends after so many streams and so many calls, and no time goes by.

import { expect, it } from "vitest";
import { z } from "zod";
import {
  contextRestart,
  defineTool,
  type DeliberateGate,
  detectLoops,
  type LoopOptions,
  type StandardSchema,
  structuredOutput,
} from "turnwright";
import { finish, type MockMessage, refusal, text, toolCall, usage } from "turnwright/testing";
import { endOf } from "./hostile-model.ts";
import { play, tool } from "./play.ts";

interface Row {
  readonly says: (iteration: number) => MockMessage;
  readonly more?: LoopOptions["policies"];
  readonly limits?: LoopOptions["limits"];
  /** How the run ends. */
  readonly ends: string;
  /** Streams, one request each. */
  readonly streams: number;
  /** Calls that have run. */
  readonly ran: number;
}

const echo = (args = {}): MockMessage => toolCall("echo", args);
const inTurn =
  (...letters: readonly string[]): Row["says"] =>
  (iteration) =>
    echo({ letter: letters[iteration % letters.length] ?? "" });
const stopping = { loopDetection: detectLoops({ action: "stop" }) } as const;
const nothing: StandardSchema = {
  "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "no" }] }) },
};
const gate: DeliberateGate = { active: true, allowedNames: ["other"] };

const rows: Readonly<Record<string, Row>> = {
  "the same call": { says: () => echo(), ends: "loop-detected", streams: 10, ran: 10 },
  "the same call, watched": { says: () => echo(), more: stopping, ends: "loop-detected", streams: 3, ran: 2 },
  "two calls in turn, watched": { says: inTurn("a", "b"), more: stopping, ends: "loop-detected", streams: 6, ran: 5 },
  "four calls in turn, watched": { says: inTurn(..."abcd"), more: stopping, ends: "loop-detected", streams: 12, ran: 11 },
  "more in turn than anybody watches": {
    says: inTurn(..."abcde"),
    more: stopping,
    ends: "max-iterations",
    streams: 100,
    ran: 100,
  },
  "a call that is another one each time": {
    says: (n) => echo({ n }),
    more: stopping,
    ends: "max-iterations",
    streams: 100,
    ran: 100,
  },
  "calls past their limit": { says: () => echo(), limits: { maxToolCalls: 5 }, ends: "max-tool-calls", streams: 7, ran: 5 },
  "calls in what is to be its final answer": {
    says: () => echo(),
    more: { finalAnswer: true },
    limits: { maxIterations: 3 },
    ends: "max-iterations",
    streams: 4,
    ran: 3,
  },
  "calls of a tool that there is not": { says: () => toolCall("none"), ends: "tool-error-cap", streams: 5, ran: 0 },
  "calls of a tool that it must not call": { says: () => echo(), more: { gate }, ends: "tool-error-cap", streams: 5, ran: 0 },
  "calls that are always denied": {
    says: () => echo(),
    more: { approve: () => ({ kind: "deny" }) },
    ends: "max-iterations",
    streams: 100,
    ran: 0,
  },
  "a broken call and a good one in turn": {
    says: (iteration) => (iteration % 2 === 0 ? toolCall("none") : echo()),
    ends: "max-iterations",
    streams: 100,
    ran: 50,
  },
  "arguments that are no JSON": {
    says: () => toolCall("echo", {}, { rawArgs: "{'a'" }),
    ends: "tool-error-cap",
    streams: 5,
    ran: 0,
  },
  "arguments that do not fit": { says: () => toolCall("add", { a: "1" }), ends: "tool-error-cap", streams: 5, ran: 0 },
  "calls that are cut off": { says: () => [toolCall("echo"), finish("length")], ends: "tool-error-cap", streams: 5, ran: 0 },
  "calls that nobody can read": { says: () => finish("malformed-call"), ends: "tool-error-cap", streams: 5, ran: 0 },
  "calls without a name": { says: () => toolCall(" "), ends: "malformed-call", streams: 1, ran: 0 },
  pauses: { says: () => [text("."), finish("paused")], ends: "max-pauses", streams: 11, ran: 0 },
  restarts: { says: () => toolCall("restart"), ends: "restart-cap", streams: 6, ran: 6 },
  "answers that do not fit": {
    says: () => text("{}"),
    more: { output: structuredOutput(nothing, { jsonSchema: {}, maxRetries: 2 }) },
    ends: "invalid-output",
    streams: 3,
    ran: 0,
  },
  "tokens past their limit": {
    says: () => [toolCall("echo"), usage({ inputTokens: 5, outputTokens: 5 })],
    limits: { maxTokens: 50 },
    ends: "max-tokens",
    streams: 5,
    ran: 5,
  },
  "a refusal, and calls with it": {
    says: () => [refusal("No."), toolCall("echo"), finish("refusal")],
    ends: "refusal",
    streams: 1,
    ran: 0,
  },
  "a refusal, and calls behind it": {
    says: () => [refusal("No."), finish("refusal"), toolCall("echo"), toolCall("restart")],
    ends: "refusal",
    streams: 1,
    ran: 0,
  },
  "what a filter stops, and calls behind it": {
    says: () => [text("So."), finish("content-filter"), toolCall("echo")],
    ends: "content-filter",
    streams: 1,
    ran: 0,
  },
};

it.for(Object.entries(rows))("a model that gives %s, and never anything else, ends", async ([, row]) => {
  let ran = 0;
  const run = (args: unknown): unknown => ((ran += 1), args);
  const add = defineTool({ name: "add", description: "Adds", inputSchema: z.object({ a: z.number() }), execute: run });
  const restart = tool("restart", () => (run({}), contextRestart({ type: "context_restart_again" })));
  const playing = play((_, index) => row.says(index), {
    tools: [tool("echo", run), add, restart],
    policies: row.more,
    limits: row.limits,
  });
  const result = await endOf(playing);
  const { kind } = result.reason;
  expect({ ends: kind, streams: playing.provider.calls, ran }).toEqual({ ends: row.ends, streams: row.streams, ran: row.ran });
  expect(playing.endedAt()).toBe(0);
  // The number of events grows only with the number of streams.
  expect(playing.recording.events.length).toBeLessThanOrEqual(2 + 9 * row.streams);
});
