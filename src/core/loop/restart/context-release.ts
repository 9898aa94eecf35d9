import type { ExecutableTool, ToolContext } from "../../types/loop-options.ts";
import type { StandardResult, StandardSchema } from "../../types/common.ts";
import type { ToolResult } from "../../types/tool.ts";
import type { UnknownRecord } from "../../utils/guards.ts";
import { argumentSchema, issue } from "../../tools/argument-schema.ts";
import { markSignal, toolResult } from "../../tools/to-outcome.ts";
import { maskResults } from "../run/mask-results.ts";

/** The arguments of `context_release`. If `callIds` is undefined, all results from earlier iterations are released. */
export interface ReleaseRequest {
  readonly callIds: readonly string[] | undefined;
}

/** The type of the tool that `createContextRelease` returns. */
export type ContextReleaseTool = ExecutableTool<ReleaseRequest, StandardSchema<unknown, ReleaseRequest>, ToolResult>;

const mostIds = 1_000;
/** If the model names an unknown id, the result lists at most this many recent calls. */
const mostKnown = 20;

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
          "The ids of the calls whose results you no longer need. Omit it to drop the results of all earlier calls. If you do not know the ids of your calls, pass any id: the result lists the ids.",
      },
    },
  },
  readRequest,
);

/**
 * Makes the tool `context_release`. A model calls this tool to release results that it no longer needs: the results of the calls
 * that it names, or all results from earlier iterations.
 *
 * Later requests contain a short note in place of each released result, as with `policies.masking`. The limit `minTokens` of the
 * masking applies here too. The transcript keeps the results. The tool also works without `policies.masking`. The outcome of the
 * call records the released ids, so that a resumed run sends the same requests.
 *
 * @example await runToolLoop({ provider, tools: [search, createContextRelease()], messages });
 */
export function createContextRelease(): ContextReleaseTool {
  return {
    name: "context_release",
    description:
      "Frees space in your context: drops results of earlier tool calls that you no longer need. First write down what you still need from these results.",
    inputSchema,
    replay: "safe",
    // With an infinite age limit, only the results that the model releases are masked.
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
  return texts.length === ids.length ? { value: { callIds: [...new Set(texts)] } } : issue("must be strings", "call_ids");
}

function answeredCalls(messages: ToolContext["messages"]): ReadonlyMap<string, AnsweredCall> {
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  const completed = results.filter(({ outcome }) => outcome === "completed");
  return new Map(completed.map(({ callId, name }) => [callId, { call_id: callId, tool: name }]));
}
