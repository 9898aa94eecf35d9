// The tracing channels: their names, and how a thing that begins, goes on and ends is told on one.

import { AsyncResource } from "node:async_hooks";
import { tracingChannel, type TracingChannel } from "node:diagnostics_channel";
import type { EndReason, FinishReason, Json, LoopStatus, StreamStatus, ToolOutcome, Usage } from "../core/entry-kit.ts";

/** The common fields of messages. */
interface Message {
  errorType?: string | undefined;
  error?: unknown;
}

type Channel = TracingChannel<unknown, object>;

/** A tracing channel, and whether anybody listens. */
export class TraceSource<Facts extends Message> {
  readonly #name: string;
  readonly #channel: Channel;

  constructor(name: string) {
    this.#name = name;
    this.#channel = tracingChannel<unknown, object>(name);
  }

  /** Node 20 only says so of each channel by itself. */
  get isHeard(): boolean {
    const { start, end, asyncStart, asyncEnd, error } = this.#channel;
    return [start, end, asyncStart, asyncEnd, error].some((channel) => channel.hasSubscribers);
  }

  /** Tells that something begins, inside of `outer`; undefined where nobody listens. */
  begin(facts: () => Facts, outer: Scope | undefined): ChannelTrace<Facts> | undefined {
    if (!this.isHeard) return undefined;
    const message = facts();
    // Holds what subscribers have bound, so that each piece of the work can run with it.
    const hold = (): AsyncResource => new AsyncResource(this.#name, { requireManualDestroy: true });
    const open = (): AsyncResource => this.#channel.start.runStores(message, hold);
    const resource = outer === undefined ? open() : outer.run(open);
    this.#channel.end.publish(message);
    return new ChannelTrace(message, { channel: this.#channel, resource });
  }
}

/** A channel that work can run inside of. */
export interface Scope {
  run<Value>(work: () => Value): Value;
}

/** Something that has begun. */
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

  /** Tells how it ended. */
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

/** The tracing channel of runs; its channels are `tracing:turnwright:run:start` and so on. Messages are `RunMessage`. */
export const runChannel = "turnwright:run";
/** The tracing channel of iterations, their calls included. Messages are `IterationMessage`. */
export const iterationChannel = "turnwright:iteration";
/** The tracing channel of calls. Messages are `ToolMessage`. */
export const toolChannel = "turnwright:tool";

/** A run. One object for all of its messages: what is only known at its end is put in then. */
export interface RunMessage {
  readonly runId: string;
  readonly provider: string;
  readonly model: string;
  readonly conversationId?: string | undefined;
  /** The call that the run is inside of, and the run of that call. */
  readonly inside?: { readonly runId: string; readonly callId: string; readonly name: string } | undefined;
  status?: LoopStatus | undefined;
  reason?: EndReason["kind"] | undefined;
  usage?: Usage | undefined;
  /** USD; undefined where unknown. */
  costUSD?: number | undefined;
  iterations?: number | undefined;
  toolCallsExecuted?: number | undefined;
  durationMs?: number | undefined;
  /** The error in a word: the code of a provider's error, else the kind of the reason. */
  errorType?: string | undefined;
  /** The thrown error if the run broke, such as one of its journal. */
  error?: unknown;
}

/** An iteration: one stream, and the calls that it asks for. */
export interface IterationMessage {
  readonly runId: string;
  /** 0-based iteration, and stream of that iteration. */
  readonly iteration: number;
  readonly continuation: number;
  /** Whether it is recalled from a journal: then no stream and no call of it happens again. */
  readonly replayed: boolean;
  status?: StreamStatus | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  finish?: FinishReason | undefined;
  usage?: Usage | undefined;
  costUSD?: number | undefined;
  /** How many calls it asked for. */
  calls?: number | undefined;
  /** Of its stream, in milliseconds. */
  durationMs?: number | undefined;
  errorType?: string | undefined;
  error?: unknown;
}

/** A call, whether it runs or is refused. */
export interface ToolMessage {
  readonly runId: string;
  readonly iteration: number;
  readonly callId: string;
  readonly name: string;
  /** Position in its turn. */
  readonly index: number;
  readonly replayed: boolean;
  outcome?: ToolOutcome["kind"] | undefined;
  durationMs?: number | undefined;
  errorType?: string | undefined;
  error?: unknown;
  /** With `captureContent` only. */
  readonly args?: Json | undefined;
  /** With `captureContent` only: what the model reads. */
  result?: Json | undefined;
}
