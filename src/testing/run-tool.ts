import { resolveTimeouts } from "../core/loop/limits.ts";
import { sessionChecks } from "../core/loop/option-table.ts";
import { executeToolCall, createAdvice } from "../core/loop/execute-tool-call.ts";
import { toEmittedPart } from "../core/loop/recorder.ts";
import { startKey } from "../core/tools/inside-call.ts";
import { CancelScope, checkFields, type Checks, type ContextOf, is, timeoutRules } from "../core/kit.ts";
import type { EmittedPart } from "../core/types/loop-event.ts";
import type { ToolQuestion } from "../core/types/tool-outcome.ts";
import type { WaitOptions } from "../core/types/wait.ts";
import { checkField } from "../shared/errors/check-fields.ts";
import {
  type Clock,
  createToolRegistry,
  type Json,
  type LoopOptions,
  type LoopResult,
  type NestedLoopOptions,
  type Provider,
  runToolLoop,
  type Tool,
  type ToolContext,
  type ToolOutcome,
} from "../core/index.ts";
import { isQuestion, renderIssues, toPreliminary } from "../shared/to-outcome.ts";
import { validateArgs } from "../shared/argument-schema.ts";
import { systemClock } from "../shared/signals.ts";
import { toJson } from "../shared/json.ts";
import { withSignal } from "../shared/approval.ts";

type ToolBudget = ToolContext["budget"];

/** The context fields that `runTool` sets for each call. A test cannot override them. */
export type CallFields = "name" | "signal" | "heartbeat" | "progress" | "emit";

/** The fields of the tool context that a test may set. `Context` is the type of `context`. */
export type ToolContextOverrides<Context = unknown> = {
  readonly [Field in Exclude<keyof ToolContext, CallFields | "provider">]?: ToolContext<Context>[Field] | undefined;
} & {
  /** Called instead of `runNested` when the tool passes this context to it. */
  readonly runNested?: ((options: NestedLoopOptions) => Promise<LoopResult>) | undefined;
  /**
   * The value of `context.provider`. If it has the `stream` method, nested runs use it, even if their own options have a
   * different provider.
   */
  readonly provider?: ToolContext["provider"] | Provider | undefined;
};

type OwnFields = Pick<ToolContext, CallFields> & { readonly wait?: ToolContext["wait"] };

const noWait = (): Promise<never> =>
  Promise.reject(
    new Error('This test context has no answers. Pass "wait", or test the tool in a run with the option "answers".'),
  );

const noCall = (): Promise<never> =>
  Promise.reject(new Error('This test context has no other tools. Pass "call", or test the tool in a run with its other tools.'));

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
    throw new Error("The nested run has no provider. Pass one: runTool(tool, args, { provider: createMockProvider([...]) }).");
  },
};

function runInner(
  options: NestedLoopOptions,
  { provider, clock, context }: ToolContextOverrides & { readonly clock?: Clock | undefined },
): Promise<LoopResult> {
  const given = provider !== undefined && "stream" in provider ? provider : undefined;
  return runToolLoop({ clock, context, ...options, provider: given ?? options.provider ?? noProvider });
}

/**
 * Creates the context for a tool. Reads the fields of `own` only when the tool reads them, because `own` creates its `signal` on the first
 * read.
 */
export function createToolContext(own: OwnFields, overrides: ToolContextOverrides = {}): ToolContext {
  const { iteration = 0, session = {}, provider = mock, runNested, ...fields } = overrides;
  const nest = (options: NestedLoopOptions): Promise<LoopResult> =>
    runNested?.(options) ?? runInner({ signal: own.signal, session, ...options }, overrides);
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<ToolContext>;
  const context: ToolContext = {
    runId: "test",
    callId: "call_1",
    iteration,
    messages: [],
    contextItems: [],
    findableTools: undefined,
    messageIdMap: undefined,
    showKillHint: false,
    suppressProgressNotices: session.surfaceUserErrors === false,
    budget: unlimited,
    idempotencyKey: `test/i${iteration}/tool/0/${own.name}`,
    session,
    context: undefined,
    depth: 0,
    step: async (_name, body) => body(),
    wait: noWait,
    call: noCall,
    ...given,
    provider: { id: provider.id, model: provider.model },
    ...(own.wait && { wait: own.wait }),
    name: own.name,
    get signal() {
      return own.signal;
    },
    heartbeat: () => own.heartbeat(),
    progress: (data) => own.progress(data),
    emit: (part) => own.emit(part),
  };
  return Object.defineProperty(context, startKey, { value: nest });
}

/** The options for `runTool`: fields of the tool context, time limits and cancellation. `Context` is the type of `context`. */
export type RunToolOverrides<Context = unknown> = ToolContextOverrides<Context> & {
  /** The clock for time limits. Default: the platform's clock. */
  readonly clock?: Clock | undefined;
  /** Cancels the call when it fires, as when a run is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Time limits, as in `runToolLoop`, in milliseconds. Only `toolMs` and `callbackMs` apply. */
  readonly timeouts?: LoopOptions["timeouts"];
  /**
   * The answers to the questions that the tool asks with `ask`, in order. If an answer is missing, the outcome is `deferred`
   * with the `question`. Default: no answers.
   */
  readonly answers?: readonly Json[] | undefined;
  /** Called with each value that the tool passes to `context.progress`, and with each value that its generator yields. */
  readonly onProgress?: ((data: unknown) => void) | undefined;
  /** Called with each part that the tool passes to `context.emit`. */
  readonly onEmit?: ((part: EmittedPart) => void) | undefined;
  /** Called with the `metadata` in the tool's result. */
  readonly onMetadata?: ((metadata: unknown) => void) | undefined;
};

