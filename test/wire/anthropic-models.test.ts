import type { ClientOptions } from "@anthropic-ai/sdk";
import {
  createLoopEvents,
  defineTool,
  finalAnswer,
  type LoopOptions,
  prepareIteration,
  runToolLoop,
  type ToolChoice,
} from "turnwright";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";
import type { AnthropicMessagesClient } from "../../src/anthropic/messages-options.ts";
import { describe, expect, it } from "vitest";
import { createAnthropicService, type SentRequest, type WireBody, type WirePart } from "./anthropic-service.ts";

const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object", properties: {} },
  execute: () => "seen",
});

const said: WirePart = { type: "text", text: "Done." };
const asked: WirePart = { type: "tool_use", id: "toolu_1", name: "look", input: {} };

interface Facts {
  readonly budget: number;
  readonly isForced: boolean;
  readonly samples: boolean;
  readonly version: string | null;
}

type Rule = readonly [text: string, breaks: (body: WireBody, facts: Facts) => boolean];

/** The rules of the service that depend on the model. The first one that a request breaks is answered. */
const rules: readonly Rule[] = [
  ["`max_tokens` must be greater than `thinking.budget_tokens`.", (body, { budget }) => body.max_tokens <= budget],
  ["Thinking may not be enabled when tool_choice forces tool use.", (_, { isForced, budget }) => isForced && budget > 0],
  [
    'tool_choice: type "tool" and "any" are not supported for this model.',
    ({ model }, { isForced }) => isForced && /(?:fable|mythos)-5-[12]|(?:opus|sonnet)-5-5/.test(model),
  ],
  ["temperature: Extra inputs are not permitted", (_, { samples, version }) => samples && version === "2026-10-21"],
  ["temperature: Extra inputs are not permitted", (body, { samples }) => samples && isNewer(body)],
  ["adaptive thinking is not supported on this model", (body) => body.thinking?.type === "adaptive" && isOld(body)],
  ['"thinking.type.enabled" is not supported for this model.', (body, { budget }) => budget > 0 && isNewer(body)],
  [
    '"thinking.type.disabled" is not supported for this model.',
    ({ model, thinking }) => thinking?.type === "disabled" && /fable|mythos|opus-5-5/.test(model),
  ],
  [
    "This model does not support assistant message prefill.",
    (body) => body.messages.at(-1)?.role === "assistant" && !isOld(body),
  ],
];

const isOld = ({ model }: WireBody): boolean => /-(?:4-5|3-7|4-2025)/.test(model);
const isNewer = ({ model }: WireBody): boolean => /claude-\w+-5|4-[78]/.test(model);

function findRefusal({ body, headers }: SentRequest): string | undefined {
  const { thinking, tool_choice: choice, temperature, top_p: topP } = body;
  const facts = {
    budget: thinking?.type === "enabled" ? Number(thinking.budget_tokens) : 0,
    isForced: choice?.type === "any" || choice?.type === "tool",
    samples: (temperature ?? topP) !== undefined,
    version: headers.get("anthropic-version"),
  };
  return rules.find(([, breaks]) => breaks(body, facts))?.[0];
}

interface Played {
  readonly body: WireBody | undefined;
  readonly bodies: readonly WireBody[];
  readonly headers: Headers | undefined;
  readonly status: string;
  /** The changes that the run reported, each as "field action reason". */
  readonly changes: readonly string[];
}

interface Play extends Partial<Omit<AnthropicMessagesOptions, "client">> {
  readonly run?: Partial<LoopOptions>;
  readonly sdk?: ClientOptions;
  readonly wrap?: (client: AnthropicMessagesClient) => AnthropicMessagesClient;
  readonly refuse?: (request: SentRequest) => string | undefined;
}

