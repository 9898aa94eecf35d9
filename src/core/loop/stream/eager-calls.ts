// Starts calls while the model is still streaming, and gives their outcomes to the calls of the complete message.

import type { StreamResult } from "../../types/provider.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { stableJson } from "../../../shared/json.ts";

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
  readonly outcome: Promise<ToolOutcome | undefined>;
  /** The id of the call of the current attempt that gets the outcome. Undefined after its attempt was discarded. */
  claimedBy: string | undefined;
}

export class EagerCalls {
  readonly #ports: EagerPorts;
  readonly #started: StartedCall[] = [];
  /** The calls of discarded attempts that no call of the current attempt has claimed, by signature. The first call is the last item. */
  readonly #unclaimed = new Map<string, StartedCall[]>();

  constructor(ports: EagerPorts) {
    this.#ports = ports;
  }

  offer(call: ToolCall): void {
    if (call.problem !== undefined || this.#claim(call) !== undefined) return;
    const outcome = this.#ports.start(call);
    if (outcome === undefined) return;
    this.#started.push({ call, outcome: Promise.resolve(outcome), claimedBy: call.callId });
  }

  /** Finds a call of a discarded attempt with the same name and arguments. */
  #claim(call: ToolCall): StartedCall | undefined {
    const found = this.#unclaimed.size === 0 ? undefined : this.#unclaimed.get(signatureOf(call))?.pop();
    if (found !== undefined) found.claimedBy = call.callId;
    return found;
  }

  /** Called when the current attempt is discarded. The next attempt can then use the outcomes of all started calls. */
  release(): void {
    this.#unclaimed.clear();
    for (const one of this.#started.slice().reverse()) {
      one.claimedBy = undefined;
      const signature = signatureOf(one.call);
      const equal = this.#unclaimed.get(signature) ?? [];
      this.#unclaimed.set(signature, equal);
      equal.push(one);
    }
  }

  /** Returns undefined if no call was started. */
  settle(calls: readonly ToolCall[]): Promise<SettledEarly> | undefined {
    return this.#started.length === 0 ? undefined : this.#settle(calls);
  }

  async #settle(calls: readonly ToolCall[]): Promise<SettledEarly> {
    const left = new Map<StartedCall, ToolOutcome>();
    await Promise.all(
      this.#started.map(async (started) => {
        const end = await started.outcome;
        if (end !== undefined) left.set(started, end);
      }),
    );
    const eagerOutcomes: ToolOutcome[] = [];
    const claimed = new Map(this.#started.map((started) => [started.claimedBy, started]));
    for (const call of calls) {
      // `offer` does not get the calls that follow an incomplete call. A call with unusable arguments matches no other call.
      const started = claimed.get(call.callId) ?? (call.problem === undefined ? this.#claim(call) : undefined);
      const end = started && left.get(started);
      if (started === undefined || end === undefined) continue;
      left.delete(started);
      const outcome = { ...end, call };
      if (started.call.callId !== call.callId) this.#ports.onAdopted(outcome);
      eagerOutcomes.push(outcome);
    }
    const eagerSpent = [...left.values()].flatMap(({ nested }) => nested ?? []);
    return eagerSpent.length === 0 ? { eagerOutcomes } : { eagerOutcomes, eagerSpent };
  }
}

function signatureOf({ name, args }: ToolCall): string {
  return `${name} ${stableJson(args)}`;
}
