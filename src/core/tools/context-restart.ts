// Tool results that restart the context or release older results.

import type { Tool, ToolContext } from "../types/loop-options.ts";
import type { StandardResult, StandardSchema } from "../types/common.ts";
import type { ToolResult } from "../types/tool.ts";
import type { UnknownRecord } from "../utils/guards.ts";
import { argumentSchema, issue } from "./argument-schema.ts";
import { markSignal } from "./loop-signal.ts";
import { toolResult } from "./to-outcome.ts";
import { checkFields, checkNeeded, type Checks, is } from "../errors/check-fields.ts";

/** What the model asks for: no ids mean all results of the iterations before. */
export interface ReleaseRequest {
  readonly callIds: readonly string[] | undefined;
}

/** The tool that `createContextRelease` makes. */
export type ContextReleaseTool = Tool<ReleaseRequest, StandardSchema<unknown, ReleaseRequest>, ToolResult>;

const mostIds = 1_000;
/** How many of the last calls are told to a model that has named one that is not there. */
const mostKnown = 20;

/** A call that can be released, as the model reads of it. */
interface AnsweredCall {
  readonly call_id: string;
  readonly tool: string;
}

const inputSchema = argumentSchema<ReleaseRequest>(
  {
    type: "object",
    properties: {
      call_ids: {
        type: "array",
        items: { type: "string" },
        description:
          "Ids of the calls whose results are no longer needed. Without it: of all calls before this one. If you do not see the ids of your calls, name any: the answer lists them.",
      },
    },
  },
  readRequest,
);

/**
 * Makes the tool `context_release`. With it a model drops results that it has done with: those of the calls that it names, or all of
 * the iterations before. They are left out of every later request, as `policies.masking` leaves old ones out, whose `minTokens` holds for
 * them too; the transcript keeps them. It works without that policy as well. What was released is part of the call's outcome, so that a
 * resumed run sends the same.
 *
 * @example await runToolLoop({ provider, tools: [search, createContextRelease()], messages });
 */
export function createContextRelease(): ContextReleaseTool {
  return {
    name: "context_release",
    description:
      "Frees space in your context: drops results of earlier tool calls that you no longer need. Note first what you still need of them.",
    inputSchema,
    replay: "safe",
    execute: ({ callIds }, { messages }) => {
      if (callIds === undefined) return markSignal(toolResult({ data: { released: "all" } }), { release: "all" });
      const answered = answeredCalls(messages);
      const released = callIds.filter((id) => answered.has(id));
      const unknown = callIds.filter((id) => !answered.has(id));
      const data = unknown.length === 0 ? { released } : { released, unknown, known: [...answered.values()].slice(-mostKnown) };
      return markSignal(toolResult({ data }), { release: released });
    },
  };
}

function readRequest({ call_ids: ids }: UnknownRecord): StandardResult<ReleaseRequest> {
  if (ids === undefined || ids === null) return { value: { callIds: undefined } };
  const fits = Array.isArray(ids) && ids.length > 0 && ids.length <= mostIds;
  if (!fits) return issue(`must be an array of 1 to ${mostIds} ids`, "call_ids");
  const texts = ids.filter((id) => typeof id === "string");
  return texts.length === ids.length ? { value: { callIds: [...new Set(texts)] } } : issue("must be texts", "call_ids");
}

/** Results that can be released, by the ids of their calls: errors stay. Siblings of this call are not among them yet. */
function answeredCalls(messages: ToolContext["messages"]): ReadonlyMap<string, AnsweredCall> {
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  const completed = results.filter(({ outcome }) => outcome === "completed");
  return new Map(completed.map(({ callId, name }) => [callId, { call_id: callId, tool: name }]));
}

/** What `contextRestart` takes. */
export interface ContextRestartFields {
  /** `context_restart_` and a suffix of your own choice. */
  readonly type: `context_restart_${string}`;
  /** An object or an array that joins the context items. Default none. */
  readonly enhanced_context_item?: object | null | undefined;
  /** Names of tools to hide for the rest of the run. Default none. */
  readonly disable_tools?: readonly string[] | undefined;
  /** Key of an item in `policies.restarts.stash` that joins the context items too. Default none. */
  readonly pending_context_key?: string | undefined;
}

const checks: Checks<ContextRestartFields> = {
  type: ['"context_restart_" and a suffix', isRestartType],
  enhanced_context_item: ["an object or an array", (value) => typeof value === "object"],
  disable_tools: is.texts,
  pending_context_key: is.text,
};

/**
 * Makes a tool's answer that asks for a context restart. A plain object with the same fields is data like any other, so a web page or a
 * server cannot ask for one.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if a field is unknown or has the wrong type.
 *
 * @example return contextRestart({ type: "context_restart_profile", enhanced_context_item: await loadProfile(user) });
 */
export function contextRestart(fields: ContextRestartFields): ToolResult {
  checkNeeded("contextRestart", fields, { name: "type", check: checks.type });
  checkFields("contextRestart", fields, checks);
  return markSignal(toolResult({ data: { ...fields } }), { restart: true });
}

function isRestartType(value: unknown): boolean {
  return typeof value === "string" && value.startsWith("context_restart_");
}
