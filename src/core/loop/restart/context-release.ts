// The tool with which a model releases results that it no longer needs.

import type { ExecutableTool, ToolContext } from "../../types/loop-options.ts";
import type { StandardResult, StandardSchema } from "../../types/common.ts";
import type { ToolResult } from "../../types/tool.ts";
import type { UnknownRecord } from "../../utils/guards.ts";
import { argumentSchema, issue } from "../../tools/argument-schema.ts";
import { markSignal, toolResult } from "../../tools/to-outcome.ts";
import { maskResults } from "../run/mask-results.ts";

/** The arguments of the tool. Without ids, all results of the earlier iterations are released. */
export interface ReleaseRequest {
  readonly callIds: readonly string[] | undefined;
}

/** The tool that `createContextRelease` makes. */
export type ContextReleaseTool = ExecutableTool<ReleaseRequest, StandardSchema<unknown, ReleaseRequest>, ToolResult>;

const mostIds = 1_000;
/** How many of the last calls an error lists when the model named an unknown one. */
const mostKnown = 20;

/** A call that can be released, as shown to the model. */
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
 * Makes the tool `context_release`. A model calls it to release results that it no longer needs: those of the calls that it
 * names, or all of the earlier iterations.
 *
 * Later requests leave these results out, like those that `policies.masking` masks, and its `minTokens` applies. The transcript
 * keeps them. The tool also works without that policy. The released ids are part of the call's outcome, so that a resumed run
 * sends the same requests.
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
    // Masks nothing by age, only what the model releases.
    masking: maskResults({ keepIterations: Number.POSITIVE_INFINITY }),
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

/** Results that can be released, by the ids of their calls. Excludes errors and calls of the current batch. */
function answeredCalls(messages: ToolContext["messages"]): ReadonlyMap<string, AnsweredCall> {
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  const completed = results.filter(({ outcome }) => outcome === "completed");
  return new Map(completed.map(({ callId, name }) => [callId, { call_id: callId, tool: name }]));
}
