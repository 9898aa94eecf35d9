import { RestatePromise, type WorkflowContext } from "@restatedev/restate-sdk";
import {
  describeValue,
  isInboxKey,
  isRecord,
  type Journal,
  type Json,
  LoopError,
  type Step,
  toPlainError,
  type UnknownRecord,
} from "../core/entry-kit.ts";
import { createReadOnlyJournal } from "../host/durable/durable-records.ts";
import type { StepHooks } from "../host/durable/durable-store.ts";
import { untilOver } from "../host/durable/repeat-failed.ts";
import type { JournalRow } from "./admin.ts";

/**
 * How a step is stored. `failed` is the message of an error. The loop must decide what happens after an error. So the step stores
 * the error and does not throw it: after a thrown error, Restate would repeat the step. A new execution runs the failed step
 * again.
 */
type Stored<T> = { readonly answer: T; readonly lastRead?: number | undefined } | { readonly failed: string };

type WorkflowStep<T> = Pick<Step<T>, "key" | "run"> & { readonly kind?: Step<T>["kind"] };

/** A step. `thrown` is set only if the step was run in this execution and failed, not if Restate replayed the failure. */
interface StepCall<T> {
  readonly step: WorkflowStep<T>;
  readonly stored: RestatePromise<Stored<T>>;
  thrown?: { readonly error: unknown } | undefined;
}

/** The part of the context of a Restate workflow that the journal uses: `WorkflowContext` of `@restatedev/restate-sdk`. */
export interface RestateContext {
  readonly key: string;
  run(name: string, action: () => unknown): PromiseLike<unknown>;
  promise(name: string): unknown;
  request(): unknown;
}

/**
 * Makes the journal of a Restate workflow. Each step of the run is one `ctx.run` of the workflow. If the worker dies, Restate
 * calls the workflow again, and the run continues. Call `runToolLoop` once in the handler `run` of a workflow, with `ctx.key` as
 * `runId`, and use `ctx` for nothing else while the loop runs. To decide about a waiting call, resolve the durable promise that
 * has the key of the wait as its name.
 *
 * Throws LoopError "invalid-option" if `ctx` is not a context of Restate, and an error on Node 20.
 *
 * @example
 * const answer = restate.workflow({
 *   name: "answer",
 *   handlers: {
 *     run: async (ctx: restate.WorkflowContext, question: string) => {
 *       const messages = [{ role: "user" as const, content: question }];
 *       const { text } = await runToolLoop({ ...options, messages, runId: ctx.key, journal: restateJournal(ctx) });
 *       return text;
 *     },
 *   },
 * });
 */
export function restateJournal(ctx: RestateContext): Journal {
  return createRestateJournal(ctx as WorkflowContext);
}

/** Only durable loops pass hooks. */
export function createRestateJournal(ctx: WorkflowContext, hooks?: StepHooks): Journal {
  requireNode22();
  if (typeof (ctx as { readonly run?: unknown } | undefined)?.run !== "function") {
    throw new LoopError("invalid-option", {
      option: "restateJournal(ctx)",
      expected: "called with the context of a Restate workflow",
      received: describeValue(ctx),
    });
  }
  const steps = new WorkflowSteps(ctx, hooks);
  const { attemptCompletedSignal: over } = ctx.request();
  return {
    durable: true,
    // Restate matches steps by their position in the workflow.
    ordered: true,
    step: (step) => steps.finish(steps.begin(step, 0)),
    all: (group) => steps.all(group),
    wait: (key) => (hooks === undefined ? untilOver(ctx.promise<Json>(key).get(), over, isOver) : hooks.receive(key)),
  };
}

export class WorkflowSteps {
  readonly #ctx: WorkflowContext;
  readonly #hooks: StepHooks | undefined;
  readonly #over: AbortSignal;

