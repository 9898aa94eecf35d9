import { describe, expect, it } from "vitest";
import {
  contextRestart,
  createContextRelease,
  defineTool,
  type Message,
  type ModelRequest,
  type Tool,
  type ToolContext,
} from "turnwright";
import type { ExecutableTool } from "turnwright/kit";
import { compactMessages } from "turnwright/middleware";
import { createMockProvider, fail, type MockMessage, text, toolCall } from "turnwright/testing";
import { z } from "zod";
import { contextRestarts } from "../../src/core/middleware/context-restarts.ts";
import { deferTools } from "../../src/core/middleware/deferred-tools.ts";
import { prepareIteration } from "../../src/core/middleware/iteration-hooks.ts";
import { maskResults } from "../../src/core/middleware/mask-results.ts";
import { structuredOutput } from "../../src/core/middleware/structured-output.ts";
import { recordSteps } from "../../src/core/loop/journals.ts";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";
import type { Journal } from "turnwright";
import type { Middleware } from "../../src/core/types/middleware.ts";

const messages: readonly Message[] = [{ role: "user", content: "Go." }];

const contentOf = (message: Message | undefined): unknown =>
  message === undefined ? undefined : Reflect.get(message, "content");

function tool(name: string, execute: (args: unknown, context: ToolContext) => unknown, more: Partial<Tool> = {}): Tool {
  return { ...defineTool({ name, description: name, inputSchema: { type: "object" }, execute }), ...more };
}

/** A journal that fails at the record with this number. */
function cutAfter(records: number, inner: Journal): Journal {
  let left = records;
  return {
    read: (key) => inner.read(key),
    step: async (key, body) => {
      if (inner.read(key) === undefined && (left -= 1) < 0) throw new Error("cut");
      return inner.step(key, body);
    },
  };
}

interface Played {
  readonly requests: readonly ModelRequest[];
  readonly result: Awaited<ReturnType<typeof runToolLoop>>;
}

type Script = readonly MockMessage[];

async function play(middleware: readonly Middleware[], script: Script, more: object = {}): Promise<Played> {
  const requests: ModelRequest[] = [];
  const provider = createMockProvider((request) => {
    requests.push({ ...request, messages: request.messages });
    return script[request.iteration] ?? text("More.");
  });
  const result = await runToolLoop({ provider, messages, middleware, runId: "r", ...more });
  return { requests, result };
}

/** Plays the script as a whole, and again from each prefix of the journal. Each resumed run must send the same requests. */
async function playCut(make: () => readonly Middleware[], script: Script, more: () => object = () => ({})): Promise<Played> {
  const whole = await play(make(), script, { journal: recordSteps(), ...more() });
  for (let records = 1; ; records += 1) {
    const journal = recordSteps();
    const first = await play(make(), script, { journal: cutAfter(records, journal), ...more() }).catch(() => undefined);
    const again = await play(make(), script, { journal, ...more() });
    expect(again.result.messages).toEqual(whole.result.messages);
    for (const { iteration, ...sent } of again.requests) {
      const { messages: shown, tools, system } = whole.requests.find((one) => one.iteration === iteration) ?? sent;
      expect([sent.messages, sent.tools, sent.system]).toEqual([shown, tools, system]);
    }
    if (first !== undefined) return { ...whole, result: again.result };
  }
}

const shownTo = ({ requests }: Played): readonly (readonly string[])[] =>
  requests.map(({ tools }) => tools.map(({ name }) => name));
const look = tool("look", () => "x".repeat(4_000));

describe("maskResults", () => {
  const script = [0, 1, 2, 3].map((at) => toolCall("look", {}, { id: `c${at}` }));
  const lengths = ({ requests }: Played): readonly number[] =>
    (requests.at(-1)?.messages ?? []).flatMap((one) =>
      one.role === "tool" ? one.results.map(({ result }) => JSON.stringify(result).length) : [],
    );

  it("omits old results from requests, even after a crash at any record, and keeps the whole transcript", async () => {
    const played = await playCut(
      () => [maskResults({ keepIterations: 1 })],
      script,
      () => ({ tools: [look] }),
    );
    expect(lengths(played).map((length) => length > 1_000)).toEqual([false, false, false, true]);
    expect(JSON.stringify(played.result.messages)).not.toContain("left out");
  });

  it("keeps the messages chosen by an earlier middleware", async () => {
    const filter: Middleware = {
      name: "filter",
      request: (request, next) => next({ ...request, messages: request.messages.slice(-1) }),
    };
    const played = await play([filter, maskResults({ keepIterations: 0 })], script, { tools: [look] });
    expect(played.requests.at(-1)?.messages.length).toBe(1);
  });

  it("omits results that the model has released", async () => {
    const release = createContextRelease() as unknown as ExecutableTool;
    const calls = [toolCall("look", {}, { id: "c0" }), toolCall("context_release", { call_ids: ["c0"] }), text("Done.")];
    const played = await playCut(
      () => [maskResults({ keepIterations: Number.POSITIVE_INFINITY })],
      calls,
      () => ({ tools: [look, release] }),
    );
    expect(played.requests.map(({ messages: sent }) => JSON.stringify(sent).includes("left out"))).toEqual([false, false, true]);
  });
});

