// A service may refuse a forced call although no rule says so. The request is then sent once more with the choice "auto".

import { createLoopEvents, defineTool, prepareIteration, runToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";
import { strictService, text } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { recordAt } from "../../src/services/rule-checks.ts";
import { allRows, type StrictRow, titleOf } from "../services/connect-strict.ts";
import { chatText, connect, createRecorder, refuse as refuseWith } from "./service-client.ts";
import { createCall } from "./provider-iteration.ts";
import { collect } from "./scripted-stream.ts";

const instruction = 'Call the tool "look" now, instead of answering.';
const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object", properties: {} },
  execute: () => "seen",
});

/** True if the body forces a call, on any of the four wires. */
function isForcing(body: unknown): boolean {
  const { tool_choice: choice } = recordAt(body);
  const word = choice ?? recordAt(body, "toolConfig", "functionCallingConfig").mode;
  const said = typeof word === "string" ? word : (recordAt(word).type ?? "function");
  return word !== undefined && !["auto", "none", "AUTO", "NONE"].some((free) => free === said);
}

/** A fetch function that refuses forced calls with this message, and the bodies of its requests. */
function refuse({ kind }: StrictRow, message: string) {
  const service = strictService(kind, { answers: () => [text("Done.")] });
  const bodies: string[] = [];
  const fetch: typeof service.fetch = async (input, init) => {
    const body = z.string().parse(init?.body);
    bodies.push(body);
    const error = { message, type: "invalid_request_error", code: 400, status: "INVALID_ARGUMENT" };
    return isForcing(JSON.parse(body)) ? Response.json({ type: "error", error }, { status: 400 }) : service.fetch(input, init);
  };
  return { service: { ...service, fetch }, bodies };
}

async function play(row: StrictRow, message: string) {
  const { service, bodies } = refuse(row, message);
  const events = createLoopEvents();
  const changes: string[] = [];
  events.on("request-adjusted", (found) => changes.push(...found.changes.map(({ field, action }) => `${field} ${action}`)));
  const options = { provider: row.connect(service), tools: [look], events };
  const hooks = [prepareIteration(() => ({ toolChoice: { name: "look" } }))];
  const messages = [{ role: "user" as const, content: "Look." }];
  const first = await runToolLoop({ ...options, middleware: hooks, messages });
  const next = await runToolLoop({ ...options, middleware: hooks, messages });
  return { first, next, bodies, changes, refusals: service.refusals };
}

const forced = allRows.filter(
  ({ kind, model }) => !["ollama", "moonshot"].includes(kind) && !/opus-5[.-]5|glm|deepseek/.test(model),
);

describe.each(forced.map((row) => [titleOf(row), row] as const))("a forced call that %s refuses", (_title, row) => {
  it("becomes an instruction, even in later runs", async () => {
    const { first, next, bodies, changes, refusals } = await play(row, "Thinking mode does not support this tool_choice");
    expect([first.status, first.text, next.status, refusals]).toEqual(["completed", "Done.", "completed", []]);
    expect(bodies.map((body) => isForcing(JSON.parse(body)))).toEqual([true, false, false]);
    expect(bodies.map((body) => body.includes(JSON.stringify(instruction).slice(1, -1)))).toEqual([false, true, true]);
    expect(changes).toContain("toolChoice replaced");
  });
});

it("openaiChat: accepts an answer that ends with only [DONE] after a refused forced call", async () => {
  const chunk = { id: "chatcmpl-1", choices: [{ index: 0, delta: { role: "assistant", content: "Done." } }] };
  const { fetch } = createRecorder((body) =>
    isForcing(body)
      ? refuseWith(400, { error: { message: "Tool choice must be auto" } })
      : new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } }),
  );
  const provider = openaiChat({ client: connect(fetch), model: "some-model" });
  const hooks = [prepareIteration(() => ({ toolChoice: "required" as const }))];
  const result = await runToolLoop({
    provider,
    tools: [look],
    middleware: hooks,
    messages: [{ role: "user", content: "Look." }],
  });
  expect([result.status, result.text]).toEqual(["completed", "Done."]);
});

it.for([
  [
    "OpenRouter",
    "openrouter",
    "deepseek/deepseek-v4-flash",
    "reasoning",
    "Reasoning is mandatory for this endpoint and cannot be disabled.",
  ],
  [
    "DashScope",
    "dashscope",
    "qwen3.8-max-preview",
    "enable_thinking",
    "The value of the enable_thinking parameter is restricted to True.",
  ],
] as const)("openaiChat: asks again with an instruction if %s cannot turn thinking off for a forced call", async (row) => {
  const [, service, model, field, message] = row;
  const { fetch, bodies } = createRecorder((body) => (field in body ? refuseWith(400, { error: { message } }) : chatText()));
  const provider = openaiChat({ client: connect(fetch), model, service });
  const hooks = [prepareIteration(() => ({ toolChoice: "required" as const }))];
  const options = { provider, tools: [look], middleware: hooks, messages: [{ role: "user" as const, content: "Look." }] };
  const results = [await runToolLoop(options), await runToolLoop(options)];
  expect(results.map(({ status }) => status)).toEqual(["completed", "completed"]);
  expect(bodies.map((body) => [field in body, isForcing(body)])).toEqual([
    [true, true],
    [false, false],
    [false, false],
  ]);
});

const [chat] = allRows;

describe("a forced call's refusal", () => {
  it.each([
    'tool_choice: type "tool" and "any" are not supported for this model.',
    "tool_choice forces tool use is not compatible with this model",
    "The tool_choice parameter does not support being set to required or object in thinking mode",
    "tool_choice 'specified' is incompatible with thinking enabled",
    "Tool choice must be auto",
    'only `"auto"` is supported for `tool_choice`. `"none"`, `"required"`, and named function choices are not currently supported',
    "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
    "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again",
    "No endpoints found that support the provided 'tool_choice' value",
    "Function calling mode `ANY` is not enabled for api version v1beta",
    "Unable to submit request because the forced function calling (mode = ANY) is only supported for Gemini 1.5 Pro models.",
    "Reasoning is mandatory for this endpoint and cannot be disabled.",
    "The value of the enable_thinking parameter is restricted to True.",
    "The current model does not support disabling thinking Request id: 0217",
    "Unsupported thinking type for the current model: disabled",
  ])("is recognized: %s", async (message) => {
    const { first, bodies } = chat === undefined ? {} : await play(chat, message);
    expect([first?.status, bodies?.length]).toEqual(["completed", 3]);
  });

  it.each(["tool_choice: Input should be a valid dictionary", "Tool 'look' not found in provided tools"])(
    "is not recognized in %j, and the request is not resent",
    async (message) => {
      const { first, bodies } = chat === undefined ? {} : await play(chat, message);
      expect([first?.status, bodies?.length]).toEqual(["error", 2]);
    },
  );

  it("is reported if the run's limits allow no more requests", async () => {
    if (chat === undefined) throw new Error("There is no row.");
    const { service, bodies } = refuse(chat, "Tool choice must be auto");
    const request = {
      messages: [{ role: "user", content: "Look." }],
      tools: [look],
      toolChoice: "required",
      iteration: 0,
    } as const;
    const stream = chat.connect(service).stream(request, { ...createCall(), mayAsk: () => false });
    expect((await collect(stream)).thrown).toMatchObject({ message: expect.stringContaining("Tool choice must be auto") });
    expect(bodies).toHaveLength(1);
  });
});
