import { checkFields, type Checks, type Clock, is, longestTimerMs, numberWithin, systemClock } from "../core/entry-kit.ts";
import { boundStore } from "./bound-store.ts";
import { memoryRunStore } from "./memory-run-store.ts";
import { Host } from "./host.ts";
import type { RunHost, RunHostOptions } from "./run-host.ts";
import type { RunStore } from "./run-store.ts";
import { whenBusyCheck } from "./start-options.ts";

const storeMethods: readonly (keyof RunStore)[] = ["read", "write", "journal"];
const clockMethods: readonly (keyof Clock)[] = ["now", "setTimeout", "clearTimeout"];

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return typeof value === "object" && value !== null && names.every((name) => typeof Reflect.get(value, name) === "function");
}

const checks: Checks<RunHostOptions> = {
  store: ["a store with read, write and journal", (value) => hasMethods(value, storeMethods)],
  whenBusy: whenBusyCheck,
  maxQueued: /* @__PURE__ */ numberWithin({ min: 0 }),
  keepMs: /* @__PURE__ */ numberWithin({ min: 0, max: longestTimerMs }),
  maxBytes: /* @__PURE__ */ numberWithin({ min: 0 }),
  stopWhenUnread: is.flag,
  storeMs: /* @__PURE__ */ numberWithin({ min: 1, max: longestTimerMs }),
  wrapOptions: is.fn,
  clock: ["a clock", (value) => hasMethods(value, clockMethods)],
};

/**
 * Makes a host: it starts the runs of conversations, and any number of readers join, leave and come back to each. A reader that leaves
 * ends nothing. The history of a conversation is kept here, so a page sends its new message only.
 *
 * The events of a live run are kept once, whatever the number of readers, and are as large as the run. Throws LoopError
 * "invalid-option" or "unknown-option".
 *
 * @example
 * const host = createRunHost({ store: fileRunStore("runs") });
 * await host.start("chat-7", { provider, tools, message: "What is the weather in Oslo?" });
 * for await (const { id, event } of host.join("chat-7") ?? []) console.log(id, event.type);
 */
export function createRunHost(options: RunHostOptions = {}): RunHost {
  checkFields("options", options, checks);
  const { whenBusy = "refuse", maxQueued = 10, keepMs = 300_000, maxBytes = 64 * 1024 * 1024, stopWhenUnread = false } = options;
  const { storeMs = 60_000, clock = systemClock, wrapOptions } = options;
  const store = boundStore(options.store ?? memoryRunStore(), { storeMs, clock });
  return new Host({ store, whenBusy, maxQueued, keepMs, maxBytes, stopWhenUnread, wrapOptions, clock });
}
