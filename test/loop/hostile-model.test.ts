import { expect, it } from "vitest";
import { z } from "zod";
import {
  approve,
  contextRestarts,
  finalAnswer,
  gateTools,
  contextRestart,
  defineTool,
  detectLoops,
  limitIdenticalCalls,
  type LoopOptions,
  type Middleware,
  type StandardSchema,
  structuredOutput,
} from "turnwright";
import type { DeliberateGate } from "../../src/core/types/middleware-options.ts";
import { finish, type MockMessage, refusal, text, toolCall, usage } from "turnwright/testing";
import { endOf } from "./hostile-model.ts";
import { play, tool } from "./play.ts";

interface Row {
  readonly says: (iteration: number) => MockMessage;
  readonly more?: readonly Middleware[];
  readonly limits?: LoopOptions["limits"];
  readonly ends: string;
  readonly streams: number;
  readonly ran: number;
}

const echo = (args = {}): MockMessage => toolCall("echo", args);
const inTurn =
  (...letters: readonly string[]): Row["says"] =>
  (iteration) =>
    echo({ letter: letters[iteration % letters.length] ?? "" });
const stopping = [detectLoops({ action: "stop" })];
const nothing: StandardSchema = {
  "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "no" }] }) },
};
const gate: DeliberateGate = { active: true, allowedNames: ["other"] };

const rows: Readonly<Record<string, Row>> = {
  "the same call": { says: () => echo(), ends: "max-iterations", streams: 100, ran: 100 },
  "the same call, with limitIdenticalCalls": {
    says: () => echo(),
    more: [limitIdenticalCalls()],
    ends: "loop-detected",
    streams: 10,
    ran: 10,
  },
  "the same call, with detectLoops": { says: () => echo(), more: stopping, ends: "loop-detected", streams: 3, ran: 2 },
  "two calls in turn, with detectLoops": { says: inTurn("a", "b"), more: stopping, ends: "loop-detected", streams: 6, ran: 5 },
  "four calls in turn, with detectLoops": {
    says: inTurn(..."abcd"),
    more: stopping,
    ends: "loop-detected",
    streams: 12,
    ran: 11,
  },
  "a cycle of five calls, which detectLoops does not find": {
    says: inTurn(..."abcde"),
    more: stopping,
    ends: "max-iterations",
    streams: 100,
    ran: 100,
  },
  "a different call each time": {
    says: (n) => echo({ n }),
    more: stopping,
    ends: "max-iterations",
    streams: 100,
    ran: 100,
  },
  "calls beyond limits.maxToolCalls": {
    says: () => echo(),
    limits: { maxToolCalls: 5 },
    ends: "max-tool-calls",
    streams: 7,
    ran: 5,
  },
  "calls, even in its final answer": {
    says: () => echo(),
    more: [finalAnswer()],
    limits: { maxIterations: 3 },
    ends: "max-iterations",
    streams: 4,
    ran: 3,
  },
  "calls to an unknown tool": { says: () => toolCall("none"), ends: "tool-error-cap", streams: 5, ran: 0 },
  "calls that the gate blocks": { says: () => echo(), more: [gateTools(gate)], ends: "tool-error-cap", streams: 5, ran: 0 },
  "calls that are always denied, with limitIdenticalCalls": {
    says: () => echo(),
    more: [approve(() => ({ kind: "deny" })), limitIdenticalCalls()],
    ends: "loop-detected",
    streams: 10,
    ran: 0,
  },
  "broken and valid calls in turn": {
    says: (iteration) => (iteration % 2 === 0 ? toolCall("none") : echo()),
    ends: "max-iterations",
    streams: 100,
    ran: 50,
  },
  "arguments that are not JSON": {
    says: () => toolCall("echo", {}, { rawArgs: "{'a'" }),
    ends: "tool-error-cap",
    streams: 5,
    ran: 0,
  },
  "arguments that fail validation": { says: () => toolCall("add", { a: "1" }), ends: "tool-error-cap", streams: 5, ran: 0 },
  "calls that are cut off": { says: () => [toolCall("echo"), finish("length")], ends: "tool-error-cap", streams: 5, ran: 0 },
  "malformed calls": { says: () => finish("malformed-call"), ends: "tool-error-cap", streams: 5, ran: 0 },
  "calls without a name": { says: () => toolCall(" "), ends: "malformed-call", streams: 1, ran: 0 },
  "paused messages": { says: () => [text("."), finish("paused")], ends: "max-pauses", streams: 11, ran: 0 },
  "context restarts": { says: () => toolCall("restart"), more: [contextRestarts()], ends: "restart-cap", streams: 6, ran: 6 },
  "answers that fail output validation": {
    says: () => text("{}"),
    more: [structuredOutput(nothing, { jsonSchema: {}, maxRetries: 2 })],
    ends: "invalid-output",
    streams: 3,
    ran: 0,
  },
  "messages beyond limits.maxTokens": {
    says: () => [toolCall("echo"), usage({ inputTokens: 5, outputTokens: 5 })],
    limits: { maxTokens: 50 },
    ends: "max-tokens",
    streams: 5,
    ran: 5,
  },
  "a refusal with calls": {
    says: () => [refusal("No."), toolCall("echo"), finish("refusal")],
    ends: "refusal",
    streams: 1,
    ran: 0,
  },
  "a refusal followed by calls": {
    says: () => [refusal("No."), finish("refusal"), toolCall("echo"), toolCall("restart")],
    ends: "refusal",
    streams: 1,
    ran: 0,
  },
  "filtered content followed by calls": {
    says: () => [text("So."), finish("content-filter"), toolCall("echo")],
    ends: "content-filter",
    streams: 1,
    ran: 0,
  },
};

it.for(Object.entries(rows))("a run with a hostile model ends as expected if the model sends only %s", async ([, row]) => {
  let ran = 0;
  const run = (args: unknown): unknown => ((ran += 1), args);
  const add = defineTool({ name: "add", description: "Adds", inputSchema: z.object({ a: z.number() }), execute: run });
  const restart = tool("restart", () => (run({}), contextRestart({ type: "context_restart_again" })));
  const playing = play((_, index) => row.says(index), {
    tools: [tool("echo", run), add, restart],
    middleware: row.more,
    limits: row.limits,
  });
  const result = await endOf(playing);
  const { kind } = result.reason;
  expect({ ends: kind, streams: playing.provider.calls, ran }).toEqual({ ends: row.ends, streams: row.streams, ran: row.ran });
  expect(playing.endedAt()).toBe(0);
  expect(playing.recording.events.length).toBeLessThanOrEqual(2 + 9 * row.streams);
});
