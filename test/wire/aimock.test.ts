import { LLMock } from "@copilotkit/aimock";
import { defineTool, type LoopResult, runToolLoop } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectAnthropic } from "./anthropic-client.ts";
import { type MockedWire, mockedWires } from "./mocked-wires.ts";
import { ask, runIteration } from "./provider-iteration.ts";

const question = "Oslo or Rome?";
const toolCalls = ["Oslo", "Rome"].map((city) => ({
  id: `call_${city.toLowerCase()}`,
  name: "get_weather",
  arguments: JSON.stringify({ city }),
}));

async function startMock(besides: object = {}): Promise<LLMock> {
  const mock = new LLMock({ port: 0, chunkSize: 7, strict: true, logLevel: "silent" });
  onTestFinished(() => mock.stop());
  script(mock, besides);
  await mock.start();
  return mock;
}

function script(mock: LLMock, besides: object, faults: object = {}): void {
  mock.clearFixtures();
  const calling = { content: "Let me look at both.", toolCalls, reasoning: "Both, I think.", ...besides };
  mock.on({ userMessage: question, hasToolResult: false }, calling, faults);
  mock.on({ userMessage: question, hasToolResult: true }, { content: "Rome is warmer." });
}

interface Played {
  readonly result: LoopResult;
  readonly asked: readonly unknown[];
  readonly bodies: readonly unknown[];
}

async function play({ connect, check }: MockedWire, mock: LLMock): Promise<Played> {
  const { provider, bodies } = connect(mock.url);
  const asked: unknown[] = [];
  const weather = defineTool({
    name: "get_weather",
    description: "Weather of a city",
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
    execute: (args) => {
      asked.push(args);
      return { celsius: 3 };
    },
  });
  const messages = [{ role: "user" as const, content: question }];
  const result = await runToolLoop({ provider, tools: [weather], system: "Be brief.", messages });
  expect(bodies.map((body) => check(body))).toEqual(bodies.map(() => []));
  return { result, asked, bodies };
}

const cities = [{ city: "Oslo" }, { city: "Rome" }];

for (const wire of mockedWires) {
  describe(`${wire.name} against a mock server`, () => {
    it("runs two parallel calls, sends both results and returns the answer", async () => {
      const { result, asked, bodies } = await play(wire, await startMock(wire.besides));
      expect(result).toMatchObject({
        status: "completed",
        reason: { kind: "answered" },
        text: "Rome is warmer.",
        iterations: 2,
        toolCallsExecuted: 2,
        streamResults: [
          { finish: "tool-calls", reasoning: wire.reasoning, usage: { inputTokens: expect.any(Number) } },
          { finish: "stop" },
        ],
      });
      expect(asked).toEqual(cities);
      expect(bodies).toHaveLength(2);
      expect(bodies[1]).toMatchObject(wire.second);
    });

    it.for<[status: number, code: string]>([
      [429, "rate-limit"],
      [503, "overloaded"],
      [529, "overloaded"],
    ])('maps status %i to the error "%s"', async ([status, code]) => {
      const mock = await startMock(wire.besides);
      mock.nextRequestError(status, { message: "Later." });
      const { provider } = wire.connect(mock.url);
      const retryAfterMs = status === 429 ? wire.retryAfterMs : undefined;
      const { error } = await runIteration(provider, ask(question));
      expect(error).toMatchObject({ code, retryable: true, status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
      expect((await runIteration(provider, ask(question))).finish).toBe("tool-calls");
    });

    it.for<[fault: string, options: object, code: string]>([
      ["ends the stream early", { truncateAfterChunks: 2, streamingProfile: { ttft: 0, tps: 10_000 } }, "network"],
      ["closes the connection after 5 ms", { disconnectAfterMs: 5, streamingProfile: { ttft: 60_000 } }, "network"],
      ["closes the connection immediately", { chaos: { disconnectRate: 1 } }, "network"],
      ["drops the request", { chaos: { dropRate: 1 } }, "server"],
      ["reports a rate limit", { chaos: { rateLimitRate: 1 } }, "rate-limit"],
      ["sends data that is not a stream", { chaos: { malformedRate: 1 } }, "server"],
    ])("runs no tool if the mock server %s", async ([, options, code]) => {
      const mock = await startMock(wire.besides);
      script(mock, wire.besides, options);
      const broken = await play(wire, mock);
      expect(broken.result).toMatchObject({ status: "error", reason: { kind: "provider-error", error: { code } } });
      expect(broken.asked).toEqual([]);
    });
  });
}

it("anthropicMessages: sends the `betas` option as a header, alongside the SDK's headers", async () => {
  const mock = await startMock();
  const { client, headers } = connectAnthropic(mock.url);
  await runIteration(anthropicMessages({ client, model: "claude-opus-4-6", betas: ["a-1", "b-2"] }), ask(question));
  await runIteration(anthropicMessages({ client, model: "claude-opus-4-6" }), ask(question));
  expect(headers.map((sent) => [sent.get("anthropic-beta"), sent.has("anthropic-version")])).toEqual([
    ["a-1,b-2", true],
    [null, true],
  ]);
});
