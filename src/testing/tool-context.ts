// What a tool gets beside its arguments when no loop is around it: plain defaults, each of which a test may replace.

import type { Provider } from "../contract/provider.ts";
import type { ToolBudget } from "../contract/tool.ts";
import type { ToolContext } from "../contract/loop-options.ts";
import { runToolLoop } from "../loop/run-tool-loop.ts";
import { createMockProvider } from "./mock-provider.ts";

/** The fields that belong to the call itself. */
export type CallFields = "name" | "signal" | "heartbeat" | "progress";

/** The fields of a tool's context that a test may set. */
export type ToolContextOverrides = {
  readonly [Field in Exclude<keyof ToolContext, CallFields>]?: ToolContext[Field] | undefined;
};

const unlimited: ToolBudget = {
  iterations: Number.POSITIVE_INFINITY,
  toolCalls: Number.POSITIVE_INFINITY,
  tokens: Number.POSITIVE_INFINITY,
  wallClockMs: Number.POSITIVE_INFINITY,
};
const mock: Pick<Provider, "id" | "model"> = { id: "mock", model: "mock-model" };

/** Makes a context of the call's own fields and of defaults. The fields of `own` are read when the tool reads them. */
export function createToolContext(own: Pick<ToolContext, CallFields>, overrides: ToolContextOverrides = {}): ToolContext {
  const { callId = "call_1", iteration = 0, session = {} } = overrides;
  return {
    callId,
    name: own.name,
    iteration,
    get signal() {
      return own.signal;
    },
    heartbeat: () => own.heartbeat(),
    progress: (data) => own.progress(data),
    messages: overrides.messages ?? [],
    contextItems: overrides.contextItems ?? [],
    messageIdMap: overrides.messageIdMap,
    provider: overrides.provider ?? mock,
    showKillHint: overrides.showKillHint ?? false,
    suppressProgressNotices: overrides.suppressProgressNotices ?? session.surfaceUserErrors === false,
    budget: overrides.budget ?? unlimited,
    idempotencyKey: overrides.idempotencyKey ?? `test/p${iteration}/tool/0/${own.name}`,
    session,
    context: overrides.context,
    depth: overrides.depth ?? 0,
    runToolLoop:
      overrides.runToolLoop ??
      ((options) => runToolLoop({ signal: own.signal, ...options, provider: options.provider ?? createMockProvider([]) })),
  };
}