async function play({ run, sdk, wrap = (client) => client, refuse = findRefusal, ...options }: Play): Promise<Played> {
  const service = createAnthropicService(
    {
      refuse,
      answer: ({ body }) => ({
        blocks: [
          ...(body.thinking === undefined ? [] : [{ type: "thinking", thinking: "", signature: "s" }]),
          body.tools !== undefined && body.messages.length === 1 ? asked : said,
        ],
      }),
    },
    sdk,
  );
  const events = createLoopEvents();
  const changes: string[] = [];
  events.on("request-adjusted", (found) => {
    for (const { by, field, action, reason } of found.changes) changes.push(`${by}: ${field} ${action}, ${reason}`);
  });
  const provider = anthropicMessages({ model: "claude-opus-5-5", ...options, client: wrap(service.client) });
  const result = await runToolLoop({ provider, events, messages: [{ role: "user", content: "Hi" }], ...run });
  const bodies = service.requests.map(({ body }) => body);
  return { body: bodies[0], bodies, headers: service.requests[0]?.headers, status: result.status, changes };
}

const budget = (tokens: number): AnthropicMessagesOptions["thinking"] => ({ type: "enabled", budget_tokens: tokens });

describe("anthropicMessages: the computation of max_tokens for thinking", () => {
  it.for<[what: string, play: Play, maxTokens: number]>([
    [
      "adds the budget to maxOutputTokens",
      { thinking: budget(10_000), run: { modelSettings: { maxOutputTokens: 4_000 } } },
      14_000,
    ],
    [
      "adds it to a larger maxOutputTokens",
      { thinking: budget(2_000), run: { modelSettings: { maxOutputTokens: 4_000 } } },
      6_000,
    ],
    [
      "adds it only up to the model's limit",
      { thinking: budget(10_000), run: { modelSettings: { maxOutputTokens: 60_000 } } },
      64_000,
    ],
    ["keeps the maxTokens option, which includes the budget", { thinking: budget(2_000), maxTokens: 5_000 }, 5_000],
    [
      "adds a budget in extra",
      { run: { modelSettings: { maxOutputTokens: 500, extra: { thinking: { type: "enabled", budget_tokens: 2_000 } } } } },
      2_500,
    ],
    [
      "adds a budget in extra that is larger than the default limit",
      { run: { modelSettings: { extra: { thinking: { type: "enabled", budget_tokens: 20_000 } } } } },
      36_384,
    ],
    ["adds nothing without a budget", { run: { modelSettings: { maxOutputTokens: 500 } } }, 500],
  ])("%s", async ([, options, maxTokens]) => {
    const { body, status } = await play({ model: "claude-sonnet-4-5", ...options });
    expect([status, body?.max_tokens]).toEqual(["completed", maxTokens]);
  });

  it("also adds the budget to the request for a final answer", async () => {
    const modelSettings = { maxOutputTokens: 300 };
    const run = { tools: [look], modelSettings, limits: { maxIterations: 1 }, middleware: [finalAnswer()] };
    const { bodies } = await play({ model: "claude-sonnet-4-5", thinking: budget(2_000), run });
    expect(bodies.map(({ max_tokens }) => max_tokens)).toEqual([2_300, 2_300]);
  });
});

