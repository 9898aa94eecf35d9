import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import {
  type Json,
  type LoopOptions,
  type LoopResult,
  prepareIteration,
  type Provider,
  runToolLoop,
  structuredOutput,
  withFallback,
  withRetry,
} from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";
import {
  createMockProvider,
  fail,
  memoryCassette,
  type MockScript,
  recordTo,
  replayFrom,
  text,
  toolCall,
} from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { play as playMock } from "../loop/play.ts";
import { type Scripted, type Wire, wires } from "./all-wires.ts";

interface Body {
  readonly [field: string]: unknown;
}

type Connect = (fetch: typeof globalThis.fetch, options: object) => Provider;

/** The clients use the real addresses of the vendors. */
const connects: { readonly [Name in Wire["name"]]: Connect } = {
  openai: (fetch, options) => openaiChat({ client: new OpenAI({ apiKey: "test", fetch }), model: "gpt-5", ...options }),
  "openai-responses": (fetch, options) =>
    openaiResponses({ client: new OpenAI({ apiKey: "test", fetch }), model: "gpt-5", ...options }),
  anthropic: (fetch, options) =>
    anthropicMessages({ client: new Anthropic({ apiKey: "test", fetch }), model: "claude-opus-4-6", ...options }),
  google: (fetch, options) =>
    googleGenerateContent({
      client: new GoogleGenAI({ apiKey: "test", httpOptions: { fetch } }),
      model: "gemini-3-pro-preview",
      ...options,
    }),
};

const schema = z.object({ city: z.string().min(2), degrees: z.int() });
const instructions = "Give your final answer as JSON";

const sent = {
  type: "object",
  properties: { city: { type: "string", description: 'Constraints: {"minLength":2}' }, degrees: { type: "integer" } },
  required: ["city", "degrees"],
  additionalProperties: false,
};

const strict = { name: "answer", schema: sent, strict: true };
const formats: { readonly [Name in Wire["name"]]: Body } = {
  openai: { response_format: { type: "json_schema", json_schema: strict } },
  "openai-responses": { text: { format: { type: "json_schema", ...strict } } },
  anthropic: { output_config: { format: { type: "json_schema", schema: sent } } },
  google: { responseMimeType: "application/json", responseJsonSchema: sent },
};

const wireOf = (name: Wire["name"]): Wire => {
  const found = wires.find((wire) => wire.name === name);
  if (found === undefined) throw new Error(`There is no wire ${name}.`);
  return found;
};

interface Played {
  readonly result: LoopResult;
  /** For each request, the fields that describe the format in the body that the SDK passed to `fetch`. */
  readonly formats: readonly Body[];
  readonly described: readonly boolean[];
}

const weather = { city: "Oslo", degrees: 3 };
const answer = { text: '{"city":"Oslo","degrees":3}', end: "stop" } satisfies Scripted;
const call: Scripted = { calls: [["a", "look", "{}"]], end: "tools" };

interface Playing extends Partial<LoopOptions> {
  readonly script?: readonly Scripted[];
  readonly connecting?: object;
}

async function play(name: Wire["name"], { script = [answer], connecting = {}, ...options }: Playing = {}): Promise<Played> {
  const bodies: Body[] = [];
  const wire = wireOf(name);
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    bodies.push(JSON.parse(init?.body as string));
    const reply = wire.toReply(script[bodies.length - 1] ?? answer);
    const frames = "frames" in reply ? reply.frames : [];
    return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
  };
  const result = await runToolLoop({
    provider: connects[name](fetch, connecting),
    messages: [{ role: "user", content: "Oslo?" }],
    system: "Be brief.",
    middleware: [structuredOutput(schema)],
    ...options,
  });
  expect(bodies.flatMap((body) => wire.check(body))).toEqual([]);
  const fields = Object.keys(formats[name]);
  const pick = (body: Body): Body => {
    const config = { ...body, ...(body["generationConfig"] as Body | undefined) };
    return Object.fromEntries(fields.flatMap((field) => (config[field] === undefined ? [] : [[field, config[field]]])));
  };
  return {
    result,
    formats: bodies.map(pick),
    described: bodies.map((body) => JSON.stringify(body).includes(instructions)),
  };
}

