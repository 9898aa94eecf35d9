// Decisions that the caller handed in.

import type { LoopOptions } from "../../types/loop-options.ts";
import type { ApprovalDecision } from "../../types/policies.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { stableJson } from "../../utils/json.ts";

/** Ids of calls that wait, in one error. */
const mostListed = 10;

/** Decisions by call. A call inside another one is named by the path to it. */
export class Decisions {
  readonly #left: Map<string, ApprovalDecision>;
  /** The names of calls that are known to wait: of the run and of those inside its calls. */
  readonly #waiting: Set<string>;
  /** Those that are not refused though nobody takes them: they were taken in an execution before this one, or came too late. */
  readonly #said: Set<string>;
  /** The prefix of the names of this run's calls. */
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

  /** Whether one is left that names a call inside one of this run's. */
  isLeftInside(callId: string): boolean {
    const path = `${this.#prefix}${callId}/`;
    return [...this.#left.keys()].some((name) => name.startsWith(path) && !this.#said.has(name));
  }

  /** The decision about a question of this run, once. */
  take(id: string): ApprovalDecision | undefined {
    const name = this.#prefix + id;
    this.#waiting.add(name);
    const decision = this.#left.get(name);
    this.#left.delete(name);
    return decision;
  }

  /** Takes note of a question that goes on waiting, so that an error can name it. */
  noteWaiting(id: string): void {
    this.#waiting.add(this.#prefix + id);
  }

  /** Takes note of an earlier question about a call that waits: a decision about it is late, and changes nothing. */
  noteEarlier(id: string): void {
    this.#said.add(this.#prefix + id);
  }

  /** Takes note of what was decided before: saying it again does no harm, and may be the answer to a question that came after it. */
  settle(id: string, decided: unknown): void {
    const name = this.#prefix + id;
    const given = this.#left.get(name);
    if (given !== undefined && stableJson(given) === stableJson(decided)) this.#said.add(name);
  }

  /**
   * Throws LoopError "unknown-decision" for a decision that nobody has taken. Called before the run does something new, for by then every
   * call that waited has been asked about: a decision that is still there names a call that does not wait. Decisions for calls inside
   * `nestedCalls` may stay, as "call_1/call_2" may while the run inside "call_1" has not come to its "call_2".
   */
  refuseLeft(nestedCalls: readonly { readonly callId: string }[]): void {
    this.#refuse((path) => path.startsWith(this.#prefix) && !this.#isInside(path, nestedCalls));
  }

  /** The same for one that names a call inside one of these: all that wait there have taken theirs. */
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
