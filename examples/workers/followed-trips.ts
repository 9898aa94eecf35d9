// Follows the events of trips that other processes execute.

import { isLoopError, type LoopEvent } from "turnwright";
import type { DurableLoop } from "turnwright/dbos";
import type { Trip } from "./trips.ts";

export interface FollowedTrip {
  readonly id: string;
  readonly text: string;
  /** The process ids of the workers that have worked on the trip. The last one is the current worker. */
  readonly workers: readonly number[];
  readonly status: string;
}

export class FollowedTrips {
  readonly #trips: DurableLoop<Trip>;
  readonly #all = new Map<string, FollowedTrip>();
  /** The text of each trip up to the start of its current iteration. */
  readonly #before = new Map<string, string>();

  constructor(trips: DurableLoop<Trip>) {
    this.#trips = trips;
  }

  get all(): readonly FollowedTrip[] {
    return [...this.#all.values()];
  }

  /** Resolves when the trip has started, and then goes on following it. */
  async start(trip: Trip): Promise<void> {
    const id = `trip ${this.#all.size + 1} to ${trip.city}`;
    this.#all.set(id, { id, text: "", workers: [], status: "waiting for a worker" });
    await this.#trips.start(id, trip);
    void this.#follow(id).catch((error: unknown) => {
      const text = isLoopError(error) || error instanceof Error ? error.message : "unknown";
      this.#change(id, { status: `not followed: ${text}` });
    });
  }

  async #follow(id: string): Promise<void> {
    // The events come from the worker that executes the run. If that worker dies, another worker continues the run, and the events
    // go on.
    for await (const { event } of this.#trips.events(id)) this.#take(id, event);
  }

  #take(id: string, event: LoopEvent): void {
    const { text, workers } = this.#get(id);
    if (event.type === "iteration-start") {
      this.#before.set(id, text);
      this.#change(id, { status: "running" });
    }
    if (event.type === "text-delta") this.#change(id, { text: text + event.text });
    // A worker died while the model wrote this text. The next worker sends the request again, so the text of this iteration is
    // dropped.
    if (event.type === "attempt-discarded") this.#change(id, { text: this.#before.get(id) ?? "" });
    if (event.type === "tool-progress") {
      const { worker } = event.data as { readonly worker: number };
      if (workers.at(-1) !== worker) this.#change(id, { workers: [...workers, worker] });
    }
    if (event.type === "run-end") this.#change(id, { status: event.status });
  }

  #get(id: string): FollowedTrip {
    return this.#all.get(id) ?? { id, text: "", workers: [], status: "unknown" };
  }

  #change(id: string, fields: Partial<FollowedTrip>): void {
    this.#all.set(id, { ...this.#get(id), ...fields });
  }
}