describe("anthropicMessages: the `thinking` option", () => {
  const unsupported = (action: string): readonly string[] => [`adapter: thinking ${action}, unsupported`];

  it.for<[model: string, thinking: AnthropicMessagesOptions["thinking"], sent: unknown, changes: readonly string[]]>([
    ["claude-sonnet-4-6", budget(2_000), budget(2_000), []],
    ["claude-opus-4-8", budget(2_000), { type: "adaptive" }, unsupported("replaced")],
    [
      "claude-opus-4-8",
      { ...budget(2_000), type: "enabled", display: "omitted" },
      { type: "adaptive", display: "omitted" },
      unsupported("replaced"),
    ],
    ["claude-opus-5", { type: "disabled" }, { type: "disabled" }, []],
    ["claude-fable-5", { type: "disabled" }, undefined, unsupported("removed")],
    ["claude-sonnet-4-5", { type: "adaptive" }, undefined, unsupported("removed")],
    ["claude-sonnet-5", { type: "between_tools" }, { type: "adaptive" }, unsupported("replaced")],
    ["claude-sonnet-4-5", { type: "future" }, { type: "future" }, []],
    ["claude-sonnet-4-5", undefined, undefined, []],
  ])("for the model %s, with the value %j, is sent as %j", async ([model, thinking, sent, changes]) => {
    const { body, status, changes: told } = await play({ model, thinking });
    expect([status, body?.thinking, told]).toEqual(["completed", sent, changes]);
  });

  const off = { type: "disabled" };

  it.for<[model: string, effort: string, sent: unknown, changes: readonly string[]]>([
    ["claude-opus-5", "high", off, []],
    ["claude-opus-5", "xhigh", undefined, ["adapter: thinking removed, unsupported"]],
    ["claude-haiku-5-5", "max", undefined, ["adapter: thinking removed, unsupported"]],
    ["claude-opus-4-8", "xhigh", off, []],
  ])("for the model %s with the effort %s, with the type disabled, is sent as %j", async ([model, effort, sent, changes]) => {
    const run = { modelSettings: { extra: { output_config: { effort } } } };
    const played = await play({ model, thinking: off, dropsUnfitThinking: false, run });
    expect([played.status, played.body?.thinking, played.changes]).toEqual(["completed", sent, changes]);
    expect(played.body).toMatchObject({ output_config: { effort } });
  });

  it.for<[model: string, thinking: AnthropicMessagesOptions["thinking"], display: unknown]>([
    ["claude-opus-5-5", undefined, "summarized"],
    ["claude-sonnet-5-5", { type: "adaptive" }, "summarized"],
    ["claude-opus-5-5", { type: "adaptive", display: "omitted" }, "omitted"],
    ["claude-sonnet-5-5", { type: "between_tools" }, undefined],
    ["claude-haiku-5-5", undefined, undefined],
  ])(
    "for the model %s, with the value %j, is sent with the display %j, so that no text between calls is lost",
    async ([model, thinking, display]) => {
      const { body, status } = await play({ model, thinking });
      expect([status, body?.thinking?.["display"]]).toEqual(["completed", display]);
    },
  );
});

describe("anthropicMessages with thinking", () => {
  it.for<[effort: string, sent: string, changes: readonly string[]]>([
    ["high", "between_tools", []],
    ["max", "adaptive", ["adapter: thinking replaced, unsupported"]],
  ])("for claude-sonnet-5-5 with the effort %j, sends the thinking type between_tools as %j", async ([effort, sent, changes]) => {
    const run = { modelSettings: { extra: { output_config: { effort } } } };
    const played = await play({ model: "claude-sonnet-5-5", thinking: { type: "between_tools" }, run });
    expect([played.status, played.body?.thinking?.type, played.changes]).toEqual(["completed", sent, changes]);
  });

  it.each(["claude-opus-5-5", "claude-sonnet-4-6"])(
    "for the model %s, stops sending the display option to a service that refuses it",
    async (model) => {
      const refuse = ({ body: sent }: SentRequest): string | undefined =>
        sent.thinking?.["display"] === undefined ? undefined : "thinking.adaptive.display: Extra inputs are not permitted";
      const thinking = { type: "adaptive", display: "summarized" };
      const { bodies, status, changes } = await play({ model, thinking, refuse, run: { tools: [look] } });
      expect([status, bodies.map((sent) => sent.thinking?.["display"])]).toEqual([
        "completed",
        ["summarized", undefined, undefined],
      ]);
      expect(changes).toEqual(["adapter: thinking.display removed, unsupported"]);
    },
  );
});

