import { describe, expect, it } from "vitest";
import {
  approve,
  type Approve,
  gateTools,
  type Message,
  type ModelRequest,
  toolResult,
  withFallback,
  withRetry,
} from "turnwright";
import { planLogs, withPlanner } from "turnwright/middleware";
import { createMockProvider, fail, finish, type MockMessage, providerMetadata, text, toolCall } from "turnwright/testing";
import { never, play, tool } from "../loop/play.ts";
import { add, command, execute, look, plan, respond, shownTo } from "./plan-stage.ts";

const lines = (request: ModelRequest | undefined): readonly string[] =>
  (request?.messages ?? []).map(({ role, ...message }) => `${role}: ${JSON.stringify(message).replaceAll("\\n", " ")}`);
const rolesOf = (request: ModelRequest): readonly string[] => request.messages.map(({ role }) => role);

describe("withPlanner: a request's messages", () => {
  it("alternate between user and assistant roles after steering, retries and images", async () => {
    const script = [text("Hm."), execute(command("steer")), text(""), respond, text("Done.")];
    const { control, result, model } = plan(script, {
      tools: [tool("steer", () => void control.steer("In words, please."))],
      messages: [
        { role: "user", content: "Hello." },
        {
          role: "user",
          content: [
            { type: "text", text: "Look: " },
            { type: "image", mediaType: "image/png", data: "AAAA" },
          ],
        },
      ],
    });
    expect((await result).text).toBe("Done.");
    expect(model.requests.map(rolesOf)).toEqual([["user"], ["user", "assistant", "user"], ["user"], ["user"], ["user"]]);
    expect(model.requests[4]?.messages[0]).toMatchObject({
      content: [
        { type: "text", text: "Hello." },
        { type: "text", text: "Look: " },
        { type: "image", mediaType: "image/png" },
        { type: "text", text: "In words, please." },
        { type: "text", text: expect.stringContaining("action_results") },
      ],
    });
  });

  it("contain the result of a tool call after the text that precedes the call", async () => {
    const caller = createMockProvider([[text("Let me check."), toolCall("look")], fail({ status: 529 })], { model: "caller" });
    const model = createMockProvider([respond, text("Quiet.")]);
    const { result } = play([], { provider: withFallback([caller, withPlanner(model)]), tools: [look] });
    expect((await result).text).toBe("Quiet.");
    expect(shownTo(model.requests[0])).toMatchObject({ done_plans: [{ tool_name: "look" }], round_index: 0 });
    expect(lines(model.requests[1])).toEqual([
      'user: {"content":"Go."}',
      'assistant: {"content":[{"type":"text","text":"Let me check."}]}',
      expect.stringMatching(/^user: .*action_results.*a quiet place/),
    ]);
  });

  it("contain earlier results at their old positions and new results at the end", async () => {
    const first = await plan([execute(command("look")), respond, text("Quiet.")]).result;
    const messages: readonly Message[] = [...first.messages, { role: "user", content: "And now?" }];
    const { result, model } = plan([execute(command("look")), respond, text("Still quiet.")], { messages });
    expect((await result).text).toBe("Still quiet.");
    expect(lines(model.requests.at(-1))).toEqual([
      expect.stringMatching(/^user: .*Go\..*action_results.*a quiet place/),
      'assistant: {"content":[{"type":"text","text":"Quiet."}]}',
      expect.stringMatching(/^user: .*And now\?.*action_results.*a quiet place.*extra_instruction/),
    ]);
  });

  it("contain an assistant message with only provider metadata in a continuation", async () => {
    const { result, model } = plan([respond, [providerMetadata({ mark: 1 }), finish("paused")], text("Whole.")]);
    expect((await result).text).toBe("Whole.");
    expect(model.requests[2]?.messages.at(-1)).toMatchObject({
      role: "assistant",
      content: [],
      providerMetadata: [{ item: { mark: 1 } }],
    });
  });

  it("contain each result only once if withPlanner wraps another withPlanner", async () => {
    const model = createMockProvider([execute(command("look")), respond, text("Quiet.")]);
    const { result } = play([], { provider: withPlanner(withPlanner(model)), tools: [look] });
    expect((await result).text).toBe("Quiet.");
    const told = model.requests.map((request) => JSON.stringify(request.messages).split("action_results").length - 1);
    expect([told.length, told.slice(0, 2)]).toEqual([3, [0, 0]]);
    expect(lines(model.requests[2]).join("").split("a quiet place")).toHaveLength(2);
  });
});

