// Implements a journal for durable engines that require the same step order on each replay.

import type { Journal } from "../../types/journal.ts";
import { isParking, whenQuiet } from "../journals.ts";
import { enableJournals } from "./enable-journals.ts";

/** A step that the run has requested. */
export interface AskedStep {
  readonly key: string;
  readonly body: () => unknown;
}

/** A durable engine that needs the same step order on each replay. */
export interface OrderedEngine {
  /** Begins the steps in this order, or returns their recorded results. Results are JSON, in the order of the steps. */
  all(wave: readonly AskedStep[]): PromiseLike<readonly unknown[]>;
}

interface Asked extends AskedStep {
  done(value: unknown): void;
  fail(error: unknown): void;
}

/**
 * Creates a journal for an engine that needs the same step order on each replay. Collects the next step for each active part of the
 * run, submits these steps together in the order of their keys, and returns their results together.
 */
export function inLockstep(engine: OrderedEngine, onWave?: (keys: readonly string[]) => void): Journal {
  enableJournals();
  const known = new Map<string, unknown>();
  let asked: Asked[] = [];
  let isBusy = false;
  const send = async (): Promise<void> => {
    const wave = asked.sort((one, other) => (one.key < other.key ? -1 : 1));
    asked = [];
    onWave?.(wave.map(({ key }) => key));
    const fresh = wave.filter(({ key }) => !known.has(key));
    try {
      const values = fresh.length === 0 ? [] : await engine.all(fresh);
      for (const [index, { key }] of fresh.entries()) known.set(key, values[index]);
      for (const { key, done } of wave) done(known.get(key));
    } catch (error) {
      for (const { fail } of wave) fail(error);
    }
    isBusy = false;
    if (asked.length > 0) arm();
  };
  const arm = (): void => {
    isBusy = true;
    whenQuiet(() => {
      if (isParking()) arm();
      else void send();
    });
  };
  return {
    durable: true,
    engine: true,
    read: (key) => known.get(key),
    step: <T>(key: string, body: () => T | PromiseLike<T>) =>
      new Promise<T>((done, fail) => {
        asked.push({ key, body, done, fail });
        if (!isBusy) arm();
      }),
  };
}
