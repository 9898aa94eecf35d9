import type { Clock } from "../../types/common.ts";
import type { ContextStash } from "../../types/policies.ts";
import type { Json } from "../../types/json.ts";
import { checkFields, type Checks, isFunction, numberWithin } from "../../errors/check-fields.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { systemClock } from "../../cancellation/signals.ts";
import { describeValue } from "../../utils/texts.ts";
import { isRecord, isThenable } from "../../utils/guards.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { toJson } from "../../utils/json.ts";
import { lossyKindOf } from "../../tools/to-outcome.ts";

/** The options of `createContextStash`. */
export interface ContextStashOptions {
  /** How long the stash keeps an item after `put`, in milliseconds. `Infinity` means no limit. Default 300,000. */
  readonly ttlMs?: number | undefined;
  /** The maximum number of items. If the maximum is exceeded, the oldest item is removed. Default 16. */
  readonly maxEntries?: number | undefined;
  /** The clock that measures the age of items. The stash starts no timers. Default: the system clock. */
  readonly clock?: Pick<Clock, "now"> | undefined;
  /** Returns a new key. Keys must be unique and hard to guess. Default: a random UUID. */
  readonly createKey?: (() => string) | undefined;
}

interface Entry {
  readonly item: Json;
  readonly putAt: number;
}

/**
 * Creates an in-memory store through which tools pass context to the loop. A tool stores an item with `put` and returns the key.
 * The loop then takes the item by its key. Pass the same stash to the tools and to `policies.restarts.stash`. Many runs may share
 * one stash. Keys cannot be guessed, so an invented key matches no item.
 *
 * Throws LoopError "unknown-option" or "invalid-option" for invalid options. `put` throws "invalid-option" for an item that is
 * not plain data, such as a cyclic value, a Map or a promise. `put` also throws if `createKey` does not return a new key.
 *
 * @example
 * const stash = createContextStash();
 * const readProfile = defineTool({
 *   name: "read_profile",
 *   description: "Brings in the profile of a user",
 *   inputSchema: z.object({ user: z.string() }),
 *   async execute({ user }) {
 *     return contextRestart({ type: "context_restart_profile", pending_context_key: stash.put(await loadProfile(user)) });
 *   },
 * });
 * await runToolLoop({ provider, tools: [readProfile], messages, policies: { restarts: { stash } } });
 */
export function createContextStash(options: ContextStashOptions = {}): ContextStash {
  checkFields("options", options, checks);
  const { ttlMs = 300_000, maxEntries = 16, clock = systemClock, createKey = randomKey } = options;
  const entries = new Map<string, Entry>();

  const dropOld = (now: number): void => {
    for (const [key, { putAt }] of entries) {
      if (now - putAt < ttlMs) return;
      entries.delete(key);
    }
  };

  return {
    put(item: unknown): string {
      const kept = toItem(item);
      const now = clock.now();
      dropOld(now);
      const key = createKey();
      checkKey(key, entries);
      entries.set(key, { item: kept, putAt: now });
      if (entries.size > maxEntries) dropOldest(entries);
      return key;
    },
    take(key: string): Json | undefined {
      dropOld(clock.now());
      const entry = entries.get(key);
      entries.delete(key);
      return entry?.item;
    },
  };
}

const newKey = "a function that returns a new string each time";

const checks: Checks<ContextStashOptions> = {
  ttlMs: numberWithin({ min: 1 }),
  maxEntries: numberWithin({ min: 1, infinite: false }),
  clock: ['a clock: an object with "now"', (value) => isRecord(value) && isFunction(value["now"])],
  createKey: [newKey, isFunction],
};

const randomKey = (): string => crypto.randomUUID();

/** Throws if a key is invalid or already in use. With a reused key, one tool would get the item of another tool. */
function checkKey(key: unknown, entries: ReadonlyMap<unknown, Entry>): void {
  const problem =
    typeof key !== "string" || key === "" ? describeValue(key) : entries.has(key) ? "a key that is in use" : undefined;
  if (problem === undefined) return;
  throw new LoopError("invalid-option", {
    option: "createKey",
    expected: newKey,
    received: `a function that returned ${problem}`,
  });
}

function dropOldest(entries: Map<string, Entry>): void {
  const [oldest] = entries.keys();
  if (oldest !== undefined) entries.delete(oldest);
}

function toItem(item: unknown): Json {
  try {
    if (isThenable(item)) refusePromise(item);
    const lossy = lossyKindOf(item);
    if (lossy !== undefined) throw new TypeError(lossy);
    return toJson(item);
  } catch (error) {
    const received = error instanceof TypeError ? toPlainError(error).message : "a value that cannot be read";
    throw new LoopError("invalid-option", { option: "item", expected: "plain data", received }, { cause: error });
  }
}

/**
 * Rejects a promise as an item, because its JSON copy would be an empty object. Also handles a rejection of the promise, because
 * an unhandled rejection would end the process.
 */
function refusePromise(promise: PromiseLike<unknown>): never {
  promise.then(undefined, () => {});
  throw new TypeError("a promise, which has to be awaited first");
}