const look = { name: "look", description: "Looks", inputSchema: { type: "object" }, execute: () => "3 degrees" } as const;
const names = wires.map(({ name }) => name);

describe("structuredOutput: the request's schema field", () => {
  it.for(names)("is filled by %s in each request of a run with tools", async (name) => {
    const script = [call, { ...answer, text: '{"city":"O","degrees":3}' }, answer];
    const { result, formats: found, described } = await play(name, { script, tools: [look] });
    expect([result.output, result.iterations]).toEqual([{ city: "Oslo", degrees: 3 }, 3]);
    expect(found).toEqual([0, 1, 2].map(() => formats[name]));
    expect(described).toEqual([false, false, false]);
  });

  const open = structuredOutput(z.record(z.string(), z.number()));
  const values = structuredOutput(z.array(z.string()));
  const own: { readonly [Name in Wire["name"]]: { readonly [field: string]: Json } } = {
    openai: { response_format: { type: "json_object" } },
    "openai-responses": { text: { format: { type: "json_object" } } },
    anthropic: { output_config: { format: { type: "json_schema", schema: {} } } },
    google: { responseMimeType: "application/json" },
  };
  const fallbacks: readonly (readonly [title: string, toPlaying: (name: Wire["name"]) => Playing])[] = [
    ["the option native: false", () => ({ middleware: [structuredOutput(schema, { native: false })] })],
    ["the adapter option structuredOutput: false", () => ({ connecting: { structuredOutput: false } })],
    ["a schema that allows any key", () => ({ middleware: [open] })],
    ["a schema for a list", () => ({ middleware: [values] })],
    ["a format in modelSettings.extra", (name) => ({ modelSettings: { extra: own[name] } })],
  ];
  it.for(fallbacks.flatMap(([title, toPlaying]) => names.map((name) => [name, title, toPlaying] as const)))(
    "is replaced by instructions (provider %s, %s)",
    async ([name, title, toPlaying]) => {
      const { formats: found, described } = await play(name, { script: [answer, answer, answer], ...toPlaying(name) });
      expect(described[0]).toBe(true);
      expect(found[0]).toEqual(title === "a format in modelSettings.extra" ? own[name] : {});
    },
  );

  const special: readonly (readonly [title: string, name: Wire["name"], playing: Playing, isNative: boolean])[] = [
    [
      "replaced by instructions for Gemini 2.5 with tools",
      "google",
      { connecting: { model: "gemini-2.5-flash" }, tools: [look] },
      false,
    ],
    ["filled for Gemini 2.5 without tools", "google", { connecting: { model: "gemini-2.5-flash" } }, true],
    [
      "replaced by instructions for Gemini 3 with a required call",
      "google",
      { tools: [look], toolChoice: "required", limits: { maxIterations: 1 } },
      false,
    ],
    ["replaced by instructions for Gemini 2.0", "google", { connecting: { model: "gemini-2.0-flash" } }, false],
    ["replaced by instructions for Claude 3", "anthropic", { connecting: { model: "claude-3-5-haiku-latest" } }, false],
    ["replaced by instructions for Claude Opus 4", "anthropic", { connecting: { model: "claude-opus-4-20250514" } }, false],
    ["filled for Claude Opus 4.1", "anthropic", { connecting: { model: "claude-opus-4-1-20250805" } }, true],
    [
      "replaced by instructions for Claude with a web search of the service",
      "anthropic",
      { connecting: { serverTools: [{ type: "web_search_20250305", name: "web_search" }] } },
      false,
    ],
    ["replaced by instructions for gpt-4-turbo", "openai", { connecting: { model: "gpt-4-turbo" } }, false],
    ["filled for gpt-4.1", "openai", { connecting: { model: "gpt-4.1" } }, true],
  ];
  it.for(special)("is %s", async ([, name, playing, isNative]) => {
    const { formats: found, described } = await play(name, playing);
    expect([described[0], Object.keys(found[0] ?? {}).length > 0]).toEqual([!isNative, isNative]);
  });

  it("is used by default only for the vendors' own addresses", () => {
    const abilities = ["http://localhost/v1", "https://api.openai.com.example.org/v1", "https://eu.api.openai.com/v1", "?"].map(
      (baseURL) => openaiChat({ client: new OpenAI({ apiKey: "test", baseURL }), model: "gpt-5" }).structuresOutput,
    );
    expect(abilities).toEqual([undefined, undefined, true, undefined]);
    const local = new Anthropic({ apiKey: "test", baseURL: "http://localhost" });
    expect(anthropicMessages({ client: local, model: "claude-opus-4-6" }).structuresOutput).toBeUndefined();
  });

  it.for([
    ["openai-responses", "text", { verbosity: "low" }],
    ["anthropic", "output_config", { effort: "low" }],
  ] as const)('is merged by %s into the field "%s" of modelSettings.extra', async ([name, field, extra]) => {
    const { formats: found } = await play(name, { modelSettings: { extra: { [field]: extra } } });
    expect(found).toEqual([{ [field]: { ...extra, ...(formats[name][field] as object) } }]);
  });
});