describe("planLogs: a record", () => {
  it("contains the arguments that an approval has edited", async () => {
    const policy: Approve = () => ({ kind: "modify", args: { a: 1, b: 1 } });
    const { result } = plan([execute(command("add", { tool_kwargs: { a: 900, b: 9 } })), respond, text("2.")], {
      middleware: [approve(policy)],
    });
    expect(planLogs(await result)).toMatchObject([{ kwargs: { a: 1, b: 1 }, result: 2 }]);
  });

  it("contains a tool result's text and a note instead of an image", async () => {
    const image = { type: "image", mediaType: "image/png", data: "AAAA" } as const;
    const scan = tool("scan", () => toolResult({ data: 7, content: [{ type: "text", text: "Beware." }, image] }));
    const { result } = plan([execute(command("scan")), respond, text("Seven.")], { tools: [scan] });
    expect(planLogs(await result)[0]?.result).toEqual({
      result: 7,
      content: ["Beware.", "[image of type image/png, which cannot be shown here]"],
    });
  });

  it("lists the allowed tools for a blocked call", async () => {
    const { result } = plan([execute(command("add")), respond, text("No.")], {
      middleware: [gateTools({ active: true, allowedNames: ["look"] })],
    });
    expect(planLogs(await result)[0]?.error).toContain('"look"');
  });
});

describe("withPlanner: options.planner", () => {
  it("receives the conversation and the system text as its request", async () => {
    const seen: unknown[] = [];
    const { result } = plan(
      [text("Hello.")],
      { system: "Be brief." },
      { planner: ({ system, conversation }) => (seen.push(system, conversation), {}) },
    );
    await result;
    expect(seen).toEqual(["Be brief.", [{ role: "user", content: "Go." }]]);
  });
});

describe("withPlanner: the wrapped provider", () => {
  it("receives a signal that is aborted when the plan is closed early", async () => {
    const left: unknown[] = [];
    const model = createMockProvider([text("Hello.")]);
    const provider = withPlanner({
      id: "p",
      model: "m",
      stream: (request, call) => {
        if (left.length > 0) return model.stream(request, call);
        call.signal.addEventListener("abort", () => left.push((call.signal.reason as Error).name), { once: true });
        const chunks = [{ type: "text-delta", text: '{"next_action":"response",' } as const];
        return {
          [Symbol.asyncIterator]: () => ({
            next: () => {
              const value = chunks.pop();
              return value === undefined ? never : Promise.resolve({ done: false, value });
            },
          }),
        };
      },
    });
    const { result } = play([], { provider, tools: [add] });
    expect([(await result).text, left]).toEqual(["Hello.", ["AbortError"]]);
  });

  it.for<[what: string, stream: () => unknown, message: string]>([
    [
      "a promise",
      () => Promise.reject(new Error("no key")),
      "The provider's stream() did not return an async iterable. Make it an async generator.",
    ],
    ["nothing", () => undefined, "The provider's stream() did not return an async iterable. Make it an async generator."],
  ])("ends the run with a clear error if stream() returns %s", async ([, stream, message]) => {
    const { result } = play([], { provider: withPlanner({ id: "p", model: "m", stream } as never), tools: [add] });
    expect((await result).error?.message).toContain(message);
  });

  it("may return iterator results without promises", async () => {
    const turns = ['{"next_action":"response"}', "Hello."].map((said) => [
      { type: "text-delta", text: said },
      { type: "finish", reason: "stop" },
    ]);
    const stream = () => {
      const turn = turns.shift() ?? [];
      return { [Symbol.asyncIterator]: () => ({ next: () => ({ done: turn.length === 0, value: turn.shift() }) }) };
    };
    const { result } = play([], { provider: withPlanner({ id: "p", model: "m", stream } as never), tools: [add] });
    expect((await result).text).toBe("Hello.");
  });

  it.for<[what: string, wrap: typeof withRetry]>([
    ["withRetry", (provider) => withRetry(provider)],
    ["withFallback", (provider) => withFallback([provider])],
  ])("gets a new first-chunk timeout for the answer if withPlanner is inside %s", async ([, wrap]) => {
    const slow: MockMessage = [{ kind: "wait", ms: 80 }, text("Hello.")];
    const provider = wrap(withPlanner(createMockProvider([respond, slow])));
    const playing = play([], { provider, tools: [add], timeouts: { firstChunkMs: 100, streamIdleMs: 50 } });
    await playing.clock.runAll();
    expect((await playing.result).text).toBe("Hello.");
  });
});

it("withPlanner: ends the run with no-output if the answer has only tool calls", async () => {
  const { result } = plan([respond, toolCall("look")]);
  expect((await result).reason).toMatchObject({
    kind: "provider-error",
    error: {
      code: "no-output",
      message: "The answer contains only tool calls, although there are no tools. It must contain text.",
    },
  });
});