describe("anthropicMessages: a forced call", () => {
  const instruction = (body: WireBody | undefined): unknown => body?.messages.at(-1)?.content.at(-1)?.["text"];
  const replaced = ["adapter: toolChoice replaced, unsupported"];

  it.for<[model: string, toolChoice: ToolChoice, choice: unknown, text: string, changes: readonly string[]]>([
    ["claude-opus-5-5", "required", { type: "auto" }, "Call at least one of the tools now, instead of answering.", replaced],
    ["claude-opus-5-5", { name: "look" }, { type: "auto" }, 'Call the tool "look" now, instead of answering.', replaced],
    [
      "us.anthropic.claude-sonnet-5-5-v1:0",
      "required",
      { type: "auto" },
      "Call at least one of the tools now, instead of answering.",
      replaced,
    ],
    ["claude-opus-5-5", "auto", { type: "auto" }, "Hi", []],
    ["claude-opus-5-5", "none", { type: "none" }, "Hi", []],
    ["claude-haiku-5-5", "required", { type: "any" }, "Hi", []],
    ["claude-opus-5", { name: "look" }, { type: "tool", name: "look" }, "Hi", []],
  ])(
    "for the model %s, with the choice %j, is sent as %j with the text %j",
    async ([model, toolChoice, choice, text, changes]) => {
      const prepare = ({ iteration }: { readonly iteration: number }): object => (iteration === 0 ? { toolChoice } : {});
      const {
        body,
        status,
        changes: told,
      } = await play({ model, run: { tools: [look], middleware: [prepareIteration(prepare)] } });
      expect([status, body?.tool_choice, instruction(body), told, body?.system]).toEqual([
        "completed",
        choice,
        text,
        changes,
        undefined,
      ]);
    },
  );

  it.for<[what: string, more: Play, choice: unknown, thinking: unknown]>([
    ["drops a thinking budget", { thinking: budget(2_000) }, { type: "any" }, undefined],
    ["keeps adaptive thinking", { thinking: { type: "adaptive" } }, { type: "any" }, { type: "adaptive" }],
    [
      "becomes an instruction if extra has a thinking budget",
      { run: { modelSettings: { extra: { thinking: { type: "enabled", budget_tokens: 2_000 } } } } },
      { type: "auto" },
      budget(2_000),
    ],
  ])("%s", async ([, { run, ...more }, choice, thinking]) => {
    const hooks = [
      prepareIteration(({ iteration }: { readonly iteration: number }) =>
        iteration === 0 ? { toolChoice: "required" as const } : {},
      ),
    ];
    const { body, bodies, status } = await play({
      model: "claude-sonnet-4-6",
      ...more,
      run: { ...run, tools: [look], middleware: hooks },
    });
    expect([status, body?.tool_choice, body?.thinking, bodies.length]).toEqual(["completed", choice, thinking, 2]);
  });
});

describe("anthropicMessages: a model that unexpectedly refuses a forced call", () => {
  const choices = (bodies: readonly WireBody[]): unknown => bodies.map(({ tool_choice: choice }) => choice?.type);
  const settle = (text: string): Promise<Played> => {
    const prepare = ({ iteration }: { readonly iteration: number }): object =>
      iteration < 2 ? { toolChoice: { name: "look" } } : {};
    const refuse = ({ body }: SentRequest): string | undefined => (body.tool_choice?.type === "tool" ? text : undefined);
    return play({ model: "claude-fable-5", refuse, run: { tools: [look], middleware: [prepareIteration(prepare)] } });
  };

  it.each([
    "tool_choice forces tool use is not compatible with this model",
    'tool_choice: type "any" is not supported for this model.',
  ])("gets an instruction after the refusal %j, and no more forced calls", async (text) => {
    const { bodies, status, changes } = await settle(text);
    expect([status, choices(bodies)]).toEqual(["completed", ["tool", "auto", "auto"]]);
    expect(bodies[1]?.messages.at(-1)?.content.at(-1)?.["text"]).toBe('Call the tool "look" now, instead of answering.');
    expect(changes).toEqual(["adapter: toolChoice replaced, unsupported"]);
  });

  it("does not get a second request if it refuses for a different reason", async () => {
    expect(choices((await settle("tool_choice: Input should be a valid dictionary")).bodies)).toEqual(["tool"]);
  });
});

