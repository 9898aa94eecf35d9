// The options of the run of a random program.

import { z } from "zod";
import {
  type Approve,
  type LoopOptions,
  maskResults,
  type Message,
  type Provider,
  structuredOutput,
  withFallback,
  withRetry,
} from "turnwright";
import { fromAnthropicMessages, toAnthropicMessages } from "turnwright/anthropic";
import { compactMessages } from "turnwright/compaction";
import { createHandoffs } from "turnwright/handoffs";
import { fromOpenAIMessages, toOpenAIMessages } from "turnwright/openai";
import { withToolSearch } from "turnwright/tool-search";
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

function toApproval({ approve }: Program): { readonly approve?: Approve } {
  if (approve === "none") return {};
  return { approve: () => (approve === "modify" ? { kind: "modify", args: { at: "edited \ud83d" } } : { kind: approve }) };
}

function toPolicies(program: Program, connect: () => Provider): Pick<LoopOptions, "policies" | "tools"> {
  const { policies, finalAnswer, tools } = program;
  const all = tools.map((name) => toTool(name, connect));
  const shared = { finalAnswer, ...toApproval(program) };
  switch (policies) {
    case "none":
      return { tools: all, policies: shared };
    case "masking":
      return {
        tools: all,
        policies: { ...shared, masking: maskResults({ keepIterations: 1, minTokens: 1, force: new Set([0]) }) },
      };
    case "compaction":
      return { tools: all, policies: { ...shared, compaction: compactMessages({ when: 600, keep: 100 }) } };
    case "handoffs": {
      const agents = createHandoffs({
        start: "one",
        agents: {
          one: { description: "One.", system: "You are one.", tools: all, handoffs: ["two"] },
          two: { description: "Two.", system: "You are two.", tools: [toTool("other", connect)], handoffs: ["one"] },
        },
      });
      return { tools: agents.tools, policies: { ...shared, handoffs: agents } };
    }
    case "tool-search":
      return { tools: withToolSearch(all, { defer: ({ name }) => name !== "quick" }), policies: shared };
    case "output":
      return { tools: all, policies: { ...shared, output: structuredOutput(z.object({ a: z.number() })) } };
  }
}

export function wrap({ wrapping }: Program, provider: Provider, second: () => Provider): Provider {
  if (wrapping === "none") return provider;
  return wrapping === "retry" ? withRetry(provider, { maxAttempts: 2, baseDelayMs: 10 }) : withFallback([provider, second()]);
}

/** `connect` makes the provider of a nested run. */
export function toOptions(program: Program, provider: Provider, connect: () => Provider): LoopOptions {
  const { maxIterations, contextItems, settings, system, choice, hiddenFrom } = program;
  return {
    provider,
    messages: [...toHistory(program, provider), question],
    ...toPolicies(program, connect),
    ...(contextItems ? { contextItems: ["It is night."] } : {}),
    ...(system === "none" ? {} : { system: "Be brief." }),
    modelSettings: settings,
    limits: { maxIterations },
    timeouts: { firstChunkMs: 300, streamIdleMs: 300, settleMs: 10 },
    hooks: {
      prepareIteration: ({ iteration, tools }) => ({
        ...(system === "changing" ? { system: `Iteration ${iteration}.` } : {}),
        ...(iteration >= hiddenFrom ? { tools: [] } : {}),
        ...(choice === undefined || iteration > 0 || tools.length === 0
          ? {}
          : { toolChoice: choice === "named" ? { name: tools[0]?.name ?? "" } : choice }),
      }),
    },
  };
}
