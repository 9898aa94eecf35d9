import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { isLoopEndedError, type LoopResult, type LoopStatus, LoopEndedError, runToolLoop, unwrap } from "turnwright";
import type { EndedKind, ReasonOf } from "../errors/loop-ended-error.ts";
import { createMockProvider, finish, text } from "turnwright/testing";

const whole = await runToolLoop({
  provider: createMockProvider([text("Half of it.")]),
  messages: [{ role: "user", content: "Go." }],
  runId: "unwrapped",
});
const plain = { name: "Error", message: "no" };
const busy = { name: "ProviderError", code: "overloaded", message: "All busy.", retryable: true } as const;

function endedAs(status: LoopStatus, reason: LoopResult["reason"]): LoopResult {
  return { ...whole, journal: whole.journal, status, reason };
}

function errorOf(result: LoopResult): LoopEndedError {
  try {
    unwrap(result);
  } catch (error) {
    if (isLoopEndedError(error)) return error;
  }
  throw new Error("A LoopEndedError was to be thrown.");
}

type Rows = {
  readonly [Kind in EndedKind]: readonly [status: LoopStatus, reason: ReasonOf<Kind>, thrown: string, words: string];
};

const rows: Rows = {
  "max-iterations": [
    "timeout",
    { kind: "max-iterations", limit: 10 },
    "IterationLimitError",
    "the limit of 10 iterations was reached",
  ],
  "max-cost": [
    "error",
    { kind: "max-cost", limitUSD: 0.5, spentUSD: 0.1 + 0.2 },
    "CostLimitError",
    "$0.3 was spent, and the limit is $0.5",
  ],
  "loop-detected": [
    "error",
    { kind: "loop-detected", toolName: "search", count: 3 },
    "LoopEndedError",
    'the model repeated its tool calls 3 times, including "search". A tool that waits for a change needs "polls: true"',
  ],
  "invalid-output": [
    "error",
    { kind: "invalid-output", issues: [{ message: "no" }], attempts: 3 },
    "LoopEndedError",
    "the answer did not fit the output schema 3 times in a row",
  ],
  "handoff-cap": ["error", { kind: "handoff-cap", count: 11 }, "LoopEndedError", "the agents handed the run over 11 times"],
  "input-guardrail": [
    "error",
    { kind: "input-guardrail", guardrail: "topic" },
    "LoopEndedError",
    'the guardrail "topic" refused the input',
  ],
  "output-guardrail": [
    "error",
    { kind: "output-guardrail", guardrail: "tone", reason: "too rude" },
    "LoopEndedError",
    'the guardrail "tone" refused the answer: too rude',
  ],
  "tool-guardrail": [
    "error",
    { kind: "tool-guardrail", guardrail: "paths", toolName: "read", reason: "outside the folder" },
    "LoopEndedError",
    'the guardrail "paths" refused a call of "read": outside the folder',
  ],
  "cost-unknown": [
    "error",
    { kind: "cost-unknown" },
    "CostLimitError",
    "the cost of an iteration is unknown, so the cost limit cannot be enforced",
  ],
  stopped: [
    "stopped-by-user",
    { kind: "stopped", requester: "user 7", note: "changed my mind" },
    "AbortedError",
    "the run was stopped by user 7: changed my mind",
  ],
  killed: ["stopped-by-user", { kind: "killed" }, "AbortedError", "the run was killed"],
  aborted: [
    "stopped-by-user",
    { kind: "aborted", reason: { name: "TimeoutError", message: "The request took too long." } },
    "AbortedError",
    "the run's signal was aborted: The request took too long",
  ],
  "iteration-abort": [
    "stopped-by-user",
    { kind: "iteration-abort", reason: "enough" },
    "AbortedError",
    "onIteration ended the run: enough",
  ],
  "provider-error": [
    "error",
    { kind: "provider-error", error: busy },
    "ProviderFailedError",
    "the model failed with overloaded: All busy",
  ],
  "stream-idle": ["timeout", { kind: "stream-idle", limitMs: 5 }, "TimedOutError", "the model sent nothing for 5 ms"],
  "stream-too-long": [
    "timeout",
    { kind: "stream-too-long", limitMs: 5 },
    "TimedOutError",
    "the model was still writing after 5 ms",
  ],
  "first-chunk": ["timeout", { kind: "first-chunk", limitMs: 5 }, "TimedOutError", "the model sent nothing within 5 ms"],
  "wall-clock": ["timeout", { kind: "wall-clock", limitMs: 5 }, "TimedOutError", "the time limit of 5 ms was reached"],
  drained: ["suspended", { kind: "drained" }, "SuspendedError", "the run was drained, and can be resumed"],
  "result-required": [
    "suspended",
    {
      kind: "result-required",
      calls: [{ id: "call_1", callId: "call_1", name: "ask", args: {}, waitsFor: "result" }],
    },
    "SuspendedError",
    "1 call is waiting for a result",
  ],
  "approval-required": [
    "suspended",
    { kind: "approval-required", calls: [] },
    "SuspendedError",
    "0 calls are waiting for a decision",
  ],
  "malformed-call": ["error", { kind: "malformed-call" }, "LoopEndedError", "the model called a tool without a name"],
  "tool-error-cap": ["error", { kind: "tool-error-cap", count: 5 }, "LoopEndedError", "5 consecutive tool errors occurred"],
  "restart-cap": ["error", { kind: "restart-cap", count: 6 }, "LoopEndedError", "tools restarted the context 6 times"],
  "max-tokens": [
    "error",
    { kind: "max-tokens", limit: 10, spent: 12 },
    "LoopEndedError",
    "12 tokens were used, and the limit is 10",
  ],
  "max-tool-calls": ["error", { kind: "max-tool-calls", limit: 2 }, "LoopEndedError", "the limit of 2 tool calls was reached"],
  "max-pauses": [
    "error",
    { kind: "max-pauses", limit: 10 },
    "LoopEndedError",
    "the provider paused its response more than 10 times",
  ],
  "hook-failed": [
    "error",
    { kind: "hook-failed", hook: "prepareIteration", error: plain },
    "LoopEndedError",
    "the hook prepareIteration failed: no",
  ],
  "fatal-tool-error": [
    "error",
    { kind: "fatal-tool-error", toolName: "db", error: plain },
    "LoopEndedError",
    'the tool "db" ended the run: no',
  ],
  empty: ["empty-response", { kind: "empty" }, "LoopEndedError", "the response was empty"],
  interrupted: [
    "follow-up-interrupt",
    { kind: "interrupted", message: { role: "user", content: "Wait." } },
    "LoopEndedError",
    "a message interrupted the run",
  ],
};

