// Runs the same scenarios over all provider APIs, with the real SDKs. Each API gives the same ending and the same text.

import {
  contextRestart,
  createLoopControl,
  defineTool,
  runToolLoop,
  toolResult,
  type LoopOptions,
  type LoopResult,
  type Tool,
} from "turnwright";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Scripted, type ScriptedCall, type Wire, wires } from "./all-wires.ts";
import { startRawServer } from "./raw-sse-server.ts";
import { wordsFor } from "./scripted.ts";

const inputSchema = { type: "object", properties: { city: { type: "string" } } };
const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;

/** Each tool behaves as its name says. */
function createTools(): { readonly tools: readonly Tool[]; readonly asked: readonly unknown[] } {
  const asked: unknown[] = [];
  const behaviours: { readonly [name: string]: (args: unknown) => unknown } = {
    get_weather: () => ({ celsius: 3 }),
    fail: () => {
      throw new Error("The station is closed.");
    },
    look: () => toolResult({ success: true, data: "seen", content: [image] }),
    nothing: () => "",
    restart: () => contextRestart({ type: "context_restart_probe", enhanced_context_item: ["It is noon."] }),
  };
  const tools = Object.entries(behaviours).map(([name, behave]) =>
    defineTool({
      name,
      description: `Tool ${name}`,
      inputSchema,
      execute: (args) => (asked.push(args), behave(args)),
    }),
  );
  return { tools, asked };
}

interface Played {
  readonly result: LoopResult;
  readonly bodies: readonly unknown[];
  readonly asked: readonly unknown[];
}

async function play(wire: Wire, script: readonly Scripted[], options: Partial<LoopOptions> = {}): Promise<Played> {
  const server = await startRawServer(script.map((scripted) => wire.toReply(scripted)));
  onTestFinished(() => server.close());
  const { provider, bodies } = wire.connect(server.url);
  const { tools, asked } = createTools();
  const result = await runToolLoop({ provider, tools, messages: [{ role: "user", content: "Oslo or Rome?" }], ...options });
  expect(bodies.map((body) => wire.check(body))).toEqual(bodies.map(() => []));
  return { result, bodies, asked };
}

function toFacts({ result, bodies, asked }: Played): object {
  const { status, reason, text, iterations, functionHistory, usage } = result;
  return {
    status: `${status}/${reason.kind}${reason.kind === "provider-error" ? `/${reason.error.code}` : ""}`,
    text,
    requests: bodies.length,
    iterations,
    asked: asked.length,
    outcomes: functionHistory.map(({ functionCall, outcome }) => `${functionCall.name} ${outcome}`),
    output: usage.outputTokens,
  };
}

const oslo: ScriptedCall = ["call_oslo", "get_weather", '{"city":"Oslo"}'];
const rome: ScriptedCall = ["call_rome", "get_weather", '{"city":"Rome"}'];
const calling = (name: string, args = "{}"): Scripted => ({ calls: [["call_1", name, args]], end: "tools" });
const mild: Scripted = { text: "Mild.", end: "stop" };

/** By default, the run is completed with the text "Mild." */
interface Scenario {
  readonly script: readonly Scripted[];
  readonly options?: Partial<LoopOptions>;
  readonly status?: string;
  readonly text?: string;
  readonly asked?: number;
  readonly outcomes?: readonly string[];
  /** Default: the sum of the output tokens of all answers. */
  readonly output?: number;
}

