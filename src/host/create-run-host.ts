import { checkFields, type Checks, is, refuseLoopOptions } from "../core/kit.ts";
import { type Clock, enableJournals } from "../core/index.ts";
import { maxTimerMs, systemClock } from "../shared/signals.ts";
import { boundStore } from "./bound-store.ts";
import { Host } from "./host.ts";
import type { RunHost, RunHostOptions } from "./run-host.ts";
import { keepRunsCheck } from "../conversation/keep-runs.ts";
import { memoryConversationStore } from "../conversation/memory-conversation-store.ts";
import { storeCheck } from "../conversation/run-options.ts";
import { whenBusyCheck } from "./start-options.ts";
import { whenSuspendedCheck } from "../conversation/waiting-calls.ts";

const clockMethods: readonly (keyof Clock)[] = ["now", "setTimeout", "clearTimeout"];

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return typeof value === "object" && value !== null && names.every((name) => typeof Reflect.get(value, name) === "function");
}

const checks: Checks<RunHostOptions> = {
  store: storeCheck,
  whenBusy: whenBusyCheck,
  whenSuspended: whenSuspendedCheck,
  keepRuns: keepRunsCheck,
  maxQueued: { min: 0 },
  keepMs: { min: 0, max: maxTimerMs },
  maxBytes: { min: 0 },
  stopWhenUnread: is.flag,
  storeMs: { min: 1, max: maxTimerMs },
  wrapOptions: is.fn,
  clock: ["an object with the methods now, setTimeout and clearTimeout", (value) => hasMethods(value, clockMethods)],
};

/**
 * Creates a host, which starts the runs of conversations. Any number of readers can join a run, leave it and come back. By
 * default, a run continues when its readers leave. The host stores the history of each conversation, so a web page only sends its new
 * message.
 *
 * The events of a live run are kept in memory once for all readers, without a size limit. Throws LoopError "invalid-option" or
 * "unknown-option" if an option is invalid.
 *
 * @example
 * const host = createRunHost({ store: fileConversationStore("runs") });
 * await host.start("chat-7", { provider, tools, message: "What is the weather in Oslo?" });
 * for await (const { id, event } of host.join("chat-7") ?? []) console.log(id, event.type);
 */
export function createRunHost(options: RunHostOptions = {}): RunHost {
  refuseLoopOptions(options, checks, (name) => `host.start(id, { ${name}, message })`);
  checkFields("options", options, checks);
  enableJournals();
  const { whenBusy = "refuse", maxQueued = 10, keepMs = 300_000, maxBytes = 64 * 1024 * 1024, stopWhenUnread = false } = options;
  const { storeMs = 60_000, clock = systemClock, wrapOptions, whenSuspended = "refuse", keepRuns = 1 } = options;
  const store = boundStore(options.store ?? memoryConversationStore(), { storeMs, clock });
  const kept = { keepRuns, keepMs, maxBytes };
  // Safe cast: the schema and the tools in a run's options determine the types of its output, calls and events.
  return new Host({ store, whenBusy, whenSuspended, maxQueued, ...kept, stopWhenUnread, wrapOptions, clock }) as RunHost;
}
