// Defines loops whose runs any worker can execute, stop and display. Each run is a Restate workflow.

import { invalidOption } from "../core/kit.ts";
import type { Json } from "../core/index.ts";
import type { DefinedLoop } from "../host/durable/create-durable-loop.ts";
import type { DurableLoopFields } from "../host/durable/durable-loop.ts";
import type { DurableEngine } from "../host/durable/durable-store.ts";
import { type Definers, definersOf } from "../host/durable/process-loops.ts";
import type { RunHead } from "./run-events.ts";
import { requireNode22 } from "./run-in-workflow.ts";
import { here, type WorkerProcess } from "./worker.ts";

const definers = /* @__PURE__ */ definersOf((fields) => define(fields));

/**
 * Defines a loop whose runs survive their workers. A run is a Restate workflow. The run's steps are recorded in Restate, and
 * if the worker dies, Restate lets another worker continue the run. Define the loop in each worker, before `launchWorker`.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if the fields are invalid, or if the process already has a loop with this
 * name. Throws an error on Node 20.
 *
 * @example
 * const support = defineDurableLoop({
 *   name: "support",
 *   options: ({ question }: { question: string }) => ({ provider, tools, messages: [{ role: "user", content: question }] }),
 * });
 * await launchWorker({ ingressUrl: "http://localhost:8080", adminUrl: "http://localhost:9070" });
 * await support.start("ticket-7", { question: "Where is my order?" });
 * const { text } = await support.result("ticket-7");
 */
export const defineDurableLoop: Definers["defineDurableLoop"] = definers.defineDurableLoop;

/**
 * Defines a host for a web page's conversations. Their runs survive their workers. Any worker can serve the page, even if a different
 * worker is executing the run. Each run is a run of a durable loop, so define the host in each worker, before `launchWorker`.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if the fields are invalid, or if the process already has a loop with this
 * name. Throws an error on Node 20.
 *
 * @example
 * const host = defineDurableHost({ name: "shop", options: ({ input }) => ({ provider, tools, context: input }) });
 * await launchWorker({ ingressUrl: "http://localhost:8080", adminUrl: "http://localhost:9070" });
 * await host.start("chat-7", { message: "What is the weather in Oslo?" });
 * for await (const { id, event } of (await host.join("chat-7")) ?? []) console.log(id, event.type);
 */
export const defineDurableHost: Definers["defineDurableHost"] = definers.defineDurableHost;

function define(fields: DurableLoopFields<Json>): DefinedLoop<Json> {
  requireNode22();
  return here.define(fields, (worker) => createEngine(fields.name, worker));
}

function createEngine(loop: string, worker: WorkerProcess): DurableEngine {
  const { store } = worker;
  const peek = async (id: string): Promise<RunHead | undefined> => {
    // A URL path cannot contain the segments "." and "..", so no run has such an id and none is looked up.
    const head = id === "." || id === ".." ? null : await store.peek(id);
    return head?.loop === loop ? head : undefined;
  };
  return {
    ...worker.ports,
    async start(id, input) {
      if (id === "." || id === "..") throw invalidOption("id", 'a string other than "." or ".."', id);
      return store.start(id, loop, input);
    },
    async find(id) {
      const head = await peek(id);
      if (head === undefined) return undefined;
      const { state, error = "" } = head;
      if (state === "failed") return { state, error };
      return state === "ended" ? { state, readEnd: async () => (await store.read(id, "end")) ?? undefined } : { state };
    },
    readInput: async (id) => ((await peek(id)) === undefined ? undefined : ((await store.read(id, "input")) ?? undefined)),
    retry: (id) => store.retry(id),
    async remove(ids) {
      for (const id of ids) await store.remove(id);
    },
  };
}
