import {
  approve,
  type Approve,
  contextRestarts,
  detectLoops,
  finalAnswer,
  type LoopOptions,
  maskResults,
  type Middleware,
  type Pricing,
  processResults,
  type Provider,
  type ResultPipeline,
  type StandardSchema,
  type StopCondition,
  stopWhen,
  structuredOutput,
  type StructuredOutput,
  withFallback,
  withRetry,
  eagerTools,
} from "turnwright";
import { never } from "./play.ts";
import type { Plan } from "./random-run.ts";
import type { Workshop } from "./random-tools.ts";

export function middlewareOf(plan: Plan, workshop: Workshop): NonNullable<LoopOptions["middleware"]> {
  const [pipeline, stop, decide] = [pipelineOf(plan, workshop), stopOf(plan, workshop), approvalOf(plan, workshop)];
  return [
    eagerTools(),
    maskingOf(plan, workshop),
    contextRestarts({ maxRestarts: plan.maxRestarts }),
    outputOf(plan, workshop),
    plan.loopDetection && detectLoops(plan.loopDetection),
    stop && stopWhen(stop),
    plan.finalAnswer && finalAnswer(),
    pipeline && processResults(pipeline),
    decide && approve(decide),
  ];
}

function approvalOf({ approve }: Plan, { later }: Workshop): Approve | undefined {
  const decisions: { readonly [Kind in Exclude<Plan["approve"], "none">]: Approve } = {
    yes: () => ({ kind: "approve" }),
    no: ({ callId }) => (callId.endsWith("1") ? { kind: "deny" } : { kind: "approve" }),
    late: () => later(150, { kind: "approve" }),
    never: () => never,
    ask: ({ callId }) => (callId.endsWith("0") ? { kind: "approve" } : { kind: "ask" }),
    edit: ({ name }) => ({ kind: "modify", args: name === "picky" ? null : { edited: true } }),
  };
  return approve === "none" ? undefined : decisions[approve];
}

function stopOf({ stopWhen }: Plan, { later }: Workshop): StopCondition | undefined {
  const conditions: { readonly [Kind in Exclude<Plan["stopWhen"], "none">]: StopCondition } = {
    calls: ({ toolCallsExecuted }) => toolCallsExecuted > 1,
    late: ({ iteration }) => later(80, iteration > 2),
    never: ({ iteration }) => (iteration > 1 ? never : false),
  };
  return stopWhen === "none" ? undefined : conditions[stopWhen];
}

function outputOf({ output }: Plan, { later }: Workshop): StructuredOutput | undefined {
  if (!output) return undefined;
  const schema: StandardSchema = {
    "~standard": { version: 1, vendor: "test", validate: (value) => later(60, { value: { value } }) },
  };
  return structuredOutput(schema, { jsonSchema: {}, maxRetries: 1 });
}

function pipelineOf({ results }: Plan, { later }: Workshop): ResultPipeline | undefined {
  const usage = { inputTokens: 3, outputTokens: 1, totalTokens: 4 };
  const pipelines: { readonly [Kind in Exclude<Plan["results"], "none">]: ResultPipeline } = {
    short: { processor: (name, output) => (name === "quick" ? undefined : `${output}.`) },
    late: {
      processor: (_, output) => later(40, output.toUpperCase()),
      extractor: { threshold: 0, extract: (output) => later(50, { text: output.slice(0, 3), usage }) },
      cacher: { threshold: 0, store: () => later(20, "kept") },
    },
    broken: {
      processor: (name, output) => {
        if (name === "alone") throw new Error("no");
        return output;
      },
      extractor: { threshold: 0, extract: () => never },
      cacher: { threshold: 0, store: () => Promise.reject(new Error("full")) },
    },
  };
  return results === "none" ? undefined : pipelines[results];
}

function maskingOf({ masking }: Plan, { force }: Workshop): Middleware | undefined {
  // The tools of the plan may release results.
  return maskResults(masking === undefined ? { keepIterations: Number.POSITIVE_INFINITY } : { ...masking, minTokens: 1, force });
}

/** With prices: "some", the cost is unknown if the number of tokens is divisible by three. */
export function pricingOf({ prices }: Plan): Pricing | undefined {
  if (prices === "none") return undefined;
  return ({ totalTokens }) => (prices === "some" && totalTokens % 3 === 0 ? undefined : totalTokens / 1_000);
}

export function wrap({ wrapping }: Plan, provider: Provider): Provider {
  switch (wrapping) {
    case "none":
      return provider;
    case "retry":
      return withRetry(provider, { maxAttempts: 3, baseDelayMs: 40, random: () => 0.5 });
    case "fallback":
      return withFallback([provider, { ...provider, stream: provider.stream.bind(provider), id: "other" }], {
        firstChunkMs: 90,
        cooldownMs: 100,
      });
  }
}
