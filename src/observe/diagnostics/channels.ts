import type { AsyncResource } from "node:async_hooks";
import type { TracingChannel } from "node:diagnostics_channel";
import type { EndReason, FinishReason, Json, LoopStatus, StreamResult, ToolOutcome, Usage } from "../../core/index.ts";

import { builtinLoader } from "../../shared/builtin-loader.ts";

/** Returns the function that loads Node's built-in modules. Throws on platforms without `node:diagnostics_channel`. */
export function loader(): typeof process.getBuiltinModule {
  return builtinLoader("diagnostics() needs node:diagnostics_channel, and Node 20.16 or later.");
}

type StreamStatus = StreamResult["status"];

interface Message {
  errorType?: string | undefined;
  error?: unknown;
}

type Channel = TracingChannel<unknown, object>;

export class TraceSource<Facts extends Message> {
  readonly #name: string;
  #loaded: Channel | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  get #channel(): Channel {
    return (this.#loaded ??= loader()("node:diagnostics_channel").tracingChannel<unknown, object>(this.#name));
  }

  /** True if any part of the tracing channel has subscribers. Before Node 20.13, the channel as a whole has no `hasSubscribers`. */
  get isHeard(): boolean {
    const { start, end, asyncStart, asyncEnd, error } = this.#channel;
    return [start, end, asyncStart, asyncEnd, error].some((channel) => channel.hasSubscribers);
  }

  begin(facts: () => Facts, outer: Scope | undefined): ChannelTrace<Facts> | undefined {
    if (!this.isHeard) return undefined;
    const message = facts();
    // Subscribers may bind AsyncLocalStorage stores to `start`. An AsyncResource created inside `runStores` captures them, so that
    // `ChannelTrace.run` can restore them for later parts of the operation.
    const { AsyncResource: Resource } = loader()("node:async_hooks");
    const hold = (): AsyncResource => new Resource(this.#name, { requireManualDestroy: true });
    const open = (): AsyncResource => this.#channel.start.runStores(message, hold);
    const resource = outer === undefined ? open() : outer.run(open);
    this.#channel.end.publish(message);
    return new ChannelTrace(message, { channel: this.#channel, resource });
  }
}

export interface Scope {
  run<Value>(work: () => Value): Value;
}

export class ChannelTrace<Facts extends Message> implements Scope {
  readonly message: Facts;
  readonly #channel: Channel;
  readonly #resource: AsyncResource;

  constructor(message: Facts, { channel, resource }: { readonly channel: Channel; readonly resource: AsyncResource }) {
    this.message = message;
    this.#channel = channel;
    this.#resource = resource;
  }

  run<Value>(work: () => Value): Value {
    return this.#resource.runInAsyncScope(work);
  }

  end(facts: Partial<Facts>): void {
    const message = Object.assign(this.message, facts);
    const { asyncStart, asyncEnd, error } = this.#channel;
    this.run(() => {
      if (message.errorType !== undefined) error.publish(message);
      asyncStart.publish(message);
      asyncEnd.publish(message);
    });
  }
}

/**
 * The name of the tracing channel for runs. Node derives channels from it, such as `tracing:turnwright:run:start`. The messages are
 * `RunMessage` objects.
 */
export const runChannel = "turnwright:run";
/** The name of the tracing channel for iterations, including their calls. The messages are `IterationMessage` objects. */
export const iterationChannel = "turnwright:iteration";
/** The name of the tracing channel for tool calls. The messages are `ToolMessage` objects. */
export const toolChannel = "turnwright:tool";

/**
 * The message about a run. All parts of the tracing channel, such as `start` and `end`, publish the same object. The fields that
 * are not readonly are set when the run ends.
 */
export interface RunMessage {
  readonly runId: string;
  readonly provider: string;
  readonly model: string;
  readonly conversationId?: string | undefined;
  /** The call that contains a nested run, with the outer run's id. Undefined for an outermost run. */
  readonly inside?: { readonly runId: string; readonly callId: string; readonly name: string } | undefined;
  status?: LoopStatus | undefined;
  reason?: EndReason["kind"] | undefined;
  usage?: Usage | undefined;
  /** The cost in USD. Undefined if it is unknown. */
  costUSD?: number | undefined;
  iterations?: number | undefined;
  toolCallsExecuted?: number | undefined;
  durationMs?: number | undefined;
  /** The error's type: a provider error's code, or else the reason's kind. If the run threw an error, that error's name. */
  errorType?: string | undefined;
  /** The error that the run threw, for example an error from its journal. */
  error?: unknown;
}

/** The message about an iteration: one stream and its calls. The fields that are not readonly are set when the iteration ends. */
export interface IterationMessage {
  readonly runId: string;
  /** The 0-based number of the iteration. `continuation` is the 0-based number of the stream within the iteration. */
  readonly iteration: number;
  readonly continuation: number;
  /** True if the iteration is replayed from a journal. Its request is then not sent again, and its calls do not run again. */
  readonly replayed: boolean;
  status?: StreamStatus | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  finish?: FinishReason | undefined;
  usage?: Usage | undefined;
  costUSD?: number | undefined;
  /** The number of calls in the iteration. */
  calls?: number | undefined;
  /** The stream's duration in milliseconds. */
  durationMs?: number | undefined;
  errorType?: string | undefined;
  error?: unknown;
}

/** The message about a call that runs or is refused. Most fields that are not readonly are set when the call ends. */
export interface ToolMessage {
  readonly runId: string;
  readonly iteration: number;
  readonly callId: string;
  readonly name: string;
  /** The 0-based position of the call in its assistant message. */
  readonly index: number;
  readonly replayed: boolean;
  outcome?: ToolOutcome["kind"] | undefined;
  durationMs?: number | undefined;
  errorType?: string | undefined;
  error?: unknown;
  /** The call's arguments. Only set with `captureContent`. */
  readonly args?: Json | undefined;
  /** The result that the model receives. Only set with `captureContent`. */
  result?: Json | undefined;
}
