// One thing that happens, told on a tracing channel: it begins, it goes on beside others, it ends.

import { AsyncResource } from "node:async_hooks";
import { tracingChannel, type TracingChannel } from "node:diagnostics_channel";

/** What messages have in common. */
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

/** What work can be run inside of. */
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