describe("unwrap", () => {
  it.for(Object.entries(rows))(
    'throws an error that describes a run with the reason "%s"',
    ([, [status, reason, thrown, words]]) => {
      const result = endedAs(status, reason);
      const error = errorOf(result);
      expect([error.name, error.constructor.name]).toEqual([thrown, thrown]);
      expect(error.message).toBe(`The run ended as ${status} (${reason.kind}): ${words}.`);
      expect(error.result).toBe(result);
      expect([error.status, error.reason]).toEqual([status, reason]);
      expect(error).toBeInstanceOf(LoopEndedError);
      expect(JSON.parse(JSON.stringify(error))).toEqual({
        name: thrown,
        message: error.message,
        status,
        kind: reason.kind,
        runId: "unwrapped",
      });
    },
  );

  it.for<LoopResult["reason"]["kind"]>(["answered", "length", "refusal", "content-filter"])(
    'returns the result of a completed run with the reason "%s"',
    async (kind) => {
      const turn = kind === "answered" ? [text("Hi.")] : [[text("Hi."), finish(kind === "length" ? "length" : "refusal")]];
      const provider = createMockProvider(turn);
      const result = await runToolLoop({ provider, messages: [{ role: "user", content: "Go." }] });
      expect(unwrap(result)).toBe(result);
    },
  );

  it.for<[what: string, reason: LoopResult["reason"], message: string]>([
    ["a stop without a note", { kind: "stopped" }, "the run was stopped."],
    ["a stop with an empty note", { kind: "stopped", note: "" }, "the run was stopped."],
    [
      "a stop, without the secret in its note",
      { kind: "stopped", note: "key sk-abc123def456ghi789" },
      "the run was stopped: key [redacted].",
    ],
    ["an abort with a string as the reason", { kind: "aborted", reason: "gone" }, "the run's signal was aborted: gone."],
    ["an abort with a number as the reason", { kind: "aborted", reason: 7 }, "the run's signal was aborted."],
    ["an abort with null as the reason", { kind: "aborted", reason: null }, "the run's signal was aborted."],
    ["an abort by onIteration without a reason", { kind: "iteration-abort" }, "onIteration ended the run."],
  ])("throws an error whose message describes %s", ([, reason, message]) => {
    expect(errorOf(endedAs("stopped-by-user", reason)).message).toBe(
      `The run ended as stopped-by-user (${reason.kind}): ${message}`,
    );
  });

  it("throws a LoopEndedError for an unknown reason from another version of the package", () => {
    const error = errorOf(endedAs("error", JSON.parse('{ "kind": "constructor" }')));
    expect([error.name, error.message]).toEqual(["LoopEndedError", "The run ended as error (constructor)."]);
  });
});

describe("LoopEndedError", () => {
  const long = "x".repeat(1_000_000);
  const large = errorOf({ ...endedAs("stopped-by-user", { kind: "stopped", note: long }), text: long });

  it("stays short in JSON, in logs and in its message if the result is very long", () => {
    expect(JSON.stringify(large).length).toBeLessThan(3_000);
    expect(inspect(large, { depth: 9 }).length).toBeLessThan(10_000);
    expect(large.message.length).toBeLessThan(2_100);
    expect(large.result.text).toHaveLength(1_000_000);
  });

  it("can be serialized to JSON even if the result is cyclic", () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const result = { ...endedAs("error", { kind: "malformed-call" }), cyclic };
    expect(() => JSON.stringify(errorOf(result))).not.toThrow();
  });
});

describe("isLoopEndedError", () => {
  const error = errorOf(endedAs("error", { kind: "provider-error", error: busy }));

  it.for<[title: string, value: unknown, kinds: readonly EndedKind[], verdict: boolean]>([
    ["returns true for a LoopEndedError if no kinds are given", error, [], true],
    ["returns true if the kind of the error is given", error, ["provider-error"], true],
    ["returns true if the kind of the error is one of several given kinds", error, ["empty", "provider-error"], true],
    ["returns false if only other kinds are given", error, ["empty"], false],
    ["returns false for an error of a different class", new Error("no"), [], false],
    ["returns false for a plain object with the name LoopEndedError", { name: "LoopEndedError", result: {} }, [], false],
    ["returns false for null", null, [], false],
    ["returns false for a string", "LoopEndedError", [], false],
  ])("%s", ([, value, kinds, verdict]) => {
    expect(isLoopEndedError(value, ...kinds)).toBe(verdict);
  });

  it("narrows the type of the reason to the given kind", () => {
    expect(isLoopEndedError(error, "provider-error") && error.reason.error.retryable).toBe(true);
    expect(isLoopEndedError(error, "provider-error") && error.result.reason.error.code).toBe("overloaded");
  });
});
