// A summary for llms.txt: a tool and its context. If a type here differs from the real type, the compiler reports an error.

import assert from "node:assert/strict";
import {
  type defineAgentTool,
  toolResult,
  type ContentPart,
  type Json,
  type JsonSchema,
  type LoopResult,
  type Message,
  type NestedLoopOptions,
  type Session,
  type StandardSchema,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolResult,
} from "turnwright";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type NeedsApproval<Args> = (
  args: Args,
  view: ArgumentOf<Extract<Tool["needsApproval"], (...args: never) => unknown>, 1>,
) => boolean;
type EmittedPart<Data> = ArgumentOf<ToolContext["emit"]> & { data?: Data };

// #region tools
interface ToolFields {
  name: string; // 1 to 64 letters, digits, "_" or "-"
  description: string;
  inputSchema: StandardSchema | JsonSchema; // zod, valibot, arktype ...; JSON Schema is shown to the model, not enforced
  jsonSchema?: JsonSchema; // shown instead of the JSON Schema of inputSchema
  execute?(args: unknown, context: ToolContext): unknown; // the call succeeds if this returns, and fails if it throws; a generator's yields are preliminary results; without `execute`, calls wait for results from outside
  outputSchema?: StandardSchema; // checks results from outside
  sequential?: boolean; // never runs in parallel
  timeoutMs?: number; // default timeouts.toolMs
  idleTimeoutMs?: number; // context.progress(data) and context.heartbeat() extend it
  idempotent?: boolean;
  retry?: { readonly maxAttempts: number }; // idempotent tools only
  polls?: boolean; // equal results are not a loop
  eager?: boolean; // starts while the model still streams; for tools that only read
  requiresFollowUp?: boolean; // false: text of the same iteration is the answer, if the call succeeds
  needsApproval?: boolean | NeedsApproval<unknown>; // or (args, view) => boolean; approve decides; without approve, the run ends as approval-required
  durable?: true; // runs again from its start after each wait and on a resume: ask, and step, wait, run and call of the context need it
  replay?: "safe" | "never"; // "safe": may run again after a crash, with a durable journal
  origin?: string; // the original name, if `name` was derived from another name; models do not see it
  deferred?: boolean; // true: shown to the model only after a search has found it, or after the model has called it
  findsTools?: boolean; // set by withToolSearch
  triggers?: string | readonly string[]; // phrases for createDeliberateMode({ tools }); models do not see them
  releasesResults?: boolean; // false: a result may release earlier results; needs maskResults
}

interface AgentFields {
  name: string;
  description: string;
  inputSchema: StandardSchema | JsonSchema;
  jsonSchema?: JsonSchema;
  prepare(args: unknown, context: ToolContext): NestedLoopOptions | PromiseLike<NestedLoopOptions>; // replaces execute
  emitText?: boolean; // default false: the text of the nested run does not appear in the user's stream
  toResult?(result: LoopResult): unknown; // default: the text of a completed run, or a failure with status and reason
  sequential?: boolean;
  requiresFollowUp?: boolean;
  triggers?: string | readonly string[];
  needsApproval?: boolean | NeedsApproval<unknown>; // other traits of tools, except triggers, are refused; the nested run has its own limits
}

interface ResultFields {
  success?: boolean; // default: true unless there is an error
  data?: unknown; // the model reads this
  message?: string; // the reason of a failure; read before error
  error?: string;
  endTurn?: boolean; // ends the run as completed after this batch
  content?: readonly ContentPart[]; // text, images and files next to data
  metadata?: unknown; // for listeners of "tool-end" only
}

interface Context {
  runId: string;
  callId: string;
  name: string;
  iteration: number;
  signal: AbortSignal; // fires on stop, kill, abort and this call's timeout
  heartbeat(): void;
  progress(data: unknown): void;
  emit(part: EmittedPart<unknown>): void; // text or data for the user's stream, which the model never sees
  idempotencyKey: string;
  messages: readonly Message[];
  contextItems: readonly Json[];
  findableTools: readonly ToolDefinition[] | undefined; // the tools that a tool with findsTools may find
  messageIdMap: unknown;
  provider: { readonly id: string; readonly model: string };
  budget: {
    readonly iterations: number;
    readonly toolCalls: number;
    readonly tokens: number;
    readonly wallClockMs: number;
    readonly costUSD: number;
  };
  showKillHint: boolean;
  suppressProgressNotices: boolean;
  session: Session;
  context: unknown; // options.context
  depth: number; // the number of outer runs
  // only in tools with durable: true
  step<T>(name: string, body: () => T | PromiseLike<T>): Promise<T>; // runs body once; recorded
  wait<A = Json>(what: string, facts: Json, options?: { schema?: StandardSchema<unknown, A>; until?: undefined }): Promise<A>; // for an answer in `answers`; with `until`, a number: Promise<A | null>
  call(tool: string, args: Json): Promise<Json>; // another tool of this run
}
// #endregion tools

export type { AgentFields, ResultFields, ToolFields };

expectNone<Differing<ToolFields, Tool>>();
expectNone<Differing<AgentFields, ArgumentOf<typeof defineAgentTool>>>();
expectNone<Differing<ResultFields, ToolResult>>();
expectNone<Differing<Context, ToolContext>>();

/** The compiler reports an error here if the summary differs from the real types. */
const holds: {
  readonly fields: (fields: ResultFields) => ToolResult;
  readonly context: (context: ToolContext) => Context;
} = {
  fields: (fields) => toolResult(fields),
  context: (context) => context,
};
assert.equal(holds.fields({ data: 1 }).success, true);
