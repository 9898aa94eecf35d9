// The options of the run of a random program.

import { z } from "zod";
import {
  type Approve,
  approve,
  contextRestarts,
  deferTools,
  finalAnswer,
  type LoopOptions,
  maskResults,
  type Message,
  type Middleware,
  prepareIteration,
  type Provider,
  structuredOutput,
  withFallback,
  withRetry,
} from "turnwright";
import { fromAnthropicMessages, toAnthropicMessages } from "turnwright/anthropic";
import { compactMessages, createHandoffs, withToolSearch } from "turnwright/middleware";
import { fromOpenAIMessages, toOpenAIMessages } from "turnwright/openai";
import { fromUIMessages, toUIMessages } from "turnwright/ui-message-stream";
import { toTool } from "./program-tools.ts";
import type { Program } from "./random-program.ts";

export const question: Message = { role: "user", content: "Go on \ud83d." };

/** The history, after its way through the format of another library. */
function toHistory({ history, converter }: Program, provider: Provider): readonly Message[] {
  const stored = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;
  switch (converter) {
    case "none":
      return history;
    case "chat":
    case "responses":
      return fromOpenAIMessages(stored(toOpenAIMessages(history, { api: converter }).messages), { provider, api: converter })
        .messages;
    case "anthropic":
      return fromAnthropicMessages(stored(toAnthropicMessages(history).messages), { provider }).messages;
    case "ui":
      return fromUIMessages(stored(toUIMessages(history).messages)).messages;
  }
}

function toPolicy(decision: Exclude<Program["approve"], "none">): Approve {
  return () => (decision === "modify" ? { kind: "modify", args: { at: "edited \ud83d" } } : { kind: decision });
}

type Listed = readonly (Middleware | false)[];

/** The tools and middleware of the feature that the program uses. */
function toFeature(
  program: Program,
  connect: () => Provider,
): Pick<LoopOptions, "tools" | "middleware"> & { readonly middleware: Listed } {
  const { feature, tools } = program;
  const all = tools.map((name) => toTool(name, connect));
  switch (feature) {
    case "none":
      return { tools: all, middleware: [] };
    case "masking":
      return { tools: all, middleware: [maskResults({ keepIterations: 1, minTokens: 1, force: new Set([0]) })] };
    case "compaction":
      return { tools: all, middleware: [compactMessages({ when: 600, keep: 100 })] };
    case "handoffs": {
      const agents = createHandoffs({
        start: "one",
        agents: {
          one: { description: "One.", system: "You are one.", tools: all, handoffs: ["two"] },
          two: { description: "Two.", system: "You are two.", tools: [toTool("other", connect)], handoffs: ["one"] },
        },
      });
      return { tools: agents.tools, middleware: [agents] };
    }
    case "tool-search":
      return { tools: withToolSearch(all, { defer: ({ name }) => name !== "quick" }), middleware: [deferTools()] };
    case "output":
      return { tools: all, middleware: [structuredOutput(z.object({ a: z.number() }))] };
  }
}

export function wrap({ wrapping }: Program, provider: Provider, second: () => Provider): Provider {
  if (wrapping === "none") return provider;
  return wrapping === "retry" ? withRetry(provider, { maxAttempts: 2, baseDelayMs: 10 }) : withFallback([provider, second()]);
}

/** Middleware that comes before `prepareIteration`, because it decides which messages and tools there are. */
const views: ReadonlySet<string> = new Set(["mask-results", "handoffs", "compaction"]);

/** `connect` makes the provider of a nested run. */
export function toOptions(program: Program, provider: Provider, connect: () => Provider): LoopOptions {
  const { maxIterations, contextItems, settings, system, choice, hiddenFrom, approve: decision } = program;
  const { tools: listed, middleware } = toFeature(program, connect);
  const masks = middleware.some((one) => one && one.name === "mask-results");
  return {
    provider,
    messages: [...toHistory(program, provider), question],
    tools: listed,
    ...(system === "none" ? {} : { system: "Be brief." }),
    modelSettings: settings,
    limits: { maxIterations },
    timeouts: { firstChunkMs: 300, streamIdleMs: 300, toolCleanupMs: 10 },
    middleware: [
      !masks && maskResults({ keepIterations: Number.POSITIVE_INFINITY }),
      ...middleware.filter((one) => one && views.has(one.name)),
      contextRestarts({ items: contextItems ? ["It is night."] : [] }),
      prepareIteration(({ iteration, tools }) => ({
        ...(system === "changing" ? { system: `Iteration ${iteration}.` } : {}),
        ...(iteration >= hiddenFrom ? { tools: [] } : {}),
        ...(choice === undefined || iteration > 0 || tools.length === 0
          ? {}
          : { toolChoice: choice === "named" ? { name: tools[0]?.name ?? "" } : choice }),
      })),
      ...middleware.filter((one) => one && !views.has(one.name)),
      program.finalAnswer && finalAnswer(),
      decision !== "none" && approve(toPolicy(decision)),
    ],
  };
}
