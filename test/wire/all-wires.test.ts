import {
  contextRestart,
  contextRestarts,
  createLoopControl,
  defineTool,
  finalAnswer,
  type LoopOptions,
  type LoopResult,
  onIteration,
  runToolLoop,
  type Tool,
  toolResult,
} from "turnwright";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Scripted, type ScriptedCall, type Wire, wires } from "./all-wires.ts";
import { startRawServer } from "./raw-sse-server.ts";
import { wordsFor } from "./scripted.ts";

const inputSchema = { type: "object", properties: { city: { type: "string" } } };
const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;

function createTools(): { readonly tools: readonly Tool[]; readonly asked: readonly unknown[] } {
  const asked: unknown[] = [];
  const behaviors: { readonly [name: string]: (args: unknown) => unknown } = {
    get_weather: () => ({ celsius: 3 }),
    fail: () => {
      throw new Error("The station is closed.");
    },
    look: () => toolResult({ success: true, data: "seen", content: [image] }),
    nothing: () => "",
    restart: () => contextRestart({ type: "context_restart_probe", enhanced_context_item: ["It is noon."] }),
  };
  const tools = Object.entries(behaviors).map(([name, behave]) =>
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

/** By default, the run must complete with the text "Mild." and without tool calls. */
interface Scenario {
  readonly script: readonly Scripted[];
  readonly options?: Partial<LoopOptions>;
  readonly status?: string;
  readonly text?: string;
  readonly asked?: number;
  readonly outcomes?: readonly string[];
  /** The number of output tokens. Default: 2 for each request. */
  readonly output?: number;
}

const scenarios: { readonly [what: string]: Scenario } = {
  "returns the text of the model": { script: [mild] },
  "runs a tool call and returns the next text": {
    script: [{ calls: [oslo], end: "tools" }, mild],
    asked: 1,
    outcomes: ["get_weather completed"],
  },
  "runs both calls of a message that also has a text": {
    script: [{ text: "One moment.", calls: [oslo, rome], end: "tools" }, mild],
    asked: 2,
    outcomes: ["get_weather completed", "get_weather completed"],
  },
  "runs calls in two iterations with a system prompt and model settings": {
    script: [{ calls: [oslo], end: "tools" }, { calls: [rome], end: "tools" }, mild],
    options: { system: "Be brief.", modelSettings: { maxOutputTokens: 100, temperature: 0, stopSequences: ["END"], seed: 1 } },
    asked: 2,
    outcomes: ["get_weather completed", "get_weather completed"],
  },
  "runs a call with empty arguments": { script: [calling("nothing", ""), mild], asked: 1, outcomes: ["nothing completed"] },
  "continues after a tool throws": { script: [calling("fail"), mild], asked: 1, outcomes: ["fail failed"] },
  "continues after a call to an unknown tool with an invalid name": {
    script: [calling("get weather!"), mild],
    outcomes: ["get weather! unknown-tool"],
  },
  "continues after a tool returns an image": {
    script: [calling("look"), mild],
    asked: 1,
    outcomes: ["look completed"],
  },
  "continues after a tool returns contextRestart()": {
    script: [calling("restart"), mild],
    options: { middleware: [contextRestarts()] },
    asked: 1,
  },
  "runs a call if the `contextItems` option is set": {
    script: [calling("get_weather"), mild],
    options: { middleware: [contextRestarts({ items: ["It is noon."] })] },
    asked: 1,
    outcomes: ["get_weather completed"],
  },
  "accepts messages that begin with an assistant message": {
    script: [mild],
    options: {
      messages: [
        { role: "assistant", content: [{ type: "text", text: "Hello! " }] },
        { role: "user", content: "Oslo?" },
      ],
    },
  },
  'reports the outcome "malformed" for arguments that are invalid JSON': {
    script: [calling("get_weather", '{"city":'), mild],
    outcomes: ["get_weather malformed"],
  },
  "runs a call whose arguments are a list": {
    script: [calling("get_weather", "[1]"), mild],
    asked: 1,
    outcomes: ["get_weather completed"],
  },
  'reports the outcome "truncated" for all calls if the length limit cuts off the last call': {
    script: [{ calls: [oslo, ["call_2", "get_weather", '{"ci']], end: "length" }, mild],
    outcomes: ["get_weather truncated", "get_weather truncated"],
  },
  "returns a partial text if the length limit cuts the text off": {
    script: [{ text: "Mi", end: "length" }],
    status: "completed/length",
    text: "Mi",
  },
  "runs both calls if two iterations use the same call id": {
    script: [{ calls: [oslo], end: "tools" }, { calls: [oslo], end: "tools" }, mild],
    asked: 2,
    outcomes: ["get_weather completed", "get_weather completed"],
  },
  'ends with the status "empty-response" after an empty answer': {
    script: [{ end: "stop" }],
    status: "empty-response/empty",
    text: "",
  },
  'ends with the error "finish-unknown" after an unknown stop reason': {
    script: [{ calls: [oslo], end: "unknown" }],
    status: "error/provider-error/finish-unknown",
    text: "",
  },
  'ends with the error "rate-limit" if the service responds with status 429': {
    script: [{ status: 429, message: "Slow.", retryAfter: "7" }],
    status: "error/provider-error/rate-limit",
    text: "",
    output: 0,
  },
  "fails on status 401": { script: [{ status: 401, message: "No." }], status: "error/provider-error/auth", text: "", output: 0 },
  'ends with the error "context-too-long" if the prompt is too long': {
    script: [{ status: 400, message: "prompt is too long: 9 tokens > 8 maximum" }],
    status: "error/provider-error/context-too-long",
    text: "",
    output: 0,
  },
  'ends with the status "timeout" at limits.maxIterations': {
    script: [{ calls: [oslo], end: "tools" }],
    options: { limits: { maxIterations: 1 } },
    status: "timeout/max-iterations",
    text: "",
    asked: 1,
    outcomes: ["get_weather completed"],
  },
  "returns a final answer at limits.maxIterations with finalAnswer()": {
    script: [{ calls: [oslo], end: "tools" }, mild],
    options: { limits: { maxIterations: 1 }, middleware: [finalAnswer()] },
    status: "timeout/max-iterations",
    text: "Mild.",
    asked: 1,
    outcomes: ["get_weather completed"],
  },
};

describe.for(wires)("runToolLoop with provider $name", (wire) => {
  it.for(Object.entries(scenarios))("%s", async ([, scenario]) => {
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

  it.for<[fault: string, end: "lost" | "dropped" | "broken", code: string]>([
    ["ends without a stop reason", "lost", "stream-ended-early"],
    ["loses its connection", "dropped", "network"],
    ["reports an error", "broken", "overloaded"],
  ])("runs no call if the stream %s", async ([, end, code]) => {
    const { result, asked } = await play(wire, [{ text: "Let me see.", calls: [oslo], end }]);
    expect(result).toMatchObject({ status: "error", reason: { kind: "provider-error", error: { code } }, text: "Let me see." });
    expect(asked).toEqual([]);
    const next = await play(wire, [mild], { messages: [...result.messages, { role: "user", content: "Go on." }] });
    expect(next.result).toMatchObject({ status: "completed", text: "Mild." });
  });

  const declining = (["refusal", "content-filter"] as const).filter((end) => wordsFor(wire.ends, end).length > 0);
  it.for(declining)('returns messages that can be sent again after ending with the reason "%s"', async (end) => {
    const { result, asked } = await play(wire, [{ text: "No. ", calls: [oslo], end }]);
    expect(result).toMatchObject({ status: "completed", reason: { kind: end }, text: expect.stringMatching(/^No\./) });
    expect(asked).toEqual([]);
    const next = await play(wire, [mild], { messages: [...result.messages, { role: "user", content: "Go on." }] });
    expect(next.result.text).toBe("Mild.");
  });

  it("sends a message from control.steer() after the tool results", async () => {
    const control = createLoopControl();
    const { result, bodies } = await play(wire, [{ calls: [oslo, rome], end: "tools" }, mild], {
      control,
      middleware: [
        onIteration(() => {
          control.steer({ role: "user", content: "And Bergen?" });
        }),
      ],
    });
    expect(result).toMatchObject({ status: "completed", text: "Mild." });
    const sent = JSON.stringify(bodies[1]);
    expect(sent.lastIndexOf("celsius")).toBeLessThan(sent.indexOf("And Bergen?"));
  });

  it.for(wires.filter(({ name }) => name !== wire.name))(
    "continues a conversation that began with provider $name",
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
