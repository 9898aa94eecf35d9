// Holds a process's durable loops and its worker.

import { invalidOption, type Plain } from "../../core/kit.ts";
import type { Json, Tool } from "../../core/index.ts";
import { createDurableHost } from "./create-durable-host.ts";
import { checkLoopFields, createDurableLoop, type DefinedLoop } from "./create-durable-loop.ts";
import type { DurableHost, DurableHostFields } from "./durable-host.ts";
import type { DurableLoop, DurableLoopFields } from "./durable-loop.ts";
import type { DurableEngine } from "./durable-store.ts";
import { toLoopFields } from "./host-options.ts";

interface LaunchedWorker {
  launch(): Promise<void>;
  stop(): Promise<void>;
}

export class ProcessLoops<Worker extends LaunchedWorker> {
  /** The loops of this process, by name. */
  readonly loops: Map<string, DurableLoopFields<Json>> = new Map();
  #worker: Worker | undefined;
  readonly #definesFirst: boolean;

  /** Creates a process's registry. With `definesFirst`, all loops must be defined before the worker is launched. */
  constructor({ definesFirst = false }: { readonly definesFirst?: boolean } = {}) {
    this.#definesFirst = definesFirst;
  }

  get worker(): Worker {
    if (this.#worker === undefined) throw new Error("No worker is running in this process. Call launchWorker() first.");
    return this.#worker;
  }

  get hasWorker(): boolean {
    return this.#worker !== undefined;
  }

  define<Input>(fields: DurableLoopFields<Input>, engineOf: (worker: Worker) => DurableEngine): DefinedLoop<Input> {
    checkLoopFields(fields);
    const { name } = fields;
    if (this.loops.has(name)) throw invalidOption("name", "a name that no other durable loop in this process uses", name);
    if (this.#definesFirst && this.hasWorker)
      throw new Error(`Define the durable loop "${name}" before you call launchWorker().`);
    this.loops.set(name, fields as DurableLoopFields<Json>);
    return createDurableLoop(fields, () => engineOf(this.worker));
  }

  /** Launches a worker. A process can have only one at a time. */
  async launch(create: () => Worker): Promise<Worker> {
    if (this.#worker !== undefined) throw new Error("A worker is already running in this process. Call stop() on it first.");
    const worker = create();
    this.#worker = worker;
    try {
      await worker.launch();
      return worker;
    } catch (error) {
      await worker.stop();
      throw error;
    }
  }

  /** Removes the worker from this process. Call this method when it begins to stop. */
  leave(worker: Worker): void {
    if (this.#worker === worker) this.#worker = undefined;
  }
}

/** An entry point's functions for defining loops and hosts. */
export interface Definers {
  defineDurableLoop<Input, Output = unknown, T extends Tool = Tool>(
    fields: DurableLoopFields<Input, Output, T>,
  ): DurableLoop<Input, Plain<Output>, T>;
  defineDurableHost<Output = unknown, T extends Tool = Tool, Input = Json>(
    fields: DurableHostFields<Output, T, Input>,
  ): DurableHost<Plain<Output>, T, Input>;
}

/**
 * Returns an entry point's two functions. The casts are safe: the schema and the tools in the options determine the types of the output,
 * the calls and the events.
 */
export function definersOf(define: (fields: DurableLoopFields<Json>) => DefinedLoop<Json>): Definers {
  return {
    defineDurableLoop: (fields) => define(fields as never).loop as never,
    defineDurableHost: (fields) => createDurableHost(fields as never, define(toLoopFields(fields as never))) as never,
  };
}