describe("contextRestarts", () => {
  const enrich = tool("enrich", () =>
    contextRestart({ type: "context_restart_profile", enhanced_context_item: { name: "Ada" }, disable_tools: ["look"] }),
  );

  it("adds items and hides tools in all later requests, even after a crash at any record", async () => {
    const seen: unknown[] = [];
    const note = tool("note", (_, context) => void seen.push(Reflect.get(context, "contextItems")));
    const played = await playCut(
      () => [contextRestarts({ items: ["first"] })],
      [toolCall("enrich"), toolCall("note"), text("Done.")],
      () => ({ tools: [enrich, note, look] }),
    );
    expect(played.requests.map(({ messages: sent }) => contentOf(sent.at(-1)))).toEqual([
      "Context:\nfirst",
      'Context:\nfirst\n{"name":"Ada"}',
      'Context:\nfirst\n{"name":"Ada"}',
    ]);
    expect(shownTo(played)).toEqual([
      ["enrich", "note", "look"],
      ["enrich", "note"],
      ["enrich", "note"],
    ]);
    expect(seen[0]).toEqual(["first", { name: "Ada" }]);
  });

  it("ends the run after too many restarts", async () => {
    const script = Array.from({ length: 4 }, () => toolCall("enrich"));
    const { result } = await play([contextRestarts({ maxRestarts: 2 })], script, { tools: [enrich] });
    expect([result.reason, result.iterations]).toEqual([{ kind: "restart-cap", count: 3 }, 3]);
  });
});

describe("deferTools", () => {
  it("shows a deferred tool after the model has called it, and makes all deferred tools searchable", async () => {
    const found: unknown[] = [];
    const find = tool("find", (_, context) => void found.push(context.findableTools?.map(({ name }) => name)), {
      findsTools: true,
    });
    const late = tool("late", () => "done", { deferred: true });
    const played = await playCut(
      () => [deferTools()],
      [toolCall("find"), toolCall("late"), text("Done.")],
      () => ({ tools: [look, late, find] }),
    );
    expect(shownTo(played)).toEqual([
      ["look", "find"],
      ["look", "find"],
      ["look", "find", "late"],
    ]);
    expect([found[0], played.result.calls.map(({ outcome }) => outcome)]).toEqual([["late"], ["completed", "completed"]]);
  });
});

describe("structuredOutput", () => {
  it("asks again until the answer matches the schema, even after a crash at any record", async () => {
    const make = (): readonly Middleware[] => [structuredOutput(z.object({ n: z.number() }))];
    const { requests, result } = await playCut(make, [text("Eight."), text('{ "n": 8 }')]);
    expect([requests.length, Reflect.get(result, "output"), result.reason.kind]).toEqual([2, { n: 8 }, "answered"]);
    expect(requests[0]?.system).toContain("JSON Schema");
  });

  it("ends the run if no answer matches the schema", async () => {
    const { result } = await play([structuredOutput(z.object({ n: z.number() }), { maxRetries: 1 })], [text("A."), text("B.")]);
    expect([result.reason, Reflect.get(result, "output")]).toMatchObject([{ kind: "invalid-output", attempts: 2 }, undefined]);
  });
});

describe("compactMessages as middleware", () => {
  const compact = (): readonly Middleware[] => [compactMessages({ when: 2_500, keep: 1_200 })];
  const summarizing = (asked: ModelRequest[]) =>
    createMockProvider((request) => {
      if (request.purpose === "summary") return text("Short.");
      asked.push({ ...request, messages: request.messages });
      return request.iteration < 4 ? toolCall("look", {}, { id: `c${request.iteration}` }) : text("Done.");
    });

  it("summarizes once, replays the recorded summary, and counts its usage", async () => {
    const journal = recordSteps();
    const asked: ModelRequest[] = [];
    const first = await play(compact(), [], { provider: summarizing(asked), tools: [look], journal });
    const again = await play(compact(), [], { provider: createMockProvider([fail({ status: 500 })]), tools: [look], journal });
    expect(asked.at(-1)?.messages.some((one) => String(contentOf(one)).startsWith("Summary of the earlier"))).toBe(true);
    expect([again.result.usage, again.result.messages, Reflect.get(again.result, "compaction")]).toEqual([
      first.result.usage,
      first.result.messages,
      Reflect.get(first.result, "compaction"),
    ]);
    const requests = first.result.streamResults.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0);
    expect(first.result.usage.totalTokens).toBeGreaterThan(requests);
  });
});

describe("prepareIteration with a different provider", () => {
  it("is not called again for a recorded request, but is called for a new one", async () => {
    const journal = recordSteps();
    const other = createMockProvider([toolCall("look"), text("Other.")]);
    let asked = 0;
    const plan = (): readonly Middleware[] => [prepareIteration(() => ((asked += 1), { provider: other }))];
    const script = [text("Own.")];
    await play(plan(), script, { tools: [look], journal: cutAfter(4, journal) }).catch(() => {});
    const first = asked;
    const { result } = await play(plan(), script, { tools: [look], journal });
    await play(plan(), script, { tools: [look], journal });
    expect([result.text, first, asked - first <= 2]).toEqual(["Other.", 1, true]);
    const before = asked;
    await play(plan(), script, { tools: [look], journal });
    expect(asked).toBe(before);
  });
});
