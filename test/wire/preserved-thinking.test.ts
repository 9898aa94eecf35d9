import {
  contextRestart,
  contextRestarts,
  deferTools,
  createLoopEvents,
  defineTool,
  type LoopOptions,
  type LoopResult,
  maskResults,
  memoryJournal,
  prepareIteration,
  type Provider,
  runToolLoop,
} from "turnwright";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";
import { compactMessages, createHandoffs, withToolSearch } from "turnwright/middleware";
import { describe, expect, it } from "vitest";
import { type AnthropicService, createAnthropicService, type WireBody, type WirePart } from "./anthropic-service.ts";
import { createPrefixRules } from "./prefix-server.ts";
import { createCall } from "./provider-iteration.ts";
import { collect } from "./scripted-stream.ts";

const inputSchema = { type: "object", properties: {} } as const;
const look = defineTool({ name: "look", description: "Looks", inputSchema, execute: () => "seen ".repeat(200) });
const sail = defineTool({
  name: "sail",
  description: "Sails to a harbour",
  inputSchema,
  deferred: true,
  execute: () => "sailed",
});
const profile = defineTool({
  name: "profile",
  description: "Loads the profile",
  inputSchema,
  execute: () =>
    contextRestart({ type: "context_restart_profile", enhanced_context_item: { name: "Ada" }, disable_tools: ["profile"] }),
});

const use = (name: string, count: number, input: object = {}): WirePart => ({
  type: "tool_use",
  id: `toolu_${count}`,
  name,
  input,
});

/** Calls the tools with these names one after the other, then answers. A request without tools gets a text at once. */
const script =
  (...names: readonly (string | readonly [name: string, input: object])[]) =>
  (body: WireBody, count: number): readonly WirePart[] => {
    const next = body.tools === undefined ? undefined : names[count];
    if (next === undefined) return [{ type: "text", text: "Done." }];
    return typeof next === "string" ? [use(next, count)] : [use(next[0], count, next[1])];
  };

const handoffs = createHandoffs({
  start: "triage",
  agents: {
    triage: { description: "Finds the topic", system: "Find the topic.", handoffs: ["billing"] },
    billing: { description: "Answers", system: "Answer.", tools: [sail] },
  },
});

interface Feature {
  readonly answer: ReturnType<typeof script>;
  readonly run: Omit<Partial<LoopOptions>, "provider">;
}

const features: { readonly [name: string]: Feature } = {
  "no edit": { answer: script("look", "look", "look"), run: { tools: [look] } },
  contextItems: {
    answer: script("look", "look", "look"),
    run: { tools: [look], middleware: [contextRestarts({ items: ["It is noon."] })] },
  },
  "prepareIteration with another system text": {
    answer: script("look", "look", "look"),
    run: { tools: [look], middleware: [prepareIteration(({ iteration }) => ({ system: `Iteration ${iteration}.` }))] },
  },
  "prepareIteration with other tools": {
    answer: script("look", "look", "look"),
    run: {
      tools: [look, profile],
      middleware: [prepareIteration(({ iteration }) => ({ tools: iteration === 1 ? ["look"] : ["look", "profile"] }))],
    },
  },
  find_tools: {
    answer: script("look", ["find_tools", { query: "sail harbour" }], "sail", "look"),
    run: { tools: withToolSearch([look, sail]), middleware: [deferTools()] },
  },
  masking: {
    answer: script("look", "look", "look", "look", "look"),
    run: { tools: [look], middleware: [maskResults({ keepIterations: 1, minTokens: 1, batchOf: 2 })] },
  },
  "a context restart": {
    answer: script("look", "profile", "look", "look"),
    run: { tools: [look, profile], middleware: [contextRestarts()] },
  },
  "a handoff": {
    answer: script("look", ["transfer_to_billing", { reason: "an invoice" }], "sail", "look"),
    run: { tools: [look, ...handoffs.tools], middleware: [handoffs, deferTools()] },
  },
  compaction: {
    answer: script("look", "look", "look", "look", "look", "look"),
    run: { tools: [look], middleware: [compactMessages({ when: 900, keep: 300, contextWindow: 100_000 })] },
  },
  "a forced call": {
    answer: script("look", "look", "look"),
    run: {
      tools: [look],
      middleware: [prepareIteration(({ iteration }) => (iteration === 1 ? { toolChoice: "required" } : {}))],
    },
  },
};

interface Played extends AnthropicService {
  readonly result: LoopResult;
  readonly changes: readonly string[];
  readonly provider: Provider;
}

async function play(
  { answer, run }: Feature,
  canDrop: boolean,
  options: Partial<AnthropicMessagesOptions> = {},
): Promise<Played> {
  const service = createAnthropicService(createPrefixRules({ canDrop, answer }));
  const provider = anthropicMessages({ client: service.client, model: "claude-opus-5-5", ...options });
  const events = createLoopEvents();
  const changes: string[] = [];
  events.on("request-adjusted", (found) => {
    for (const { by, field, action, reason } of found.changes) changes.push(`${by}: ${field} ${action}, ${reason}`);
  });
  const result = await runToolLoop({ provider, events, messages: [{ role: "user", content: "Hi" }], ...run });
  return { ...service, result, changes, provider };
}

const names = Object.keys(features);
const edits = names.filter((name) => name !== "no edit");
const featureOf = (name: string): Feature => features[name] ?? { answer: script(), run: {} };
const countThinking = ({ requests }: AnthropicService): number =>
  JSON.stringify(requests.at(-1)?.body.messages).split('"type":"thinking"').length - 1;

