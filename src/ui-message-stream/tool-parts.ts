// The calls of a message: their arguments, approvals and outcomes.

import { type Json, type LoopEvents, toJson } from "../core/entry-kit.ts";
import type { Hold, MessageWriter } from "./message-writer.ts";
import type { UIMessageOptions } from "./ui-message-options.ts";
import { toFailureText } from "./failure-text.ts";

/** One call that the page shows, or may have to show. */
export interface ToolPart {
  /** Its id on the page. */
  readonly id: string;
  readonly name: string;
  /** "new" until the page has a part of it. */
  state: "new" | "streaming" | "ready" | "ended";
  args: Json;
  /** The step that it began in. */
  readonly step: number;
  /** Set if its first chunk was held back. */
  readonly hold: Hold | undefined;
}

/** What makes a call: the fields of all its events. */
export interface CallFacts {
  readonly name: string;
  readonly args?: Json | undefined;
}

/** Keeps the calls by key: the path of ids, joined by "/". */
export class ToolParts {
  /** The number of the current step. */
  step = 0;
  readonly #writer: MessageWriter;
  readonly #options: Pick<UIMessageOptions, "onError" | "version">;
  readonly #parts = new Map<string, ToolPart>();
  /** Calls of attempts that were taken back. What they still report is dropped. */
  readonly #discarded = new Set<string>();
  /** The beginning of all ids of the page. Ids of calls are unique in a run only, and a page shows many. */
  #prefix = "";

  constructor(writer: MessageWriter, options: Pick<UIMessageOptions, "onError" | "version">) {
    this.#writer = writer;
    this.#options = options;
  }

  /** Makes ids of the page unique beyond the message. */
  setMessage(messageId: string): void {
    this.#prefix = `${messageId}:`;
  }

  /** Returns the id that the page knows a call, or a question about it, by. */
  toId(key: string): string {
    return this.#prefix + key;
  }

  isDiscarded(key: string): boolean {
    return this.#discarded.has(key);
  }

  find(key: string): ToolPart | undefined {
    return this.#parts.get(key);
  }

  /** Returns the part of a call, and makes it if there is none. `isShown` says that the page has it from an earlier stream. */
  add(key: string, { name, args }: CallFacts, isShown = false): ToolPart {
    const known = this.#parts.get(key);
    if (known !== undefined) {
      if (args !== undefined) known.args = args;
      return known;
    }
    const state = isShown ? "ready" : "new";
    const part: ToolPart = { id: this.toId(key), name, state, args: args ?? {}, step: this.step, hold: this.#writer.hold };
    this.#parts.set(key, part);
    return part;
  }

  /** Forgets a call that the page does not show. */
  forget(key: string): void {
    if (this.#parts.get(key)?.state === "new") this.#parts.delete(key);
  }

  addDelta(key: string, { name, text }: LoopEvents["tool-args-delta"]): void {
    const part = this.add(key, { name });
    if (part.state === "new") {
      part.state = "streaming";
      this.#writer.write({ type: "tool-input-start", toolCallId: part.id, toolName: name });
    }
    if (part.state === "streaming")
      this.#writer.writeBeside({ type: "tool-input-delta", toolCallId: part.id, inputTextDelta: text });
  }

  /** Shows the complete arguments, once. */
  show(part: ToolPart, name: string = part.name): void {
    if (part.state !== "new" && part.state !== "streaming") return;
    const isNew = part.state === "new";
    part.state = "ready";
    const chunk = { type: "tool-input-available", toolCallId: part.id, toolName: name, input: part.args } as const;
    if (isNew) this.#writer.write(chunk);
    else this.#writer.writeBeside(chunk);
  }

  /** Shows what a running call has so far. */
  showProgress(part: ToolPart, output: unknown, isPreliminary = true): void {
    if (part.state === "ended") return;
    this.show(part);
    const chunk = { type: "tool-output-available", toolCallId: part.id, output: plain(output), providerExecuted: true } as const;
    this.#writer.writeBeside(isPreliminary ? { ...chunk, preliminary: true } : chunk);
  }

  /** Shows the outcome of a call. */
  end(part: ToolPart, { name, outcome, result }: Pick<LoopEvents["tool-end"], "name" | "outcome" | "result">): void {
    // The call waits for a result from outside, and has another end later.
    if ((outcome as string) === "deferred" || part.state === "ended") return;
    const isUnreadable = outcome === "malformed" || outcome === "truncated";
    if (!isUnreadable) this.show(part, name);
    const { state, args } = part;
    part.state = "ended";
    part.args = null;
    const toolCallId = part.id;
    if (outcome === "completed") {
      this.#writer.writeBeside({ type: "tool-output-available", toolCallId, output: result, providerExecuted: true });
    } else if (outcome === "denied" && this.#options.version !== 5) {
      this.#writer.writeBeside({ type: "tool-output-denied", toolCallId });
    } else {
      const errorText = toFailureText({ kind: "tool", toolName: name, outcome, result }, this.#options);
      const executed = { toolCallId, errorText, providerExecuted: true } as const;
      if (state === "ready") this.#writer.writeBeside({ type: "tool-output-error", ...executed });
      else this.#writer.write({ type: "tool-input-error", toolName: name, input: args, ...executed });
    }
  }

  /** Ends all calls that are open. Their events say nothing more. */
  endAll(): void {
    for (const [key, part] of this.#parts) {
      if (part.state === "new" || key.includes("/")) continue;
      this.end(part, { name: part.name, outcome: "not-run", result: null });
    }
  }

  /** Takes back the calls of the current step. `isReset` says that the page drops their parts by itself. */
  discard(isReset: boolean): void {
    for (const [key, part] of this.#parts) {
      if (part.step !== this.step) continue;
      const isShown = part.hold === undefined || part.hold.isSent;
      if (!isReset && isShown && part.state !== "new") this.end(part, { name: part.name, outcome: "not-run", result: null });
      this.#parts.delete(key);
      this.#discarded.add(key);
    }
  }
}

/** Returns plain data, and a text in place of what cannot be sent. */
function plain(value: unknown): Json {
  try {
    return toJson(value ?? null);
  } catch {
    return null;
  }
}
