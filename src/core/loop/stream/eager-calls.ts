// Starts calls while the model is still streaming, and gives their outcomes to the calls of the complete message.

import type { StreamResult } from "../../types/provider.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { stableJson } from "../../utils/json.ts";

/** The functions that start calls while the model is still streaming. */
export interface EagerPorts {
  /** Starts a call. Returns undefined, or a promise for undefined, if the call may start only after the message is complete. */
  start(call: ToolCall): ToolOutcome | undefined | PromiseLike<ToolOutcome | undefined>;
  /**
   * Called when a call gets the outcome of an equal call that has already run. For example, a discarded attempt has run call A,
   * and the next attempt requests the equal call B. B does not run, and gets the outcome of A under its own id and index.
   */
  onAdopted(outcome: ToolOutcome): void;
}

/** The outcomes of the calls that started during one stream. `eagerSpent` is the spending of calls whose outcome was not used. */
export type SettledEarly = Pick<StreamResult, "eagerOutcomes" | "eagerSpent">;

interface StartedCall {
  readonly call: ToolCall;
  readonly signature: string;
  readonly outcome: Promise<ToolOutcome | undefined>;
}

export class EagerCalls {
  readonly #ports: EagerPorts;
  readonly #started: StartedCall[] = [];
  /** The started calls of the current attempt, by call id. */
  readonly #claimed = new Map<string, StartedCall>();
  /** The started calls of discarded attempts that no later attempt has requested yet, by name and arguments. */
  #unclaimed: ReadonlyMap<string, StartedCall[]> = new Map();

  constructor(ports: EagerPorts) {
    this.#ports = ports;
  }

  get isEmpty(): boolean {
    return this.#started.length === 0;
  }

  offer(call: ToolCall): void {
    if (call.problem !== undefined) return;
    const signature = signatureOf(call);
    const started = this.#unclaimed.get(signature)?.shift() ?? this.#start(call, signature);
    if (started !== undefined) this.#claimed.set(call.callId, started);
  }

  #start(call: ToolCall, signature: string): StartedCall | undefined {
    const outcome = this.#ports.start(call);
    if (outcome === undefined) return undefined;
    const started = { call, signature, outcome: Promise.resolve(outcome) };
    this.#started.push(started);
    return started;
  }

  /** Called when the current attempt is discarded. The next attempt can then use the outcomes of all started calls. */
  release(): void {
    this.#claimed.clear();
    this.#unclaimed = bySignature(this.#started);
  }

  async settle(calls: readonly ToolCall[]): Promise<SettledEarly> {
    const left = new Map<StartedCall, ToolOutcome>();
    await Promise.all(
      this.#started.map(async (started) => {
        const end = await started.outcome;
        if (end !== undefined) left.set(started, end);
      }),
    );
    const eagerOutcomes = calls.flatMap((call): readonly ToolOutcome[] => {
      const started = this.#claimed.get(call.callId) ?? this.#claimLate(call);
      const end = started && left.get(started);
      if (started === undefined || end === undefined) return [];
      left.delete(started);
      const outcome = { ...end, call };
      if (started.call.callId !== call.callId) this.#ports.onAdopted(outcome);
      return [outcome];
    });
    const eagerSpent = [...left.values()].flatMap(({ nested }) => nested ?? []);
    return eagerSpent.length === 0 ? { eagerOutcomes } : { eagerOutcomes, eagerSpent };
  }

  /**
   * Finds a call that a discarded attempt has started, with the same name and arguments as `call`. Usually, `offer` has already
   * done this. But `offer` does not get the calls that follow an incomplete call. A call with unusable arguments matches no other
   * call.
   */
  #claimLate(call: ToolCall): StartedCall | undefined {
    return call.problem === undefined ? this.#unclaimed.get(signatureOf(call))?.shift() : undefined;
  }
}

function bySignature(started: readonly StartedCall[]): ReadonlyMap<string, StartedCall[]> {
  const groups = new Map<string, StartedCall[]>();
  for (const one of started) {
    const group = groups.get(one.signature);
    if (group === undefined) groups.set(one.signature, [one]);
    else group.push(one);
  }
  return groups;
}

function signatureOf({ name, args }: ToolCall): string {
  return `${name} ${stableJson(args)}`;
}
