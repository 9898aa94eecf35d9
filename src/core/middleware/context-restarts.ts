// Adds context items to requests: the caller's own items, and those of tools that request a context restart.

import type { Json } from "../types/common.ts";
import type { Message, UserMessage } from "../types/message.ts";
import type { RestartPolicy } from "../types/middleware-options.ts";
import type { ContextRestart } from "../types/tool-outcome.ts";
import { detectContextRestart, isUnmarkedRestart } from "../loop/context-restart.ts";
import { contextTitle, seal } from "../../shared/transcript.ts";
import { checkFields, type Checks, is, isFunction, table } from "../../shared/errors/check-fields.ts";
import { isRecord } from "../../shared/guards.ts";
import { freezeDeep, isPlainData, toJson } from "../../shared/json.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import type { CallRecorder, Middleware, Outcome, RunFacts, State } from "../types/middleware.ts";
import { askCaller } from "../../shared/ask-caller.ts";

export interface ContextOptions extends RestartPolicy {
  /** The items that each request contains from the start. Default: none. */
  readonly items?: readonly Json[] | undefined;
  /** The maximum number of context restarts. Default 5. */
  readonly maxRestarts?: number | undefined;
}

const checks: Checks<ContextOptions> = /* @__PURE__ */ table(() => ({
  effects: { "*": ["an array of tool names", is.texts[1], undefined, true] },
  stash: ["a stash", (value) => isRecord(value) && isFunction(value["take"]), "stash"],
  items: ["an array of plain data", (value) => Array.isArray(value) && value.every(isPlainData)],
  maxRestarts: { min: 0 },
}));

/**
 * Adds context items to each request, in a separate message. A tool adds an item, and hides tools for the rest of the run, by returning
 * `contextRestart(...)`. The transcript does not contain the items.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if an option is invalid.
 *
 * @example await runToolLoop({ provider, tools, messages, middleware: [contextRestarts({ effects: { profile: ["read_profile"] } })] });
 */
export function contextRestarts(options: ContextOptions = {}): Middleware {
  checkFields("contextRestarts", options, checks);
  const { maxRestarts = 5 } = options;
  return {
    name: "context-restarts",
    // Runs after these two, because they replace messages and would not recognize the message that contains the items.
    after: ["handoffs", "compaction"],
    begin: (run) => {
      const context = new Context(options);
      return {
        request(request, next, { state }) {
          context.read(state);
          const { items, hidden } = context;
          const tools = hidden.size === 0 ? request.tools : request.tools.filter(({ name }) => !hidden.has(name));
          return next({ ...request, tools, messages: context.addTo(request.messages, state), contextItems: items });
        },
        async call(call, next, at) {
          const made = await next(call);
          if (detectContextRestart(made, options) !== undefined) at.end(made);
          const outcome = await addPending(made, { at, run, options });
          const restart = detectContextRestart(outcome, options);
          if (restart !== undefined) emitRestart(at, restart);
          // Sends this notice only for the application's own tools, because data from a server or a web page must never cause a restart.
          else if (at.tool?.origin === undefined && isUnmarkedRestart(outcome))
            at.emit("notice", { kind: "unmarked-restart", toolName: call.name });
          return outcome;
        },
        ends(state) {
          context.read(state);
          const count = context.restarts;
          return count > maxRestarts ? { status: "error", reason: { kind: "restart-cap", count } } : undefined;
        },
      };
    },
  };
}

/** A run's context items and hidden tools. */
class Context {
  items: readonly Json[];
  readonly hidden = new Set<string>();
  restarts = 0;
  readonly #policy: RestartPolicy;
  #message: UserMessage | undefined;
  #lastBatch: State["lastBatch"] = [];
  #look: State["look"];
  #made: { readonly from: readonly Message[]; readonly message: Message; readonly to: readonly Message[] } | undefined;

  constructor({ items = [], ...policy }: ContextOptions) {
    this.#policy = policy;
    this.items = Object.freeze(items.map((item) => freezeDeep(toJson(item))));
    this.#message = toContextMessage(this.items);
  }

  /** Reads the results of each batch of calls once, in call order. */
  read({ lastBatch, look }: State): void {
    // The run was resumed to retry this request, so context restarts are counted from 0 again.
    if (look !== this.#look && look?.retries === true) this.restarts = 0;
    this.#look = look;
    if (lastBatch === this.#lastBatch) return;
    this.#lastBatch = lastBatch;
    for (const { outcome } of lastBatch) {
      const restart = detectContextRestart(outcome, this.#policy);
      if (restart !== undefined) this.#restart(restart);
    }
  }

  #restart({ item, pendingContext, disableTools }: ContextRestart): void {
    this.restarts += 1;
    for (const name of disableTools) this.hidden.add(name);
    const added = [item, pendingContext].filter((one) => one !== undefined);
    if (added.length === 0) return;
    this.items = Object.freeze([...this.items, ...added]);
    this.#message = toContextMessage(this.items);
  }

  /**
   * Adds the message with the context items. This message comes at the end of the request, or directly before a paused message that is
   * being continued.
   */
  addTo(messages: readonly Message[], { isCurrentPlaced }: State): readonly Message[] {
    const message = this.#message;
    if (message === undefined) return messages;
    if (this.#made?.from === messages && this.#made.message === message) return this.#made.to;
    const end = isCurrentPlaced ? messages.length - 1 : messages.length;
    const to = Object.freeze([...messages.slice(0, end), seal(message), ...messages.slice(end)]);
    this.#made = { from: messages, message, to };
    return to;
  }
}

interface PendingPorts {
  readonly at: CallRecorder;
  readonly run: RunFacts;
  readonly options: RestartPolicy;
}

/** Adds the stash item that a result names. If the stash fails, the run continues without the item. */
async function addPending(outcome: Outcome, { at, run, options }: PendingPorts): Promise<Outcome> {
  const key = detectContextRestart(outcome, options)?.pendingContextKey;
  if (key === undefined) return outcome;
  try {
    const item = await at.step("stash", async () => {
      if (options.stash === undefined)
        throw new Error('The tool result has a "pending_context_key", but contextRestarts() was created without a "stash".');
      const { stash } = options;
      const found = await askCaller(() => stash.take(key), { clock: run.clock, ms: run.timeouts.callbackMs, signal: at.signal });
      return found === undefined || found === null ? undefined : toJson(found);
    });
    return item === undefined || outcome.kind !== "completed" ? outcome : { ...outcome, pendingContext: item };
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") return toInterrupted(outcome);
    at.emit("listener-error", { event: "stash", error: toPlainError(error) });
    return outcome;
  }
}

/** Returns the outcome for a call whose item did not arrive before the run ended, so that the call cannot restart the context. */
function toInterrupted({ call, durationMs, approvedArgs, nested }: Outcome): Outcome {
  return { call, durationMs, approvedArgs, nested, kind: "interrupted" };
}

function emitRestart(at: CallRecorder, { suffix, disableTools, pendingContextKey, pendingContext }: ContextRestart): void {
  const found = pendingContext === undefined ? "missing" : "found";
  at.emit("restart", { suffix, disableTools, pendingContext: pendingContextKey === undefined ? undefined : found });
}

/** Returns the message with the context items, which comes at the end of each request. */
export function toContextMessage(items: readonly Json[]): UserMessage | undefined {
  if (items.length === 0) return undefined;
  const lines = items.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  return { role: "user", content: [contextTitle, ...lines].join("\n") };
}