describe("structuredOutput with a provider that supports schemas", () => {
  const said = text(answer.text);
  const sending = (script: MockScript): ReturnType<typeof createMockProvider> =>
    Object.assign(createMockProvider(script), { structuresOutput: true });
  const viewsOf = ({ requests }: ReturnType<typeof createMockProvider>): readonly unknown[] =>
    requests.map(({ system, output }) => [system, output?.schema["type"]]);
  const instructions = expect.stringMatching(/^Give your final answer as JSON that fits this JSON Schema/);
  const go = async (provider: Provider, more: Partial<LoopOptions> = {}): Promise<unknown> =>
    (await playMock([], { tools: [look], middleware: [structuredOutput(schema)], provider, ...more }).result).output;

  it("sends the schema in each request, with the system text unchanged", async () => {
    const provider = sending([toolCall("look"), text("Eight."), said]);
    expect(await go(provider, { system: "Be brief." })).toEqual(weather);
    expect(viewsOf(provider)).toEqual([0, 1, 2].map(() => ["Be brief.", "object"]));
    const output = provider.requests[0]?.output;
    expect(output?.instructions).toEqual(instructions);
  });

  it("sends instructions instead of the schema with the `native: false` option", async () => {
    const provider = sending([said]);
    await go(provider, { middleware: [structuredOutput(schema, { native: false })] });
    expect(viewsOf(provider)).toEqual([[instructions, undefined]]);
  });

  it("sends the schema if prepareIteration chooses the provider", async () => {
    const [plain, provider] = [createMockProvider([toolCall("look")]), sending([said])];
    const prepare = ({ iteration }: { readonly iteration: number }): object =>
      iteration === 0 ? { system: "First." } : { provider };
    expect(await go(plain, { middleware: [prepareIteration(prepare), structuredOutput(schema)] })).toEqual(weather);
    expect([viewsOf(plain), viewsOf(provider)]).toEqual([
      [[expect.stringMatching(/^First\.\n\nGive your final answer/), undefined]],
      [[undefined, "object"]],
    ]);
  });

  it("sends the schema through withFallback only if all providers support schemas", async () => {
    const [one, other, mixed] = [sending([fail(new Error("Down."))]), sending([said]), sending([said])];
    expect(await go(withFallback([one, withRetry(other)]))).toEqual(weather);
    expect([...viewsOf(one), ...viewsOf(other)]).toEqual([0, 1].map(() => [undefined, "object"]));
    await go(withFallback([mixed, createMockProvider([said])]));
    expect(viewsOf(mixed)).toEqual([[instructions, undefined]]);
  });

  it("replays a recording only with the same schema", async () => {
    const cassette = memoryCassette();
    await go(recordTo(cassette, sending([said])));
    expect(await go(replayFrom(cassette))).toEqual(weather);
    const changed = playMock([], {
      provider: replayFrom(cassette),
      middleware: [structuredOutput(z.object({ m: z.number() }))],
    });
    expect((await changed.result).reason).toMatchObject({
      kind: "provider-error",
      error: { message: expect.stringContaining('"output" is different') },
    });
  });
});
