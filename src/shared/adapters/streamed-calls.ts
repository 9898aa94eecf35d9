// Tracks the calls in an answer, and sends their chunks as they arrive.

import type { ModelChunk } from "../../core/types/provider.ts";
import { argumentsKey, type endArguments } from "../tool-arguments.ts";

/** The state of all calls in one stream. */
export class StreamedCalls {
  readonly out: ModelChunk[];
  /** The ids of calls whose start was already sent. */
  readonly startedIds: Set<string> = new Set();
  readonly #ended = new Map<string, StreamedCall>();

  constructor(out: ModelChunk[]) {
    this.out = out;
  }

  /** Adds a call that is complete. Returns the earlier call with the same id, name and arguments, if there is one. */
  add(call: StreamedCall): StreamedCall | undefined {
    const { id = "", name, text } = call;
    if (id === "") return undefined;
    const key = JSON.stringify([id, name, argumentsKey(text)]);
    const first = this.#ended.get(key);
    if (first === undefined) this.#ended.set(key, call);
    return first;
  }
}

interface CallFacts {
  readonly id?: string | undefined;
  readonly name?: string;
  /** Set to true to send only `call-ready`. */
  readonly isHeld?: boolean;
}

/**
 * One call. Sends `call-start` once the name is known, then the arguments in pieces, and `call-ready` at the end. Services and gateways may
 * send a call twice, so a call that may be a copy is sent only when it is complete.
 */
export class StreamedCall {
  readonly key: string;
  id: string | undefined;
  name: string;
  /** The arguments that have arrived so far. */
  text = "";
  isReady = false;
  /** The earlier call that this call repeats. If set, this call's chunks are not sent. */
  first: StreamedCall | undefined;
  /** Text that follows the arguments' last piece. */
  protected readonly closing: string = "";
  readonly #calls: StreamedCalls;
  readonly #isHeld: boolean;
  #isAnnounced = false;
  /** The number of characters of `text` that have been sent. */
  #sent = 0;

  constructor(calls: StreamedCalls, key: string, { id, name = "", isHeld = false }: CallFacts = {}) {
    this.#calls = calls;
    this.key = key;
    this.id = id;
    this.name = name;
    this.#isHeld = isHeld;
  }

  get hasSent(): boolean {
    return this.#sent > 0;
  }

  announce(): void {
    const isHeld = this.#isHeld || this.#calls.startedIds.has(this.id ?? "");
    if (!this.#isAnnounced && this.name !== "" && !isHeld) this.#start();
  }

  /** Sends what has arrived but has not been sent yet. */
  send(): void {
    this.announce();
    if (this.#isAnnounced) this.#sendPiece(this.#sent === 0 ? this.text : this.text.slice(this.#sent));
  }

  extend(piece: string): void {
    const isUpToDate = this.#isAnnounced && this.#sent === this.text.length;
    this.text += piece;
    // Sends only this piece, because `send` would copy the whole text each time.
    if (isUpToDate) this.#sendPiece(piece);
    else this.send();
  }

  /**
   * Replaces the pieces with the complete arguments, unless `text` is empty. If `text` does not begin with the pieces that were sent, the
   * rest is not sent.
   */
  complete(text: string): void {
    if (text === "" || text === this.text) return;
    if (this.#sent > 0 && !text.startsWith(this.text)) this.#sent = text.length;
    this.text = text;
    this.send();
  }

  /** Sends the rest and `call-ready`, unless the call repeats an earlier one. */
  end(ended: ReturnType<typeof endArguments>): void {
    const { key, id, name } = this;
    const { out } = this.#calls;
    this.isReady = true;
    this.first = this.#calls.add(this);
    if (this.first !== undefined) return;
    if (!this.#isAnnounced && !this.#isHeld && name !== "") this.#start();
    this.send();
    if (this.#sent > 0 && this.closing !== "") out.push({ type: "call-args-delta", key, text: this.closing });
    out.push({ type: "call-ready", key, id, name, ...ended });
  }

  /** Returns a piece of `text` in its JSON form. */
  protected toJson(piece: string, _isFirst: boolean): string {
    return piece;
  }

  #start(): void {
    const { key, id, name } = this;
    this.#isAnnounced = true;
    if (id !== undefined && id !== "") this.#calls.startedIds.add(id);
    this.#calls.out.push({ type: "call-start", key, id, name });
  }

  #sendPiece(piece: string): void {
    if (piece === "") return;
    const text = this.toJson(piece, this.#sent === 0);
    this.#sent = this.text.length;
    this.#calls.out.push({ type: "call-args-delta", key: this.key, text });
  }
}
