// Runs the loop in a Restate workflow: each step is one `ctx.run`, and a wait is a durable promise of the workflow.

import { RestatePromise, TerminalError, type WorkflowContext, type WorkflowSharedContext } from "@restatedev/restate-sdk";
import { type Json, LoopError, type LoopResult } from "../core/entry-kit.ts";
import { untilOver } from "../host/durable/repeat-failed.ts";
import {
  runInEngine,
  type SentAnswer,
  type ShownWait,
  type WorkflowEngine,
  type WorkflowPorts,
} from "../host/durable/run-in-engine.ts";
import { isOver, requireNode22, WorkflowSteps } from "./restate-journal.ts";

const waitsState = "turnwright waits";

/**
 * Runs the loop in the handler `run` of a Restate workflow. If the worker dies, Restate calls the workflow again, and the run
 * continues. While the run waits for answers, the workflow is suspended, for days if necessary. Give the workflow handlers that call
 * `readWaits` and `sendAnswer`. Use `ctx` for nothing else while the loop runs. Throws an error on Node 20.
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
export function runInWorkflow(ctx: WorkflowContext, execute: (ports: WorkflowPorts) => Promise<LoopResult>): Promise<LoopResult> {
  requireNode22();
  return runInEngine(new RestateEngine(ctx), execute);
}

class RestateEngine implements WorkflowEngine {
  readonly id: string;
  readonly signal: AbortSignal;
  readonly #ctx: WorkflowContext;
  readonly #steps: WorkflowSteps;
  /** The promises of waits by their names. A promise that lost a race is used again. */
  readonly #promises = new Map<string, RestatePromise<SentAnswer>>();

  constructor(ctx: WorkflowContext) {
    this.id = ctx.key;
    this.#ctx = ctx;
    this.#steps = new WorkflowSteps(ctx);
    this.signal = ctx.request().attemptCompletedSignal;
  }

  readonly all: WorkflowEngine["all"] = (wave) =>
    this.#steps.all(wave.map(({ key, body }) => ({ key, run: () => body() as Promise<unknown> })));

  async show(waits: readonly ShownWait[]): Promise<void> {
    this.#ctx.set(waitsState, waits);
  }

  receive(waits: readonly ShownWait[], limitMs: number | undefined): Promise<SentAnswer | undefined> {
    const ways: RestatePromise<SentAnswer | undefined>[] = waits.map((wait) => this.#promiseOf(wait));
    if (limitMs !== undefined) ways.push(this.#ctx.sleep(limitMs).map(() => undefined));
    return untilOver(RestatePromise.race(ways), this.signal, isOver);
  }

  #promiseOf(wait: ShownWait): RestatePromise<SentAnswer> {
    const name = nameOf(wait);
    let promise = this.#promises.get(name);
    if (promise === undefined) {
      promise = this.#ctx
        .promise<Json>(name)
        .get()
        .map((value = null) => ({ id: wait.id, value }));
      this.#promises.set(name, promise);
    }
    return promise;
  }
}

function nameOf({ id, attempt }: ShownWait): string {
  return `answer/${id}/${attempt}`;
}

/** Reads what a workflow waits for, in a shared handler of the workflow. Empty if it does not wait. */
export async function readWaits(ctx: WorkflowSharedContext): Promise<readonly ShownWait[]> {
  return (await ctx.get<readonly ShownWait[]>(waitsState)) ?? [];
}

/**
 * Answers a wait, in a shared handler of the workflow. The first answer counts. Ends the handler with a TerminalError if the
 * workflow does not wait for the answer, or has it already.
 */
export async function sendAnswer(ctx: WorkflowSharedContext, id: string, value: Json): Promise<void> {
  const waits = await readWaits(ctx);
  const wait = waits.find((one) => one.id === id);
  if (wait === undefined) {
    const { message } = new LoopError("unknown-decision", { call: id, waiting: waits.map((one) => one.id) });
    throw new TerminalError(message, { errorCode: 409 });
  }
  await ctx.promise<Json>(nameOf(wait)).resolve(value);
}
