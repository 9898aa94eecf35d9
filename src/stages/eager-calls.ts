// Calls that start while their stream goes on, and that belong to whoever asks for the same once the turn is complete.

import type { StreamResult } from "../contract/stream-result.ts";
import type { ToolCall, ToolOutcome } from "../contract/tool-outcome.ts";
import { stableJson } from "../kit/stable-json.ts";

/** What starts calls early. */
export interface EagerPorts {
  /** Starts a call at this position of its turn; undefined, at once or later, where it has to wait for its batch. */
  start(call: ToolCall, index: number): ToolOutcome | undefined | PromiseLike<ToolOutcome | undefined>;
  /** Told where what a call has given is another one's, at this position of its turn, because its own attempt was taken back. */
  onAdopted(outcome: ToolOutcome, index: number): void;
}

/** What became of the calls of one stream that were started early. */
export type SettledEarly = Pick<StreamResult, "eagerOutcomes" | "eagerSpent">;

interface StartedCall {
  readonly call: ToolCall;
  readonly signature: string;
  readonly outcome: Promise<ToolOutcome | undefined>;
  /** Whether the current attempt asks for it. */
  claimed: boolean;
}

/** The calls of one stream that were started early. */
export class EagerCalls {
  readonly #ports: EagerPorts;
  readonly #started: StartedCall[] = [];

  constructor(ports: EagerPorts) {
    this.#ports = ports;
  }

  /** Whether there is anything to wait for. */
  get isEmpty(): boolean {
    return this.#started.length === 0;
  }

  /** Takes a complete call. What an attempt before this one has started for the same call is not started again. */
  offer(call: ToolCall, index: number): void {
    if (call.problem !== undefined) return;
    const signature = signatureOf(call);
    const same = this.#started.find((started) => !started.claimed && started.signature === signature);
    if (same !== undefined) {
      same.claimed = true;
      return;
    }
    const outcome = this.#ports.start(call, index);
    if (outcome !== undefined) this.#started.push({ call, signature, outcome: Promise.resolve(outcome), claimed: true });
  }

  /** The attempt that asked is taken back. Gives the ids of all that was started: no other call may have one of them. */
  release(): ReadonlySet<string> {
    for (const started of this.#started) started.claimed = false;
    return new Set(this.#started.map(({ call }) => call.callId));
  }

  /**
   * Waits for all that was started, and gives each call of the turn what was started for it, once. `firstIndex` is the position of the
   * first of them in the turn.
   */
  async settle(calls: readonly ToolCall[], firstIndex: number): Promise<SettledEarly> {
    const ends = await Promise.all(
      this.#started.map(async ({ outcome, ...started }) => ({ ...started, outcome: await outcome })),
    );
    const left = ends.filter(({ outcome }) => outcome !== undefined);
    const eagerOutcomes = calls.flatMap((call, offset): readonly ToolOutcome[] => {
      const position = left.findIndex(({ signature }) => signature === signatureOf(call));
      const [found] = position === -1 ? [] : left.splice(position, 1);
      if (found?.outcome === undefined) return [];
      const outcome = { ...found.outcome, call };
      if (found.call.callId !== call.callId) this.#ports.onAdopted(outcome, firstIndex + offset);
      return [outcome];
    });
    const spent = left.flatMap(({ outcome }) => (outcome?.nested === undefined ? [] : [outcome.nested]));
    return spent.length === 0 ? { eagerOutcomes } : { eagerOutcomes, eagerSpent: spent };
  }
}

function signatureOf({ name, args }: ToolCall): string {
  return `${name} ${stableJson(args)}`;
}
