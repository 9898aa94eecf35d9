// The strict service itself: its answers through the SDKs, its endings, its server and its options.

import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { createLoopControl, defineTool, type LoopResult, type Provider, providerError, runToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";
import {
  createTestClock,
  endEarly,
  fail,
  failInBand,
  finish,
  heartbeat,
  type MockMessage,
  reasoning,
  refusal,
  stall,
  strictService,
  text,
  toolCall,
  usage,
  wait,
} from "turnwright/testing";
import { chatOddities, type ChatOddity } from "../../src/services/oddities.ts";
import { strictRows, titleOf } from "./connect-strict.ts";

const look = defineTool({
  name: "look",
  description: "Looks at a place.",
  inputSchema: { type: "object", properties: { at: { type: "string" } } },
  execute: (args) => ({ seen: args }),
});
const messages = [{ role: "user" as const, content: "Look." }];

const answers: readonly MockMessage[] = [
  [
    reasoning("Two places.", { chunks: 2 }),
    text("Looking."),
    toolCall("look", { at: "home" }, { fragments: 3 }),
    toolCall("look", { at: "work" }, { fragments: 2 }),
  ],
  [text("Done.", { chunks: 2 }), usage({ inputTokens: 100, outputTokens: 20, cachedInputTokens: 40 })],
];

/** The results of the tool, in the order of the calls. */
function seenIn({ messages: said }: LoopResult): readonly unknown[] {
  return said.flatMap((message): readonly unknown[] =>
    message.role === "tool" ? message.results.map(({ result }) => result) : [],
  );
}

describe.each(strictRows)("strictService: $kind with $model", (row) => {
  it.each([
    ["as the API describes it", false],
    ["with all oddities", true],
    ["with some oddities", 7],
  ])("serves a run %s", async (_title, oddities) => {
    const service = strictService(row.kind, { answers, oddities });
    const provider = row.connect(service);
    const result = await runToolLoop({ provider, tools: [look], messages });
    expect(service.refusals.map(({ message }) => message)).toEqual([]);
    expect([result.status, result.text, result.error?.message]).toEqual(["completed", "Done.", undefined]);
    expect(seenIn(result)).toEqual([{ seen: { at: "home" } }, { seen: { at: "work" } }]);
    expect(service.requests).toHaveLength(2);
    expect(service.requests[0]?.tools).toEqual(["look"]);
  });
});

const run = (provider: Provider): ReturnType<typeof runToolLoop> => runToolLoop({ provider, tools: [look], messages });

describe.each(strictRows.map((row) => [titleOf(row), row] as const))(
  "strictService: a run with %s",
  (_title, { kind, connect }) => {
    it("ends as the script specifies", async () => {
      const endings: readonly (readonly [message: MockMessage, status: string, reason: string, more?: string])[] = [
        [[text("So."), finish("length")], "completed", "length"],
        [fail({ status: 503, message: "Overloaded" }), "error", "provider-error", "overloaded"],
        [fail({ status: 429, message: "Slow down", headers: { "retry-after": "2" } }), "error", "provider-error", "rate-limit"],
        [[text("So."), fail(new TypeError("terminated"))], "error", "provider-error", "network"],
        [[text("So."), endEarly()], "error", "provider-error", "stream-ended-early"],
        [[text("So."), heartbeat(), text(" Done.")], "completed", "answered"],
      ];
      for (const [message, status, reason, code] of endings) {
        const result = await run(connect(strictService(kind, { answers: [message] })));
        const found = [
          result.status,
          result.reason.kind,
          result.reason.kind === "provider-error" ? result.reason.error.code : undefined,
        ];
        expect(found).toEqual([status, reason, code]);
      }
    });

    it("can be stopped while the service uses a test clock", async () => {
      const clock = createTestClock();
      const service = strictService(kind, { answers: [[text("So."), wait(500), text(" Wait."), stall()]], clock });
      const control = createLoopControl();
      const running = runToolLoop({ provider: connect(service), messages, control, clock });
      for (let step = 0; step < 20; step += 1) await clock.advance(100);
      control.stop();
      const result = await running;
      expect([result.status, result.text.replace(/\s+/g, " ")]).toEqual(["stopped-by-user", "So. Wait."]);
    });
  },
);

it.each(Object.keys(chatOddities) as readonly ChatOddity[])("openaiChat reads a stream with the oddity %s", async (oddity) => {
  const service = strictService("deepseek", { answers, oddities: [oddity] });
  const client = new OpenAI({ apiKey: "test", baseURL: "https://service.test/v1", fetch: service.fetch, maxRetries: 0 });
  const result = await run(openaiChat({ client, model: "m" }));
  expect([result.status, result.text, seenIn(result)]).toEqual([
    "completed",
    "Done.",
    [{ seen: { at: "home" } }, { seen: { at: "work" } }],
  ]);
});

describe("strictService", () => {
  const client = (service: { readonly fetch: typeof fetch }): OpenAI =>
    new OpenAI({ apiKey: "test", baseURL: "https://service.test/v1", fetch: service.fetch, maxRetries: 0 });
  const question = { model: "gpt-4.1", messages: [{ role: "user" as const, content: "Hi" }] };

  it("answers without streaming", async () => {
    const service = strictService("openai-chat", {
      answers: [[text("Hi."), toolCall("look", {}, { id: "call_1" })], refusal("No.")],
    });
    const first = await client(service).chat.completions.create(question);
    const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
    expect(first.choices[0]).toMatchObject({ message: { content: "Hi.", tool_calls: [call] }, finish_reason: "tool_calls" });
    const second = await client(service).chat.completions.create(question);
    expect(second.choices[0]).toMatchObject({ message: { content: null, refusal: "No." }, finish_reason: "stop" });
    const third = await client(service).chat.completions.create(question);
    expect(third.choices[0]?.message.content).toBe("ok");
  });

  it("takes its answers from a function of the request, and does not count refused requests", async () => {
    const service = strictService("openai-chat", {
      answers: ({ body, tools }, index) => text(`${index} ${String(body["model"])} ${tools.length}`),
    });
    await expect(client(service).chat.completions.create({ ...question, messages: [] })).rejects.toMatchObject({ status: 400 });
    const { choices } = await client(service).chat.completions.create(question);
    expect(choices[0]?.message.content).toBe("0 gpt-4.1 0");
    expect(service.requests).toHaveLength(2);
    expect(service.refusals).toMatchObject([
      { rule: "A request has at least one message.", status: 400, request: { tools: [] } },
    ]);
  });

  it("reports an error inside a stream", async () => {
    const service = strictService("openai-chat", { answers: [[text("So."), failInBand(providerError("overloaded", "Busy."))]] });
    const result = await run(openaiChat({ client: client(service), model: "gpt-4.1" }));
    expect([result.status, result.reason.kind]).toEqual(["error", "provider-error"]);
  });

  it("listens on a port until it is closed", async () => {
    const service = strictService("anthropic", { answers: [text("Hi.")] });
    const { url, close } = await service.listen();
    const init = { method: "POST", headers: { "anthropic-version": "2023-06-01" } };
    const body = { model: "claude-opus-5", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
    const accepted = await fetch(`${url}/v1/messages`, { ...init, body: JSON.stringify(body) });
    expect(await accepted.json()).toMatchObject({ type: "message", content: [{ type: "text", text: "Hi." }] });
    const refused = await fetch(`${url}/v1/messages`, { ...init, body: JSON.stringify({ ...body, messages: [] }) });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { type: "error", error: { type: "invalid_request_error" } },
    ]);
    await close();
    await expect(fetch(`${url}/v1/messages`, { ...init, body: JSON.stringify(body) })).rejects.toThrow("fetch failed");
  });

  it("refuses an unknown address and a body that is not JSON", async () => {
    const service = strictService("anthropic");
    const lost = await service.fetch("https://service.test/v1/chat/completions", { method: "POST", body: "{}" });
    const unreadable = await service.fetch("https://service.test/v1/messages", { method: "POST", body: "{" });
    expect([lost.status, unreadable.status]).toEqual([404, 400]);
    expect(await lost.json()).toMatchObject({ error: { type: "not_found_error" } });
    expect(service.refusals).toHaveLength(2);
  });

  it.each([
    ["kind", () => strictService("opneai" as "mistral")],
    ["answers", () => strictService("mistral", { answers: "Hi" as unknown as [] })],
    ["oddities", () => strictService("mistral", { oddities: "all" as unknown as boolean })],
    ["oddities[1]", () => strictService("mistral", { oddities: ["no-index", "null-id" as "null-ids"] })],
    ["oddities", () => strictService("anthropic", { oddities: ["null-ids"] })],
  ])("throws invalid-option for an invalid %s", (option, make) => {
    expect(make).toThrow(expect.objectContaining({ code: "invalid-option", details: expect.objectContaining({ option }) }));
  });

  it("throws a TypeError for an invalid message in the script", () => {
    expect(() => strictService("mistral", { answers: ["Hi" as unknown as MockMessage] })).toThrow(
      new TypeError(`The mock provider's script is invalid: message 0 is a string. Write text("...") for text from the model.`),
    );
  });

  it("alternates between mutually exclusive oddities", async () => {
    const service = strictService("mistral", { answers: [answers[0] ?? []], oddities: true });
    const fragments = new Map<number, unknown[]>();
    const stream = await client(service).chat.completions.create({ ...question, model: "mistral-large-4", stream: true });
    for await (const { choices } of stream) {
      for (const { index, id } of choices[0]?.delta.tool_calls ?? []) {
        fragments.set(index, [...(fragments.get(index) ?? []), id]);
      }
    }
    const id = expect.stringMatching(/^[a-z\d]{9}$/);
    const other = expect.stringMatching(/~$/);
    expect([...fragments.values()]).toEqual([[id, null, other, null], [id]]);
  });

  it.each(["vllm", "llama-server", "ollama", "openrouter"] as const)(
    "for a Mistral model at %s, uses call ids that the model accepts",
    async (kind) => {
      const service = strictService(kind, { answers: [toolCall("look")] });
      const body = { ...question, model: "mistralai/mistral-small-4" };
      const { choices } = await client(service).chat.completions.create(body);
      expect(choices[0]?.message.tool_calls?.[0]?.id).toMatch(/^[a-z\d]{9}$/);
    },
  );

  it("refuses a message that cannot be sent over the wire", async () => {
    const service = strictService("mistral", { answers: [{ kind: "chunks", chunks: [{ type: "details", text: "x" }] }] });
    await expect(client(service).chat.completions.create({ ...question, model: "mistral-large-4" })).rejects.toThrow(
      "Connection error",
    );
  });
});