describe("anthropicMessages with a model that verifies the messages before its thinking", () => {
  it.each(names)("completes a run with %s without a refusal, if the service may drop blocks", async (name) => {
    const played = await play(featureOf(name), true);
    expect([played.result.status, played.refusals]).toEqual(["completed", []]);
  });

  it.each(edits)("reports the blocks that the service dropped because of %s", async (name) => {
    const { changes } = await play(featureOf(name), true);
    expect(changes.filter((change) => change.startsWith("service"))).not.toEqual([]);
    expect(new Set(changes).size).toBe(changes.length);
  });

  it.each(names)("completes a run with %s without a refusal, if the service is not asked to drop blocks", async (name) => {
    const played = await play(featureOf(name), false, { dropsUnfitThinking: false });
    expect([played.result.status, played.refusals]).toEqual(["completed", []]);
  });

  it.each(names)(
    "completes a run with %s if the service refuses the beta header, and sends the header only once",
    async (name) => {
      const played = await play(featureOf(name), false);
      expect([played.result.status, played.refusals.length]).toEqual(["completed", 1]);
      expect(played.requests.filter(({ headers }) => headers.has("anthropic-beta"))).toHaveLength(1);
    },
  );

  it.each([true, false])("keeps all thinking of a run without edits (service may drop blocks: %s)", async (canDrop) => {
    const played = await play(featureOf("no edit"), canDrop, { dropsUnfitThinking: canDrop });
    expect([countThinking(played), played.changes]).toEqual([3, []]);
  });

  it("reports once that the adapter omitted thinking", async () => {
    const { changes } = await play(featureOf("contextItems"), false, { dropsUnfitThinking: false });
    expect(changes).toEqual(["adapter: thinking removed, request-changed"]);
  });

  it("keeps the thinking before an edit", async () => {
    const played = await play(featureOf("masking"), false, { dropsUnfitThinking: false });
    expect(countThinking(played)).toBeGreaterThan(0);
  });

  it("resends a refused request without thinking if a new process continues the conversation with a different system text", async () => {
    const { answer, run } = featureOf("no edit");
    const service = createAnthropicService(createPrefixRules({ canDrop: false, answer }));
    const create = (): Provider =>
      anthropicMessages({ client: service.client, model: "claude-opus-5-5", dropsUnfitThinking: false });
    const first = await runToolLoop({ provider: create(), messages: [{ role: "user", content: "Hi" }], ...run });
    const messages = [...structuredClone(first.messages), { role: "user" as const, content: "And now?" }];
    const provider = create();
    const second = await runToolLoop({ provider, messages, system: "Be brief.", ...run });
    expect([second.status, service.refusals.length]).toEqual(["completed", 1]);
    const third = await runToolLoop({
      provider,
      messages: [...second.messages, { role: "user", content: "?" }],
      system: "Be brief.",
      ...run,
    });
    expect([third.status, service.refusals.length]).toEqual(["completed", 1]);
  });

  it("does not resend a refused request if the run's limits allow no more requests", async () => {
    const { answer } = featureOf("no edit");
    const service = createAnthropicService(createPrefixRules({ canDrop: false, answer }));
    const provider = anthropicMessages({ client: service.client, model: "claude-opus-5-5" });
    const stream = provider.stream(
      { messages: [{ role: "user", content: "Hi" }], tools: [], iteration: 0 },
      { ...createCall(), mayAsk: () => false },
    );
    const { thrown } = await collect(stream);
    expect(String(thrown)).toContain("Extra inputs are not permitted");
    expect(service.requests).toHaveLength(1);
  });

  it("reports the same changes again when the run is replayed from its journal", async () => {
    const journal = memoryJournal();
    const { answer, run } = featureOf("contextItems");
    const live = await play({ answer, run: { ...run, journal } }, true);
    const replayed = await play({ answer, run: { ...run, journal } }, true);
    expect([replayed.requests, replayed.changes]).toEqual([[], live.changes]);
  });

  it("adds its beta header to those from the client and from the `betas` option", async () => {
    const { answer } = featureOf("no edit");
    const service = createAnthropicService(createPrefixRules({ canDrop: true, answer }), {
      defaultHeaders: { "anthropic-beta": "a-1" },
    });
    const provider = anthropicMessages({ client: service.client, model: "claude-opus-5-5", betas: ["b-2"] });
    await runToolLoop({ provider, messages: [{ role: "user", content: "Hi" }] });
    expect(service.requests[0]?.headers.get("anthropic-beta")).toBe("a-1,b-2,thinking-binding-controls-2026-08-01");
  });

  it.each([
    ["claude-opus-5-5", "https://bedrock-mantle.us-east-1.api.aws/anthropic"],
    ["claude-opus-5-5", "https://x.services.ai.azure.com/anthropic"],
    ["claude-opus-5-5", "https://x.azure.anthropic.com/anthropic"],
    ["claude-opus-5-5", "https://us-east5-aiplatform.googleapis.com/v1"],
    ["claude-opus-5", "https://api.anthropic.com"],
  ])("does not send the beta header for %s at %s", async (model, baseURL) => {
    const service = createAnthropicService(createPrefixRules({ canDrop: true, answer: script() }), { baseURL });
    await runToolLoop({
      provider: anthropicMessages({ client: service.client, model }),
      messages: [{ role: "user", content: "Hi" }],
    });
    expect(service.requests[0]?.headers.has("anthropic-beta")).toBe(false);
  });
});
