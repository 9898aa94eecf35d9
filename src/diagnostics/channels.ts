// The tracing channels: their names, and the messages of an operation on one.

import { AsyncResource } from "node:async_hooks";
import { tracingChannel, type TracingChannel } from "node:diagnostics_channel";
import type { EndReason, FinishReason, Json, LoopStatus, StreamStatus, ToolOutcome, Usage } from "../core/entry-kit.ts";

/** The common fields of messages. */
interface Message {
  errorType?: string | undefined;
  error?: unknown;
}

type Channel = TracingChannel<unknown, object>;

/** A tracing channel that knows if it has subscribers. */
export class TraceSource<Facts extends Message> {
  readonly #name: string;
  readonly #channel: Channel;

  constructor(name: string) {
    this.#name = name;
    this.#channel = tracingChannel<unknown, object>(name);
  }

  /** True if there is a subscriber. Node 20 only reports it for each sub-channel. */
  get isHeard(): boolean {
    const { start, end, asyncStart, asyncEnd, error } = this.#channel;
    return [start, end, asyncStart, asyncEnd, error].some((channel) => channel.hasSubscribers);
  }

  /** Publishes the start of an operation inside `outer`; undefined without subscribers. */
  begin(facts: () => Facts, outer: Scope | undefined): ChannelTrace<Facts> | undefined {
    if (!this.isHeard) return undefined;
    const message = facts();
    // Keeps the stores that subscribers have bound, so that each part of the work can run with them.
    const hold = (): AsyncResource => new AsyncResource(this.#name, { requireManualDestroy: true });
    const open = (): AsyncResource => this.#channel.start.runStores(message, hold);
    const resource = outer === undefined ? open() : outer.run(open);
    this.#channel.end.publish(message);
    return new ChannelTrace(message, { channel: this.#channel, resource });
  }
}

/** An operation whose stores work can use. */
export interface Scope {
  run<Value>(work: () => Value): Value;
}

/** An operation that has begun. */
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

  /** Publishes the end. */
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

/** The tracing channel of runs, with the channels `tracing:turnwright:run:start` and so on. Messages are `RunMessage`. */
export const runChannel = "turnwright:run";
/** The tracing channel of iterations, including their calls. Messages are `IterationMessage`. */
export const iterationChannel = "turnwright:iteration";
/** The tracing channel of calls. Messages are `ToolMessage`. */
export const toolChannel = "turnwright:tool";

/** A run. All of its messages are one object, which gets the remaining fields at its end. */
export interface RunMessage {
  readonly runId: string;
  readonly provider: string;
  readonly model: string;
  readonly conversationId?: string | undefined;
  /** The call around a nested run, and the run of that call. */
  readonly inside?: { readonly runId: string; readonly callId: string; readonly name: string } | undefined;
  status?: LoopStatus | undefined;
  reason?: EndReason["kind"] | undefined;
  usage?: Usage | undefined;
  /** USD; undefined if unknown. */
  costUSD?: number | undefined;
  iterations?: number | undefined;
  toolCallsExecuted?: number | undefined;
  durationMs?: number | undefined;
  /** The error as one word: the code of a provider's error, else the kind of the reason. */
  errorType?: string | undefined;
  /** The thrown error if the run broke, for example one of its journal. */
  error?: unknown;
}

/** An iteration: one stream and its calls. */
export interface IterationMessage {
  readonly runId: string;
  /** 0-based iteration, and 0-based stream of that iteration. */
  readonly iteration: number;
  readonly continuation: number;
  /** True if it is replayed from a journal: its stream and its calls do not happen again. */
  readonly replayed: boolean;
  status?: StreamStatus | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  finish?: FinishReason | undefined;
  usage?: Usage | undefined;
  costUSD?: number | undefined;
  /** The number of its calls. */
  calls?: number | undefined;
  /** Duration of its stream, in milliseconds. */
  durationMs?: number | undefined;
  errorType?: string | undefined;
  error?: unknown;
}

/** A call that runs or is refused. */
export interface ToolMessage {
  readonly runId: string;
  readonly iteration: number;
  readonly callId: string;
  readonly name: string;
  /** Position in its message. */
  readonly index: number;
  readonly replayed: boolean;
  outcome?: ToolOutcome["kind"] | undefined;
  durationMs?: number | undefined;
  errorType?: string | undefined;
  error?: unknown;
  /** With `captureContent` only. */
  readonly args?: Json | undefined;
  /** With `captureContent` only: the result that the model reads. */
  result?: Json | undefined;
}