const scenarios: { readonly [what: string]: Scenario } = {
  "a text": { script: [mild] },
  "one tool": {
    script: [{ calls: [oslo], end: "tools" }, mild],
    asked: 1,
    outcomes: ["get_weather completed"],
  },
  "parallel tools after a text": {
    script: [{ text: "One moment.", calls: [oslo, rome], end: "tools" }, mild],
    asked: 2,
    outcomes: ["get_weather completed", "get_weather completed"],
  },
  "several iterations with a system prompt": {
    script: [{ calls: [oslo], end: "tools" }, { calls: [rome], end: "tools" }, mild],
    options: { system: "Be brief.", modelSettings: { maxOutputTokens: 100, temperature: 0, stopSequences: ["END"], seed: 1 } },
    asked: 2,
    outcomes: ["get_weather completed", "get_weather completed"],
  },
  "a tool without arguments": {
    script: [calling("nothing", ""), mild],
    asked: 1,
    outcomes: ["nothing completed"],
  },
  "a failing tool": {
    script: [calling("fail"), mild],
    asked: 1,
    outcomes: ["fail failed"],
  },
  "an unknown tool with a name that no service accepts": {
    script: [calling("get weather!"), mild],
    outcomes: ["get weather! unknown-tool"],
  },
  "an image as a result": {
    script: [calling("look"), mild],
    asked: 1,
    outcomes: ["look completed"],
  },
  "a context restart": {
    script: [calling("restart"), mild],
    asked: 1,
  },
  "context items": {
    script: [calling("get_weather"), mild],
    options: { contextItems: ["It is noon."] },
    asked: 1,
    outcomes: ["get_weather completed"],
  },
  "a greeting by the model at the start": {
    script: [mild],
    options: {
      messages: [
        { role: "assistant", content: [{ type: "text", text: "Hello! " }] },
        { role: "user", content: "Oslo?" },
      ],
    },
  },
  "malformed arguments": {
    script: [calling("get_weather", '{"city":'), mild],
    outcomes: ["get_weather malformed"],
  },
  "arguments that are not an object": {
    script: [calling("get_weather", "[1]"), mild],
    asked: 1,
    outcomes: ["get_weather completed"],
  },
  "calls cut by length": {
    script: [{ calls: [oslo, ["call_2", "get_weather", '{"ci']], end: "length" }, mild],
    outcomes: ["get_weather truncated", "get_weather truncated"],
  },
  "a text that is cut off by the length limit": {
    script: [{ text: "Mi", end: "length" }],
    status: "completed/length",
    text: "Mi",
  },
  "a repeated call id": {
    script: [{ calls: [oslo], end: "tools" }, { calls: [oslo], end: "tools" }, mild],
    asked: 2,
    outcomes: ["get_weather completed", "get_weather completed"],
  },
  "an empty answer": { script: [{ end: "stop" }], status: "empty-response/empty", text: "" },
  "an unknown stop reason with a call": {
    script: [{ calls: [oslo], end: "unknown" }],
    status: "error/provider-error/finish-unknown",
    text: "",
  },
  "a rate limit": {
    script: [{ status: 429, message: "Slow.", retryAfter: "7" }],
    status: "error/provider-error/rate-limit",
    text: "",
    output: 0,
  },
  "a refused key": { script: [{ status: 401, message: "No." }], status: "error/provider-error/auth", text: "", output: 0 },
  "a prompt that is too long": {
    script: [{ status: 400, message: "prompt is too long: 9 tokens > 8 maximum" }],
    status: "error/provider-error/context-too-long",
    text: "",
    output: 0,
  },
  "the iteration limit": {
    script: [{ calls: [oslo], end: "tools" }],
    options: { limits: { maxIterations: 1 } },
    status: "timeout/max-iterations",
    text: "",
    asked: 1,
    outcomes: ["get_weather completed"],
  },
  "a final answer after the iteration limit": {
    script: [{ calls: [oslo], end: "tools" }, mild],
    options: { limits: { maxIterations: 1 }, policies: { finalAnswer: true } },
    status: "timeout/max-iterations",
    text: "Mild.",
    asked: 1,
    outcomes: ["get_weather completed"],
  },
};

describe.for(wires)("runToolLoop over $name", (wire) => {
  it.for(Object.entries(scenarios))("gives the expected result for %s", async ([, scenario]) => {
    const { script, options, status = "completed/answered", text = "Mild.", asked = 0, outcomes = [] } = scenario;
    const played = await play(wire, script, options);
    expect(toFacts(played)).toEqual({
      status,
      text,
      requests: script.length,
      iterations: options?.limits?.maxIterations ?? script.length,
      asked,
      outcomes,
      output: scenario.output ?? 2 * script.length,
    });
  });

  it.for<[end: "lost" | "dropped" | "broken", code: string]>([
    ["lost", "stream-ended-early"],
    ["dropped", "network"],
    ["broken", "overloaded"],
  ])("runs no call from a stream that was %s, and leaves messages that can be sent", async ([end, code]) => {
    const { result, asked } = await play(wire, [{ text: "Let me see.", calls: [oslo], end }]);
    expect(result).toMatchObject({ status: "error", reason: { kind: "provider-error", error: { code } }, text: "Let me see." });
    expect(asked).toEqual([]);
    const next = await play(wire, [mild], { messages: [...result.messages, { role: "user", content: "Go on." }] });
    expect(next.result).toMatchObject({ status: "completed", text: "Mild." });
  });

  const declining = (["refusal", "content-filter"] as const).filter((end) => wordsFor(wire.ends, end).length > 0);
  it.for(declining)("ends with %s and leaves messages that can be sent", async (end) => {
    const { result, asked } = await play(wire, [{ text: "No. ", calls: [oslo], end }]);
    expect(result).toMatchObject({ status: "completed", reason: { kind: end }, text: expect.stringMatching(/^No\./) });
    expect(asked).toEqual([]);
    const next = await play(wire, [mild], { messages: [...result.messages, { role: "user", content: "Go on." }] });
    expect(next.result.text).toBe("Mild.");
  });

  it("sends a steered message after the tool results", async () => {
    const control = createLoopControl();
    const { result, bodies } = await play(wire, [{ calls: [oslo, rome], end: "tools" }, mild], {
      control,
      hooks: {
        onIteration: () => {
          control.steer({ role: "user", content: "And Bergen?" });
        },
      },
    });
    expect(result).toMatchObject({ status: "completed", text: "Mild." });
    const sent = JSON.stringify(bodies[1]);
    expect(sent.lastIndexOf("celsius")).toBeLessThan(sent.indexOf("And Bergen?"));
  });

  it.for(wires.filter(({ name }) => name !== wire.name))(
    "continues a conversation that was started over $name",
    async (other) => {
      const begun = await play(other, [
        { text: "One moment.", calls: [["functions.get_weather:0", "look", "{}"]], end: "tools" },
        mild,
      ]);
      const { result } = await play(wire, [mild], { messages: [...begun.result.messages, { role: "user", content: "Go on." }] });
      expect(result).toMatchObject({ status: "completed", text: "Mild." });
    },
  );
});
