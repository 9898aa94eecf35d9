// Defines the virtual objects of durable loops in Restate: one per run, with its events and messages, and one per worker.

import { handlers, object, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Begun, Row, RunMessage } from "../host/durable/durable-store.ts";
import type { Admin } from "./admin.ts";
import { appendEvents, readEvents, readHead, readRecords, readTextIds, readTexts, type RunHead } from "./run-events.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const jsonSerde = {
  contentType: "application/json",
  serialize: (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value)),
  /** Parses a handler's result. Returns null if there are no bytes, because a handler without a result sends none. */
  deserialize: (bytes: Uint8Array): never => (bytes.length === 0 ? null : JSON.parse(decoder.decode(bytes))) as never,
};

export interface ServiceNames {
  readonly workflow: string;
  readonly runs: string;
  readonly workers: string;
  readonly conversations: string;
}

export function namesOf(name: string): ServiceNames {
  return { workflow: name, runs: `${name}-runs`, workers: `${name}-workers`, conversations: `${name}-conversations` };
}

/** The parts of a worker that the handlers use. */
export interface ObjectPorts {
  readonly names: ServiceNames;
  readonly admin: Admin;
  readonly retentionMs: number;
}

/** Returned by `begin` if the run has failed and has not been retried. */
export interface FailedBefore {
  readonly failure: string;
}

type Handlers = Parameters<typeof object>[0]["handlers"];

/** The time between two attempts to wake a workflow, in milliseconds. */
const wakeAgainMs = 300;

/** Makes Restate retry failed attempts forever, so that a run continues once a worker is available again. */
export const retryPolicy: {
  readonly [Name in "initialInterval" | "exponentiationFactor" | "maxInterval" | "maxAttempts"]: number;
} = {
  initialInterval: 50,
  exponentiationFactor: 2,
  maxInterval: 1_000,
  maxAttempts: 1_000_000_000,
};

/** How long Restate stores the answer to a request, in case the request is repeated. */
const idempotencyRetention = { minutes: 10 };

/** The maximum time between the end of a run and the end of its workflow, in milliseconds. Restate keeps an ended workflow for `retentionMs`. */
const clearLaterMs = 60_000;

export function createObjects(ports: ObjectPorts): ReturnType<typeof object>[] {
  const options = { enableLazyState: true, journalRetention: 0, idempotencyRetention, retryPolicy };
  const define = (name: string, own: Handlers): ReturnType<typeof object> => object({ name, handlers: own, options });
  const { runs, workers, conversations } = ports.names;
  return [
    define(runs, { ...runHandlers(ports), ...messageHandlers(ports), ...readHandlers }),
    define(workers, workerHandlers),
    define(conversations, conversationHandlers),
  ];
}

function runHandlers({ names, admin, retentionMs }: ObjectPorts): Handlers {
  return {
    async start(ctx: ObjectContext, { loop, input }: { readonly loop: string; readonly input: string }): Promise<boolean> {
      if ((await readHead(ctx)) !== null) return false;
      const to = { service: names.workflow, method: "run", key: ctx.key };
      const run = ctx.genericSend({ ...to, parameter: { loop }, inputSerde: jsonSerde });
      ctx.set("input", input);
      const counts = { execution: 0, stalls: 0, next: 0, chunks: 0, tail: [], messages: 0, records: 0 };
      ctx.set<RunHead>("head", { loop, invocation: await run.invocationId, state: "live", ...counts });
      return true;
    },
    /**
     * Begins an execution, unless the run has failed. Earlier executions can no longer change the run. If the request is repeated,
     * the second request changes nothing.
     */
    async begin(
      ctx: ObjectContext,
      { worker, claim }: { readonly worker: string; readonly claim: number },
    ): Promise<Begun | FailedBefore> {
      const head = await readHead(ctx);
      if (head === null) return { execution: 0, events: 0, stalls: 0 };
      if (head.state === "failed") return { failure: head.error ?? "" };
      const isRepeated = head.worker === worker && head.claim === claim;
      const execution = isRepeated ? head.execution : head.execution + 1;
      const stalls = isRepeated || head.execution === 0 ? head.stalls : head.stalls + 1;
      ctx.set<RunHead>("head", { ...head, isResting: undefined, execution, stalls, worker, claim });
      return { execution, events: head.next, stalls, input: (await ctx.get<string>("input")) ?? undefined };
    },
    async resetStalls(ctx: ObjectContext): Promise<void> {
      const head = await readHead(ctx);
      if (head !== null && head.stalls > 0) ctx.set<RunHead>("head", { ...head, stalls: 0 });
    },
    append: appendEvents,
    async finish(ctx: ObjectContext, { execution, end }: { readonly execution: number; readonly end: string }): Promise<boolean> {
      if (!(await changeHead(ctx, execution, { state: "ended" }))) return false;
      ctx.set("end", end);
      const to = { service: names.runs, method: "clear", delay: retentionMs + clearLaterMs };
      callSelfLater(ctx, to, (await readHead(ctx))?.invocation);
      return true;
    },
    fail: (ctx: ObjectContext, { execution, error }: { readonly execution: number; readonly error: string }): Promise<boolean> =>
      changeHead(ctx, execution, { state: "failed", error, isResting: true }),
    /** Deletes a run, unless it is live. Also ends a failed run's workflow, which is still waiting for a retry. */
    async remove(ctx: ObjectContext): Promise<void> {
      const head = await readHead(ctx);
      if (head === null || head.state === "live") return;
      if (head.state === "failed") await ctx.run("kill", () => admin.kill(head.invocation).catch(() => {}));
      ctx.clearAll();
    },
    /**
     * Deletes an ended run. Checks the invocation, because `clear` may be called twice for one run, and a new run may have the
     * same id by then.
     */
    async clear(ctx: ObjectContext, invocation: string): Promise<void> {
      const head = await readHead(ctx);
      if (head?.state === "ended" && head.invocation === invocation) ctx.clearAll();
    },
  };
}

