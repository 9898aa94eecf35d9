import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import type { Json, ModelRequest, ModelSettings, Provider, ToolChoice, ToolDefinition } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat, openaiResponses } from "turnwright/openai";
import type { Adapter } from "./adapters.ts";
import { createCall } from "./provider-iteration.ts";
import { compare, no, placeOf, type Probe, type ProbeGroup, withOption } from "./probe-kit.ts";

interface Given {
  readonly serverTool: object;
  /** The value of the `toolSearch` option. Default true. */
  readonly toolSearch?: string;
  readonly extra: { readonly [field: string]: string };
  /** The setting for structured output. Contains the text `probe`, so that a test can find the setting in the request. */
  readonly format: { readonly [field: string]: Json };
  /** Returns two providers, and the difference between them. Only the first one sends schemas by default. */
  readonly owned?: () => readonly [where: string, providers: readonly Provider[]];
}

const local = "http://localhost";
const openai = [new OpenAI({ apiKey: "test" }), new OpenAI({ apiKey: "test", baseURL: local })];
const anthropic = [new Anthropic({ apiKey: "test" }), new Anthropic({ apiKey: "test", baseURL: local })];
const google = new GoogleGenAI({ apiKey: "test" });

const given: { readonly [Factory in Adapter["factory"]]: Given } = {
  openaiChat: {
    serverTool: { type: "web_search" },
    extra: { user: "u-1" },
    format: { response_format: { type: "json_schema", json_schema: { name: "probe", schema: {} } } },
    owned: () => ["at `api.openai.com`", openai.map((client) => openaiChat({ client, model: "gpt-5" }))],
  },
  openaiResponses: {
    serverTool: { type: "web_search" },
    extra: { user: "u-1" },
    format: { text: { format: { type: "json_schema", name: "probe", schema: {} } } },
    owned: () => ["at `api.openai.com`", openai.map((client) => openaiResponses({ client, model: "gpt-5" }))],
  },
  anthropicMessages: {
    serverTool: { type: "web_search_20250305", name: "web_search" },
    toolSearch: "bm25",
    extra: { service_tier: "auto" },
    format: { output_config: { format: { type: "json_schema", schema: { title: "probe" } } } },
    owned: () => ["at `api.anthropic.com`", anthropic.map((client) => anthropicMessages({ client, model: "claude-opus-4-6" }))],
  },
  googleGenerateContent: {
    serverTool: { googleSearch: {} },
    extra: { cachedContent: "cachedContents/1" },
    format: { responseJsonSchema: { title: "probe" } },
    owned: () => [
      "Gemini 2.5 and later",
      ["gemini-2.5-flash", "gemini-2.0-flash"].map((model) => googleGenerateContent({ client: google, model })),
    ],
  },
  aiSdkModel: {
    serverTool: { id: "openai.web_search", args: {} },
    extra: { userAgent: "u-1" },
    format: { responseFormat: { type: "json", name: "probe" } },
  },
};

const tool: ToolDefinition = { name: "look", description: "Looks", inputSchema: { type: "object" }, deferred: true };

/** Sends a request with the given settings, and returns the path of `value` in its body. */
function setting(name: string, settings: ModelSettings, value: unknown): Probe {
  return {
    title: `\`${name}\``,
    find: async (adapter) => placeOf(await compare(adapter, { settings }), value),
  };
}

const settings: ProbeGroup = {
  title: "Model settings",
  about: "Each cell names the field of the request for one field of `modelSettings`.",
  probes: [
    setting("maxOutputTokens", { maxOutputTokens: 4_321 }, 4_321),
    setting("temperature", { temperature: 0.375 }, 0.375),
    setting("topP", { topP: 0.625 }, 0.625),
    setting("stopSequences", { stopSequences: ["HALT"] }, "HALT"),
    setting("seed", { seed: 777_001 }, 777_001),
    {
      title: "`extra`: any field of the body, such as",
      async find(adapter) {
        const { extra } = given[adapter.factory];
        return placeOf(await compare(adapter, { settings: { extra } }), Object.values(extra)[0]);
      },
    },
    {
      title: "A format for the answer, by `extra`",
      async find(adapter) {
        const { format } = given[adapter.factory];
        const [field = ""] = Object.keys(format);
        const place = placeOf(await compare(adapter, { settings: { extra: format } }), "probe");
        return place.replace(new RegExp(`(?<=\\b${field})[\\w.]+`), "");
      },
    },
    { title: "`system`", find: async (adapter) => placeOf(await compare(adapter, { system: "Be brief." }), "Be brief.") },
  ],
};

function choice(title: string, toolChoice: ToolChoice): Probe {
  return {
    title,
    async find(adapter) {
      const leaves = await compare(adapter, { tools: [tool], toolChoice }, { plain: { tools: [tool] } });
      return leaves.map(({ path, value }) => `\`${path}: ${JSON.stringify(value)}\``).join(", ") || no;
    },
  };
}