interface Asking {
  /** The index of the answer to the next question. */
  next: number;
  /** The first question without an answer. `fromPage` is true if a web page may answer it. */
  open: { readonly question: ToolQuestion; readonly fromPage?: true | undefined } | undefined;
  readonly wait: ToolContext["wait"];
}

/** Answers questions in order. `other` answers all other waits. */
function createAsking(answers: readonly Json[], other: ToolContext["wait"] = noWait): Asking {
  const wait = async (what: string, facts: Json, options: WaitOptions = {}): Promise<unknown> => {
    if (!isQuestion({ what, facts })) return other(what, facts, options);
    if (asking.next >= answers.length) {
      asking.open ??= facts as unknown as Asking["open"];
      throw new Error("The question has no answer yet, so this execution of the tool ends. Do not catch this error.");
    }
    const given = { kind: "result", result: answers[asking.next] };
    asking.next += 1;
    const checked = options.schema === undefined ? { value: given } : await validateArgs(options.schema, given);
    if ("issues" in checked) throw new Error(`The answer ${renderIssues(checked.issues)}.`);
    return checked.value;
  };
  const asking: Asking = { next: 0, open: undefined, wait };
  return asking;
}

const overrideChecks: Checks<RunToolOverrides> = {
  runId: is.text,
  callId: is.text,
  iteration: { min: 0, infinite: false },
  messages: ["an array", Array.isArray],
  contextItems: ["an array", Array.isArray],
  findableTools: ["an array", Array.isArray],
  messageIdMap: is.any,
  provider: is.object,
  showKillHint: is.flag,
  suppressProgressNotices: is.flag,
  budget: is.object,
  idempotencyKey: is.text,
  session: sessionChecks,
  context: is.any,
  depth: { min: 0, infinite: false },
  answers: ["an array", Array.isArray],
  runNested: is.fn,
  step: is.fn,
  wait: is.fn,
  call: is.fn,
  clock: is.object,
  signal: is.object,
  timeouts: is.object,
  onProgress: is.fn,
  onEmit: is.fn,
  onMetadata: is.fn,
};

/**
 * Runs one tool call as the loop would: validates the arguments, runs the tool with its time limit and signal, and resolves to the outcome.
 * Also resolves to an outcome if the tool throws, hangs or returns an invalid value.
 *
 * Calls are never held for approval: `needsApproval` is ignored. An agent tool's nested run uses `overrides.provider`. Without that
 * override, it uses the provider that the tool's `prepare` returns.
 *
 * `args` are the arguments as a model would send them: any JSON, default `{}`. Rejects with LoopError "invalid-tool" or
 * "invalid-schema" for an invalid tool, and with "unknown-option" or "invalid-option" for an invalid override. Rejects with a
 * TypeError if `args` is not JSON.
 *
 * @example
 * expect(await runTool(weather, { city: "Oslo" })).toMatchObject({ kind: "completed", data: { celsius: 7 } });
 * expect(await runTool(weather, { city: 42 })).toMatchObject({ kind: "invalid-input" });
 *
 * @example
 * const clock = createTestClock();
 * const running = runTool(slow, {}, { clock, timeouts: { toolMs: 1_000 } });
 * await clock.advance(1_000);
 * expect(await running).toMatchObject({ kind: "timed-out", limitMs: 1_000 });
 */
export async function runTool<T extends Tool>(
  tool: T,
  args: unknown = {},
  overrides: RunToolOverrides<ContextOf<T>> = {},
): Promise<ToolOutcome> {
  checkFields("overrides", overrides, overrideChecks);
  const { clock = systemClock, signal, callId = "call_1", answers = [], onProgress, onEmit, onMetadata } = overrides;
  const registry = createToolRegistry([tool]);
  checkField("timeouts", overrides.timeouts, timeoutRules);
  const timeouts = resolveTimeouts(overrides.timeouts);
  const call = { callId, name: tool.name, args: toJson(args) };
  const scope = new CancelScope();
  scope.follow(signal);
  const asking = createAsking(answers, overrides.wait);
  try {
    const outcome = await executeToolCall(call, {
      registry,
      clock,
      timeouts,
      scope,
      advice: createAdvice(),
      shown: new Map(registry.definitions().map((definition) => [definition.name, definition])),
      contextFor: ({ name }, deadline) => {
        const heartbeat = (): void => deadline.heartbeat();
        const progress = (data: unknown): void => {
          // Drops progress after the deadline, as the loop does.
          if (deadline.isOver) return;
          heartbeat();
          onProgress?.(data);
        };
        const emit = (given: EmittedPart<unknown>): void => {
          const part = toEmittedPart(given);
          if (deadline.isOver) return;
          heartbeat();
          onEmit?.(part);
        };
        asking.next = 0;
        return createToolContext(withSignal({ name, wait: asking.wait, heartbeat, progress, emit }, deadline), overrides);
      },
      onYield: (_, value) => {
        const data = toPreliminary(value);
        if (data !== undefined) onProgress?.(data);
      },
      onMetadata: (_, metadata) => onMetadata?.(metadata),
    });
    const { open } = asking;
    if (open === undefined) return outcome;
    // An unanswered question decides the outcome, even if the tool ignored the rejection of `ask` and returned a value, or took too long.
    const { question, fromPage } = open;
    return { call, durationMs: outcome.durationMs, kind: "deferred", question, ...(fromPage && { fromPage }) };
  } finally {
    scope.release();
  }
}
