// Runs the loop in a Restate workflow: each journal step is one `ctx.run`, and outside answers arrive through a durable promise.

import { RestatePromise, TerminalError, type WorkflowContext, type WorkflowSharedContext } from "@restatedev/restate-sdk";
import { describeValue } from "../shared/texts.ts";
import { type Json, LoopError, type LoopResult } from "../core/index.ts";
import { untilAborted } from "../shared/signals.ts";
import {
  type Answers,
  checkAnswerTo,
  runInEngine,
  type ShownWait,
  type StoredStep,
  type WorkflowEngine,
  type WorkflowPorts,
} from "../host/durable/run-in-engine.ts";

const waitsState = "turnwright waits";

/** The context of a workflow's `run` handler: `WorkflowContext` from `@restatedev/restate-sdk`. */
export interface RestateContext extends SharedContext {
  run(name: string, action: () => unknown): PromiseLike<unknown>;
  set(name: string, value: unknown): void;
  sleep(ms: number): unknown;
}

/** The context of a workflow's shared handler: `WorkflowSharedContext` from `@restatedev/restate-sdk`. */
export interface SharedContext {
  readonly key: string;
  get(name: string): PromiseLike<unknown>;
  promise(name: string): unknown;
  request(): unknown;
}

/**
 * Runs the loop in the `run` handler of a Restate workflow. If the worker dies, Restate calls the workflow again, and the run continues.
 * While the run is waiting for answers, the workflow is suspended, for days if necessary. Add handlers to the workflow that call
 * `readWaits` and `sendAnswer`. Do not use `ctx` for anything else while the loop runs. Throws an error on Node 20.
 *
 * @example
 * const answer = restate.workflow({
 *   name: "answer",
 *   handlers: {
 *     run: (ctx: restate.WorkflowContext) => runInWorkflow(ctx, (ports) => runToolLoop({ ...options, ...ports })),
 *     waits: (ctx: restate.WorkflowSharedContext) => readWaits(ctx),
 *     answer: (ctx: restate.WorkflowSharedContext, { id, value }) => sendAnswer(ctx, id, value),
 *   },
 * });
 */
export async function runInWorkflow(
  ctx: RestateContext,
  execute: (ports: WorkflowPorts) => Promise<LoopResult>,
): Promise<LoopResult> {
  requireNode22();
  if (typeof (ctx as { readonly run?: unknown } | undefined)?.run !== "function") {
    throw new LoopError("invalid-option", {
      option: "ctx",
      expected: "the context of a Restate workflow",
      received: describeValue(ctx),
    });
  }
  return runInEngine(new RestateEngine(ctx as WorkflowContext), execute);
}

/** Throws if this version of Node is too old. Restate's SDK would fail later, with a message that does not say why. */
export function requireNode22(): void {
  if ("withResolvers" in Promise) return;
  throw new Error(
    `turnwright/restate needs Node 22 or later. This is Node ${process.version}. Update Node, or use turnwright/dbos, which runs on Node 20.`,
  );
}

class RestateEngine implements WorkflowEngine<RestatePromise<StoredStep>> {
  readonly id: string;
  readonly signal: AbortSignal;
  readonly #ctx: WorkflowContext;
  /** The durable promises for answers, by name. A promise that lost a race is reused. */
  readonly #promises = new Map<string, RestatePromise<Answers>>();

  constructor(ctx: WorkflowContext) {
    this.id = ctx.key;
    this.#ctx = ctx;
    this.signal = ctx.request().attemptCompletedSignal;
  }

  begin(name: string, body: () => Promise<StoredStep>): RestatePromise<StoredStep> {
    return this.#ctx.run(name, body);
  }

  /** Waits for several steps. Only `RestatePromise.all` can do this. */
  finish(steps: readonly RestatePromise<StoredStep>[]): Promise<readonly StoredStep[]> {
    return this.#untilOver(RestatePromise.all(steps));
  }

  /**
   * Waits for a Restate promise, but only until the attempt is over, because the promise may never settle, for example after a lost
   * connection.
   */
  #untilOver<T>(promise: PromiseLike<T>): Promise<T> {
    return untilAborted(
      promise,
      this.signal,
      () => new Error("This execution of the workflow is over. Restate continues it elsewhere."),
    );
  }

  async show(waits: readonly ShownWait[]): Promise<void> {
    this.#ctx.set(waitsState, waits);
  }

  receive(waits: readonly ShownWait[], limitMs: number | undefined): Promise<Answers> {
    const ways: RestatePromise<Answers>[] = waits.map((wait) => this.#promiseOf(wait));
    if (limitMs !== undefined) ways.push(this.#ctx.sleep(limitMs).map(() => ({})));
    return this.#untilOver(RestatePromise.race(ways));
  }

  #promiseOf(wait: ShownWait): RestatePromise<Answers> {
    const name = nameOf(wait);
    let promise = this.#promises.get(name);
    if (promise === undefined) {
      promise = this.#ctx
        .promise<Json>(name)
        .get()
        .map((value = null) => ({ [wait.id]: value }));
      this.#promises.set(name, promise);
    }
    return promise;
  }
}

function nameOf({ id, attempt }: ShownWait): string {
  return `answer/${id}/${attempt}`;
}

/** Returns the waits that a workflow has not finished, or an empty list. Call this function in one of the workflow's shared handlers. */
export async function readWaits(ctx: SharedContext): Promise<readonly ShownWait[]> {
  return (await (ctx as WorkflowSharedContext).get<readonly ShownWait[]>(waitsState)) ?? [];
}

/**
 * Sends an answer that a workflow is waiting for. Only the first answer counts. Ends the handler with a TerminalError if the workflow
 * is not waiting for the answer, or already has it. Call this function in one of the workflow's shared handlers.
 */
export async function sendAnswer(ctx: SharedContext, id: string, value: Json): Promise<void> {
  const waits = await readWaits(ctx);
  let wait: ShownWait;
  try {
    wait = await checkAnswerTo(waits, id, value);
  } catch (error) {
    throw new TerminalError(error instanceof Error ? error.message : String(error), { errorCode: 409 });
  }
  await (ctx as WorkflowSharedContext).promise<Json>(nameOf(wait)).resolve(value);
}