const choices: ProbeGroup = {
  title: "Tool choice",
  about: "Each cell lists the fields that `toolChoice` adds to the request.",
  probes: [
    choice('`"auto"`', "auto"),
    choice('`"required"`', "required"),
    choice('`"none"`', "none"),
    choice('`{ name: "look" }`', { name: tool.name }),
  ],
};

/**
 * Returns the name of the first option that the adapter supports, or `no`. Throws if a request with this option does not contain
 * `word`.
 */
function option(title: string, toOptions: (given: Given) => readonly object[], word: RegExp): Probe {
  return {
    title,
    async find(adapter) {
      const found = await withOption(toOptions(given[adapter.factory]), async (options, name) => {
        const request = { tools: [tool], system: "Be brief.", compactAt: 100_000 };
        const leaves = await compare(adapter, request, { plain: request, options });
        if (!leaves.some((leaf) => word.test(JSON.stringify(leaf)))) throw new Error(`"${name}" does not reach the service.`);
        return `\`${name}\``;
      });
      return found ?? no;
    },
  };
}

const options: ProbeGroup = {
  title: "Adapter options",
  about: "Each cell names the option of the adapter. If the adapter has no option, set the field of the service in `extra`.",
  probes: [
    option(
      "Tools that the service runs",
      ({ serverTool }) => [{ serverTools: [serverTool] }, { providerTools: { web_search: serverTool } }],
      /web_search|googleSearch/,
    ),
    option("Search of deferred tools by the service", ({ toolSearch = true }) => [{ toolSearch }], /tool_search/),
    option("Tools that take text instead of JSON", () => [{ customTools: { look: { type: "text" } } }], /custom/),
    option("Summaries of old messages by the service", () => [{ compaction: true }], /compact/),
    option("Marks for the prompt cache", () => [{ cache: true }], /cache_control/),
    option("Key of the prompt cache", () => [{ promptCacheKey: "agent" }], /prompt_cache_key/),
    option(
      "Settings for reasoning",
      () => [
        { reasoning: { effort: "low" } },
        { thinking: { type: "adaptive", thinkingLevel: "LOW" } },
        { providerOptions: { mock: { effort: "low" } } },
      ],
      /low|adaptive|LOW/,
    ),
  ],
};

const marker = "The city of the probe.";
const schema = {
  type: "object",
  properties: { city: { type: "string", description: marker } },
  required: ["city"],
  additionalProperties: false,
};
const output = { schema, instructions: "As JSON." };

/** Returns the field that contains the schema of the answer. If the text of the request describes the schema, returns `no`. */
async function formatOf(adapter: Adapter, plain: Partial<ModelRequest>, options: object): Promise<string> {
  const leaves = await compare(adapter, { ...plain, output }, { plain, options: { structuredOutput: true, ...options } });
  if (leaves.every(({ value }) => value === output.instructions)) return no;
  return placeOf(leaves, marker).replace(/(schema)\.[\w.]+/i, "$1");
}

const withTools = { tools: [tool] };

const formats: ProbeGroup = {
  title: "Structured output",
  about:
    "The first row names the field of the request for the schema of [`structuredOutput`](guides/structured-answers.md#the-services-structured-output), with the `structuredOutput: true` option. The last row says when this is the default.",
  probes: [
    { title: "The schema of the answer", find: (adapter) => formatOf(adapter, {}, {}) },
    {
      title: "Together with tools",
      async find(adapter) {
        const found = [];
        for (const generation of adapter.factory === "googleGenerateContent" ? [2, 3] : [undefined]) {
          const options = generation === undefined ? {} : { generation };
          found.push((await formatOf(adapter, withTools, options)) === no ? `not with \`generation: ${generation}\`` : "yes");
        }
        return found.toReversed().join("; ");
      },
    },
    { title: "By default", find: (adapter) => toDefault(given[adapter.factory].owned) },
  ],
};

async function toDefault(owned: Given["owned"]): Promise<string> {
  if (owned === undefined) return no;
  const [where, providers] = owned();
  const abilities = await Promise.all(providers.map(sendsSchema));
  if (JSON.stringify(abilities) !== "[true,false]") throw new Error(`The default is ${JSON.stringify(abilities)}.`);
  return where;
}

/** True if the request of a run with a schema contains the schema instead of the instructions. */
async function sendsSchema(provider: Provider): Promise<boolean> {
  const sent = new AbortController();
  const bodies: unknown[] = [];
  const sending = (body: unknown): void => {
    bodies.push(body);
    sent.abort();
  };
  const request = { messages: [{ role: "user" as const, content: "Hi" }], tools: [], iteration: 0, output };
  await collect(provider.stream(request, { ...createCall(sent.signal), sending })).catch(() => {});
  return provider.structuresOutput === true && !JSON.stringify(bodies).includes(output.instructions);
}

async function collect(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

export const requestProbes: readonly ProbeGroup[] = [settings, choices, options, formats];
