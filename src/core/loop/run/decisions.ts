// Decisions that the caller passed in.

import type { LoopOptions } from "../../types/loop-options.ts";
import type { ApprovalDecision } from "../../types/policies.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { stableJson } from "../../utils/json.ts";

/** Most waiting calls that one error lists. */
const mostListed = 10;

/** Decisions by call. The key of a call inside another one is the path to it. */
export class Decisions {
  readonly #left: Map<string, ApprovalDecision>;
  /** Keys of the calls that are known to wait, in this run and in runs inside its calls. */
  readonly #waiting: Set<string>;
  /** Keys of decisions that may stay unused without an error: an earlier execution used them, or they came too late. */
  readonly #said: Set<string>;
  /** The prefix of the keys of this run's calls. */
  readonly #prefix: string;

  constructor(given: LoopOptions["decisions"], outer?: { readonly decisions: Decisions; readonly callId: string }) {
    this.#left = outer === undefined ? new Map(Object.entries(given ?? {})) : outer.decisions.#left;
    this.#waiting = outer === undefined ? new Set() : outer.decisions.#waiting;
    this.#said = outer === undefined ? new Set() : outer.decisions.#said;
    this.#prefix = outer === undefined ? "" : `${outer.decisions.#prefix}${outer.callId}/`;
  }

  get isEmpty(): boolean {
    return this.#left.size === 0;
  }

  /** True if an unused decision names a call inside the given call. */
  isLeftInside(callId: string): boolean {
    const path = `${this.#prefix}${callId}/`;
    return [...this.#left.keys()].some((name) => name.startsWith(path) && !this.#said.has(name));
  }

  /** Removes and returns the decision about a call of this run. */
  take(id: string): ApprovalDecision | undefined {
    const name = this.#prefix + id;
    this.#waiting.add(name);
    const decision = this.#left.get(name);
    this.#left.delete(name);
    return decision;
  }

  /** Records that a call still waits, so that an error can list it. */
  noteWaiting(id: string): void {
    this.#waiting.add(this.#prefix + id);
  }

  /** Records an earlier question about a waiting call. A decision about it comes too late and has no effect. */
  noteEarlier(id: string): void {
    this.#said.add(this.#prefix + id);
  }

  /** Records an earlier decision. Passing the same decision again is allowed, and may also answer a later question. */
  settle(id: string, decided: unknown): void {
    const name = this.#prefix + id;
    const given = this.#left.get(name);
    if (given !== undefined && stableJson(given) === stableJson(decided)) this.#said.add(name);
  }

  /**
   * Throws LoopError "unknown-decision" for an unused decision. Called before the run does anything new. By then every waiting
   * call has looked for its decision, so a remaining one names a call that does not wait. Decisions for calls inside
   * `nestedCalls` may stay: "call_1/call_2" is not used until the run inside "call_1" reaches "call_2".
   */
  refuseLeft(nestedCalls: readonly { readonly callId: string }[]): void {
    this.#refuse((path) => path.startsWith(this.#prefix) && !this.#isInside(path, nestedCalls));
  }

  /** Throws the same error for a decision about a call inside one of these. All calls that wait there have taken theirs. */
  refuseInside(calls: readonly { readonly callId: string }[]): void {
    this.#refuse((path) => this.#isInside(path, calls));
  }

  #isInside(path: string, calls: readonly { readonly callId: string }[]): boolean {
    return calls.some(({ callId }) => path.startsWith(`${this.#prefix}${callId}/`));
  }

  #refuse(isWrong: (path: string) => boolean): void {
    const call = [...this.#left.keys()].find((path) => !this.#said.has(path) && isWrong(path));
    if (call === undefined) return;
    const waiting = this.#waiting.size === 0 ? {} : { waiting: [...this.#waiting].slice(0, mostListed) };
    throw new LoopError("unknown-decision", { call, ...waiting });
  }
}