  constructor(ctx: WorkflowContext, hooks?: StepHooks) {
    this.#ctx = ctx;
    this.#hooks = hooks;
    this.#over = ctx.request().attemptCompletedSignal;
  }

  async all<T>(group: readonly WorkflowStep<T>[]): Promise<readonly T[]> {
    if (group.length === 0) return [];
    // All steps are created synchronously, in call order, because Restate numbers them in this order. Only `RestatePromise.all` can
    // wait for several steps.
    const calls = group.map((step) => this.begin(step, 0));
    await untilOver(RestatePromise.all(calls.map(({ stored }) => stored)), this.#over, isOver);
    const results: T[] = [];
    for (const call of calls) results.push(await this.finish(call));
    return results;
  }

  begin<T>(step: WorkflowStep<T>, attempt: number): StepCall<T> {
    const body = async (): Promise<Stored<T>> => {
      try {
        const isInbox = step.kind === "inbox" && isInboxKey(step.key);
        if (isInbox) await this.#hooks?.beforeInbox();
        const lastRead = isInbox ? this.#hooks?.lastRead : undefined;
        const answer = await step.run({ signal: this.#over });
        await this.#hooks?.beforeRecord();
        return lastRead === undefined ? { answer } : { answer, lastRead };
      } catch (error) {
        call.thrown = { error };
        return { failed: toPlainError(error).message };
      }
    };
    const name = attempt === 0 ? step.key : `${step.key} attempt ${attempt}`;
    const call: StepCall<T> = { step, stored: this.#ctx.run(name, body) };
    return call;
  }

  /** If the step failed in an earlier execution, runs it again. */
  async finish<T>(first: StepCall<T>): Promise<T> {
    let call = first;
    for (let attempt = 1; ; attempt += 1) {
      // A promise of Restate may never settle, for example after a lost connection. `untilOver` then rejects.
      const stored = await untilOver(call.stored, this.#over, isOver);
      if (!("failed" in stored)) {
        if (this.#hooks !== undefined) this.#hooks.lastRead = stored.lastRead ?? this.#hooks.lastRead;
        return stored.answer;
      }
      if (call.thrown !== undefined) throw call.thrown.error;
      call = this.begin(call.step, attempt);
    }
  }
}

export function isOver(): Error {
  return new Error("This execution of the workflow is over. Restate continues it elsewhere.");
}

function inside(value: unknown, ...keys: readonly string[]): UnknownRecord | undefined {
  let found: unknown = value;
  for (const key of keys) found = isRecord(found) ? found[key] : undefined;
  return isRecord(found) ? found : undefined;
}

const decoder = new TextDecoder();

export function readRestateJournal(listRows: () => Promise<readonly JournalRow[]>): Journal {
  return createReadOnlyJournal(async () => {
    const names = new Map<unknown, string>();
    const records = new Map<string, unknown>();
    for (const { name, entry_json: text } of await listRows()) {
      const entry: unknown = text === undefined ? undefined : JSON.parse(text);
      const command = inside(entry, "Command", "Run");
      if (command !== undefined) names.set(command["completion_id"], name ?? "");
      const completion = inside(entry, "Notification", "Completion", "Run");
      const bytes = inside(completion, "result")?.["Success"];
      const key = names.get(completion?.["completion_id"])?.replace(/ attempt \d+$/, "");
      if (key === undefined || !Array.isArray(bytes)) continue;
      const stored: unknown = JSON.parse(decoder.decode(Uint8Array.from(bytes as readonly number[])));
      if (isRecord(stored) && "answer" in stored) records.set(key, stored["answer"]);
    }
    return records;
  });
}

/** Throws if this version of Node is too old. Restate's SDK would fail later, with a message that does not say why. */
export function requireNode22(): void {
  if ("withResolvers" in Promise) return;
  throw new Error(
    `turnwright/restate needs Node 22 or later. This is Node ${process.version}. Update Node, or use turnwright/dbos, which runs on Node 20.`,
  );
}