describe("anthropicMessages: temperature and topP", () => {
  const modelSettings = { temperature: 0.2, topP: 0.9 };
  const both = ["adapter: temperature removed, unsupported", "adapter: topP removed, unsupported"];
  const old: ClientOptions = { defaultHeaders: { "Anthropic-Version": "2023-06-01" } };
  /** Hides what tells the version, as a wrapper of the SDK does. */
  const plain = ({ messages }: AnthropicMessagesClient): AnthropicMessagesClient => ({
    messages: { create: (body, options) => messages.create(body, options) },
  });

  it.for<[what: string, play: Play, sent: readonly unknown[], changes: readonly string[]]>([
    [
      "are not sent by version 1 of the SDK, whose API version refuses them",
      { model: "claude-sonnet-4-6" },
      [undefined, undefined],
      both,
    ],
    ["are sent under an older version in the client's headers", { model: "claude-sonnet-4-6", sdk: old }, [0.2, 0.9], []],
    [
      "are sent under an older version in a list of headers",
      { model: "claude-sonnet-4-6", sdk: { defaultHeaders: [["anthropic-version", "2023-06-01"]] } },
      [0.2, 0.9],
      [],
    ],
    [
      "are sent under an older version in a Headers object",
      { model: "claude-sonnet-4-6", sdk: { defaultHeaders: new Headers({ "anthropic-version": "2023-06-01" }) } },
      [0.2, 0.9],
      [],
    ],
    ["are sent under an older apiVersion", { model: "claude-sonnet-4-6", apiVersion: "2023-06-01" }, [0.2, 0.9], []],
    ["are not sent to a model that always refuses them", { model: "claude-opus-4-8", sdk: old }, [undefined, undefined], both],
    [
      "are not sent while the model thinks",
      { model: "claude-sonnet-4-6", thinking: budget(2_000), sdk: old },
      [undefined, undefined],
      both,
    ],
    [
      "are sent while the model thinks if their values are accepted",
      { model: "claude-sonnet-4-6", thinking: budget(2_000), sdk: old, run: { modelSettings: { temperature: 1, topP: 0.95 } } },
      [1, 0.95],
      [],
    ],
    [
      "are sent to a wrapper that does not report its version",
      { model: "claude-sonnet-4-5", wrap: plain, apiVersion: "2023-06-01" },
      [0.2, 0.9],
      [],
    ],
    [
      "are not sent to a wrapper with a new apiVersion",
      { model: "claude-sonnet-4-5", wrap: plain, apiVersion: "2026-10-21" },
      [undefined, undefined],
      both,
    ],
    ["are sent to other models on other services", { model: "glm-5.3", sdk: { baseURL: "https://api.z.test" } }, [0.2, 0.9], []],
  ])("%s", async ([, { run, ...options }, sent, changes]) => {
    const { body, changes: told } = await play({ ...options, run: { modelSettings, ...run } });
    expect([[body?.["temperature"], body?.["top_p"]], told]).toEqual([sent, changes]);
  });

  it("are reported once per run", async () => {
    const { bodies, changes, status } = await play({ run: { modelSettings, tools: [look] } });
    expect([status, bodies.length, changes]).toEqual(["completed", 2, both]);
  });

  it("are sent unchanged if they are in extra", async () => {
    const { body, changes } = await play({ run: { modelSettings: { extra: { temperature: 0.2 } } } });
    expect([body?.["temperature"], changes]).toEqual([0.2, []]);
  });

  it("depend on the API version in the header, which the `apiVersion` option sets", async () => {
    const { headers } = await play({ apiVersion: "2023-06-01" });
    expect(headers?.get("anthropic-version")).toBe("2023-06-01");
  });
});

describe("anthropicMessages: a transcript that ends with an assistant message", () => {
  const run = {
    messages: [
      { role: "user" as const, content: "Hi" },
      { role: "assistant" as const, content: [{ type: "text" as const, text: "Once" }] },
    ],
  };

  it("gets an additional user message for a model that refuses to continue it", async () => {
    const { body, status } = await play({ model: "claude-opus-4-8", run });
    expect([status, body?.messages.at(-1)]).toEqual([
      "completed",
      { role: "user", content: [{ type: "text", text: "Continue." }] },
    ]);
  });

  it("is sent unchanged to a model that continues it", async () => {
    const { body, status } = await play({ model: "claude-sonnet-4-5", run });
    expect([status, body?.messages.at(-1)?.role]).toEqual(["completed", "assistant"]);
  });
});
