// What a tool gets beside its arguments when no loop is around it: plain defaults, each of which a test may replace.

import {
  type Clock,
  type LoopResult,
  type NestedLoopOptions,
  type Provider,
  runToolLoop,
  type ToolBudget,
  type ToolContext,
} from "../core/entry-kit.ts";

/** The fields that belong to the call itself. */
export type CallFields = "name" | "signal" | "heartbeat" | "progress";

/** The fields of a tool's context that a test may set. */
export type ToolContextOverrides = {
  readonly [Field in Exclude<keyof ToolContext, CallFields | "provider">]?: ToolContext[Field] | undefined;
} & {
  /** The model of nested runs, in place of the one that they name; without a `stream` only what the tool reads of it. */
  readonly provider?: ToolContext["provider"] | Provider | undefined;
};

const unlimited: ToolBudget = {
  iterations: Number.POSITIVE_INFINITY,
  toolCalls: Number.POSITIVE_INFINITY,
  tokens: Number.POSITIVE_INFINITY,
  wallClockMs: Number.POSITIVE_INFINITY,
  costUSD: Number.POSITIVE_INFINITY,
};
const mock: Pick<Provider, "id" | "model"> = { id: "mock", model: "mock-model" };

const noProvider: Provider = {
  ...mock,
  stream: () => {
    throw new Error("The nested run has no provider. Write runTool(tool, args, { provider: createMockProvider([...]) }).");
  },
};

/** A nested run, whose model is the test's if it has one. */
function runNested(
  options: NestedLoopOptions,
  { provider, clock, context }: ToolContextOverrides & { readonly clock?: Clock | undefined },
): Promise<LoopResult> {
  const given = provider !== undefined && "stream" in provider ? provider : undefined;
  return runToolLoop({ clock, context, ...options, provider: given ?? options.provider ?? noProvider });
}

/** Makes a context of the call's own fields and of defaults. The fields of `own` are read when the tool reads them. */
export function createToolContext(own: Pick<ToolContext, CallFields>, overrides: ToolContextOverrides = {}): ToolContext {
  const { iteration = 0, session = {}, provider = mock } = overrides;
  const given = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined)) as Partial<ToolContext>;
  return {
    callId: "call_1",
    iteration,
    messages: [],
    contextItems: [],
    messageIdMap: undefined,
    showKillHint: false,
    suppressProgressNotices: session.surfaceUserErrors === false,
    budget: unlimited,
    idempotencyKey: `test/i${iteration}/tool/0/${own.name}`,
    session,
    context: undefined,
    depth: 0,
    ...given,
    provider: { id: provider.id, model: provider.model },
    runToolLoop: overrides.runToolLoop ?? ((options) => runNested({ signal: own.signal, session, ...options }, overrides)),
    name: own.name,
    get signal() {
      return own.signal;
    },
    heartbeat: () => own.heartbeat(),
    progress: (data) => own.progress(data),
  };
}