function callSelfLater(
  ctx: ObjectContext,
  to: { readonly service: string; readonly method: string; readonly delay: number },
  parameter: string | null = null,
): void {
  ctx.genericSend({ ...to, key: ctx.key, parameter, inputSerde: jsonSerde });
}

function messageHandlers({ names, admin }: ObjectPorts): Handlers {
  const wakeLater = (ctx: ObjectContext, delay: number): void =>
    callSelfLater(ctx, { service: names.runs, method: "wake", delay });
  return {
    async retry(ctx: ObjectContext): Promise<boolean> {
      const head = await readHead(ctx);
      if (head?.state !== "failed") return false;
      ctx.set<RunHead>("head", { ...head, state: "live", error: undefined });
      wakeLater(ctx, 0);
      return true;
    },
    /** Sets the run's `isResting` flag. A new message wakes a resting workflow. */
    rest: (
      ctx: ObjectContext,
      { execution, isResting }: { readonly execution: number; readonly isResting: boolean },
    ): Promise<boolean> => changeHead(ctx, execution, { isResting }),
    async send(ctx: ObjectContext, sent: readonly RunMessage[]): Promise<void> {
      const head = await readHead(ctx);
      if (head === null) return;
      for (const [index, message] of sent.entries()) ctx.set(`message ${head.messages + index + 1}`, message);
      ctx.set<RunHead>("head", { ...head, messages: head.messages + sent.length });
      if (head.isResting === true && head.state === "live") wakeLater(ctx, 0);
      if (head.worker === undefined) return;
      const to = { service: names.workers, method: "notify", key: head.worker };
      ctx.genericSend({ ...to, parameter: ctx.key, inputSerde: jsonSerde });
    },
    /** Wakes the workflow repeatedly until its next execution has begun, because the workflow may not be resting yet. */
    async wake(ctx: ObjectContext): Promise<void> {
      const head = await readHead(ctx);
      if (head?.isResting !== true || head.state !== "live") return;
      await ctx.run("wake", () => admin.resume(head.invocation).catch(() => {}));
      wakeLater(ctx, wakeAgainMs);
    },
  };
}

const readHandlers = {
  peek: handlers.object.shared(async (ctx: ObjectSharedContext): Promise<RunHead | null> => {
    const head = await readHead(ctx);
    // Omits the newest events, because a polling caller does not need them.
    return head && { ...head, tail: [] };
  }),
  read: handlers.object.shared((ctx: ObjectSharedContext, key: "input" | "end"): Promise<string | null> => ctx.get<string>(key)),
  events: handlers.object.shared(readEvents),
  records: handlers.object.shared(readRecords),
  messages: handlers.object.shared(readMessages),
  textIds: handlers.object.shared(readTextIds),
  texts: handlers.object.shared(readTexts),
} as Handlers;

/** Changes the head of a run. Returns false if a newer execution has begun. */
async function changeHead(ctx: ObjectContext, execution: number, changed: Partial<RunHead>): Promise<boolean> {
  const head = await readHead(ctx);
  if (head?.execution !== execution) return false;
  ctx.set<RunHead>("head", { ...head, ...changed });
  return true;
}

async function readMessages(ctx: ObjectSharedContext, after: number): Promise<readonly Row<RunMessage>[]> {
  const head = await readHead(ctx);
  const rows: Row<RunMessage>[] = [];
  for (let seq = after + 1; seq <= (head?.messages ?? 0); seq += 1) {
    const body = await ctx.get<RunMessage>(`message ${seq}`);
    if (body !== null) rows.push({ seq, body });
  }
  return rows;
}

/** The handlers of a worker's virtual object, which stores a list of the worker's runs that have new messages. */
const workerHandlers = {
  async notify(ctx: ObjectContext, runId: string): Promise<void> {
    const runs = (await ctx.get<readonly string[]>("runs")) ?? [];
    if (!runs.includes(runId)) ctx.set("runs", [...runs, runId]);
  },
  async take(ctx: ObjectContext): Promise<readonly string[]> {
    const runs = (await ctx.get<readonly string[]>("runs")) ?? [];
    if (runs.length > 0) ctx.clear("runs");
    return runs;
  },
} as Handlers;

/** The handlers of a conversation's virtual object, which stores the number of its runs. */
const conversationHandlers = {
  async note(ctx: ObjectContext, runs: number): Promise<void> {
    if (runs > ((await ctx.get<number>("runs")) ?? 0)) ctx.set("runs", runs);
  },
  count: handlers.object.shared(async (ctx: ObjectSharedContext): Promise<number> => (await ctx.get<number>("runs")) ?? 0),
} as Handlers;
