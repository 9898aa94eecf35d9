import { type FinishReason, isLoopError, runToolLoop } from "turnwright";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Adapter, specAdapters, vendorAdapters } from "./adapters.ts";
import { ask, runIteration } from "./provider-iteration.ts";
import type { ScriptedTurn } from "./scripted.ts";

/** AI SDK models of v3 and v4 report two values: the finish reason of the AI SDK, and the word of the service. */
const say = ({ variant }: Adapter, word: string): { readonly end: "unknown"; readonly word: string } => ({
  end: "unknown",
  word: variant === "v3" || variant === "v4" ? `other ${word}` : word,
});

const calls: ScriptedTurn["calls"] = [["call_1", "look", "{}"]];

// Models of v2 do not report the words of the service.
describe.for([...vendorAdapters, ...specAdapters].filter(({ variant }) => variant !== "v2"))(
  "$name with finish reasons from other APIs",
  (adapter) => {
    it.for<[word: string, reason: FinishReason]>([
      ["end_turn", "stop"],
      ["END_TURN", "stop"],
      ["eos_token", "stop"],
      ["max_tokens", "length"],
      ["content_filter: PROHIBITED_CONTENT", "content-filter"],
      ["function_call_filter: MALFORMED_FUNCTION_CALL", "malformed-call"],
      ["abort", "error"],
      ["constructor", "unknown"],
    ])('reads "%s" as "%s"', async ([word, reason]) => {
      const { provider, close } = await adapter.open([{ text: "So.", ...say(adapter, word) }]);
      onTestFinished(close);
      expect((await runIteration(provider, ask("Go."))).finish).toBe(reason);
    });
  },
);

describe.for([...vendorAdapters, ...specAdapters])("the `finishReasons` option of $name", (adapter) => {
  const open = async (turn: ScriptedTurn, finishReasons: unknown): ReturnType<Adapter["open"]> => {
    const opened = await adapter.open([turn], { options: { finishReasons } });
    onTestFinished(opened.close);
    return opened;
  };

  it.for<[word: string, reason: FinishReason, plain: string, withCalls: string]>([
    ["FUNCTION_CALL", "tool-calls", "tool-calls", "tool-calls whole"],
    ["FUNCTION_CALL", "stop", "stop", "tool-calls whole"],
    ["constructor", "error", "error", "error"],
    ["__proto__", "content-filter", "content-filter", "content-filter"],
  ])('maps the service value "%s" to the finish reason "%s"', async ([word, reason, plain, withCalls]) => {
    const hear = async (turn: Omit<ScriptedTurn, "end">): Promise<string> => {
      const { provider } = await open({ ...turn, ...say(adapter, word) }, Object.fromEntries([[word, reason]]));
      const { finish, calls: read, error } = await runIteration(provider, ask("Go."));
      return [error?.code ?? finish, ...read.map(({ problem }) => problem ?? "whole")].join(" ");
    };
    expect(await hear({ text: "So." })).toBe(plain);
    expect(await hear({ text: "So.", calls })).toContain(withCalls);
  });

  it("is suggested in the error about an unknown service value", async () => {
    const { provider } = await open({ text: "So.", ...say(adapter, "toString") }, undefined);
    const { error } = await runToolLoop({ provider, messages: [{ role: "user", content: "Go." }] });
    expect(error).toMatchObject({ code: "finish-unknown", message: expect.stringMatching(/"toString".*"finishReasons"/) });
  });

  it.for<[title: string, given: unknown]>([
    ["a string", "tool-calls"],
    ["an array", ["tool-calls"]],
    ['an object with the unknown finish reason "done"', { STOP: "done" }],
    ['an object with the unknown finish reason "constructor"', { STOP: "constructor" }],
    ["an object with undefined as a finish reason", { STOP: undefined }],
  ])('is rejected as "invalid-option" if it is %s', async ([, given]) => {
    const thrown: unknown = await open({ end: "stop" }, given).catch((error: unknown) => error);
    expect(isLoopError(thrown, "invalid-option")).toBe(true);
    expect(String(thrown)).toContain('"finishReasons"');
  });
});
