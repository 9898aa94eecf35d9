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
  costUSD: Number.POSITIVE_INFINITY,
};
const mock: Pick<Provider, "id" | "model"> = { id: "mock", model: "mock-model" };

/** Makes a context of the call's own fields and of defaults. The fields of `own` are read when the tool reads them. */
export function createToolContext(own: Pick<ToolContext, CallFields>, overrides: ToolContextOverrides = {}): ToolContext {
  const { iteration = 0, session = {} } = overrides;
  const given = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined)) as Partial<ToolContext>;
  return {
    callId: "call_1",
    iteration,
    messages: [],
    contextItems: [],
    messageIdMap: undefined,
    provider: mock,
    showKillHint: false,
    suppressProgressNotices: session.surfaceUserErrors === false,
    budget: unlimited,
    idempotencyKey: `test/p${iteration}/tool/0/${own.name}`,
    session,
    context: undefined,
    depth: 0,
    runToolLoop: (options) =>
      runToolLoop({ signal: own.signal, ...options, provider: options.provider ?? createMockProvider([]) }),
    ...given,
    name: own.name,
    get signal() {
      return own.signal;
    },
    heartbeat: () => own.heartbeat(),
    progress: (data) => own.progress(data),
  };
}
