// The calls of a message: their arguments, approvals and outcomes.

import { type Json, type LoopEvents } from "../core/entry-kit.ts";
import { toFailureText, toPlain } from "../core/web-kit.ts";
import type { Hold, MessageWriter } from "./message-writer.ts";
import type { UIMessageOptions } from "./ui-message-options.ts";

/** One call that the page shows, or may have to show. */
export interface ToolPart {
  /** Its id on the page. */
  readonly id: string;
  readonly name: string;
  /** "new" until the page has a part of it. */
  state: "new" | "streaming" | "ready" | "ended";
  args: Json;
  /** True if its arguments are not JSON, or cut off. */
  isUnreadable: boolean;
  /** True if it is a call of a run inside a call. */
  readonly isNested: boolean;
  /** The step that it began in. Only there, the page can still change its arguments. */
  step: number;
  /** Set if its first chunk was held back. */
  hold: Hold | undefined;
}

/** The fields of all events of a call. */
export interface CallFacts {
  readonly name: string;
  readonly args?: Json | undefined;
  readonly problem?: string | undefined;
  readonly path?: readonly string[] | undefined;
}

/** Keeps the calls by key: the path of ids, joined by "/". */
export class ToolParts {
  /** The number of the current step. */
  step = 0;
  readonly #writer: MessageWriter;
  readonly #options: Pick<UIMessageOptions, "onError" | "version">;
  readonly #parts = new Map<string, ToolPart>();
  /** Calls of attempts that were taken back. Their later reports are dropped. */
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
  add(key: string, { name, args, problem, path }: CallFacts, isShown = false): ToolPart {
    const known = this.#parts.get(key);
    const part: ToolPart = known ?? {
      id: this.toId(key),
      name,
      state: isShown ? "ready" : "new",
      args: {},
      isUnreadable: false,
      isNested: path !== undefined,
      step: this.step,
      hold: this.#writer.hold,
    };
    if (known === undefined) this.#parts.set(key, part);
    if (args !== undefined) part.args = args;
    if (problem !== undefined) part.isUnreadable = true;
    return part;
  }

  /** Shows the arguments that a person or a policy has put in the place of the model's. */
  edit(part: ToolPart, args: Json): void {
    part.args = args;
    // In a later step, `tool-input-available` would make a second part.
    if (part.state !== "ready" || part.step !== this.step) return;
    const chunk = { type: "tool-input-available", toolCallId: part.id, toolName: part.name, input: args } as const;
    // With this mark, the page does not take the call for one of its own.
    this.#writer.writeBeside({ ...chunk, providerExecuted: true });
  }

  /** Forgets a call that the page does not show. */
  forget(key: string): void {
    if (this.#parts.get(key)?.state === "new") this.#parts.delete(key);
  }

  addDelta(key: string, { name, text }: LoopEvents["tool-args-delta"]): void {
    const part = this.add(key, { name });
    if (part.state === "new") {
      this.#begin(part, "streaming");
      this.#writer.write({ type: "tool-input-start", toolCallId: part.id, toolName: name });
    }
    if (part.state === "streaming")
      this.#writer.writeBeside({ type: "tool-input-delta", toolCallId: part.id, inputTextDelta: text });
  }

  /** Shows the complete arguments, once. */
  show(part: ToolPart, name: string = part.name): void {
    const chunk = { type: "tool-input-available", toolCallId: part.id, toolName: name, input: part.args } as const;
    if (part.state === "new") {
      this.#begin(part, "ready");
      this.#writer.write(chunk);
    } else if (part.state === "streaming") {
      if (this.#isOpen(part)) this.#writer.writeBeside(chunk);
      part.state = "ready";
    }
  }

  #begin(part: ToolPart, state: "streaming" | "ready" | "ended"): void {
    part.state = state;
    part.step = this.step;
    part.hold = this.#writer.hold;
  }

  /** True if the page shows the arguments as they come in, and can still change them. */
  #isOpen({ state, step }: ToolPart): boolean {
    return state === "streaming" && step === this.step;
  }

  /** Shows what a running call has so far. */
  showProgress(part: ToolPart, output: unknown, isPreliminary = true): void {
    if (part.state === "ended") return;
    this.show(part);
    const chunk = {
      type: "tool-output-available",
      toolCallId: part.id,
      output: toPlain(output),
      providerExecuted: true,
    } as const;
    this.#writer.writeBeside(isPreliminary ? { ...chunk, preliminary: true } : chunk);
  }

  /** Shows the outcome of a call. */
  end(part: ToolPart, { name, outcome, result }: Pick<LoopEvents["tool-end"], "name" | "outcome" | "result">): void {
    if (isDeferred({ outcome }) || part.state === "ended") return;
    // A call that started early may have run before its message was cut off.
    const isShowable = !part.isUnreadable || outcome === "completed" || outcome === "denied";
    if (isShowable) this.show(part, name);
    const toolCallId = part.id;
    if (outcome === "completed") {
      this.#writer.writeBeside({ type: "tool-output-available", toolCallId, output: result, providerExecuted: true });
    } else if (outcome === "denied" && this.#options.version !== 5) {
      this.#writer.writeBeside({ type: "tool-output-denied", toolCallId });
    } else this.#fail(part, name, toFailureText({ kind: "tool", toolName: name, outcome, result }, this.#options.onError));
    part.state = "ended";
    part.args = null;
  }

  #fail(part: ToolPart, toolName: string, errorText: string): void {
    const executed = { toolCallId: part.id, errorText, providerExecuted: true } as const;
    const isPartial = part.state === "new" || this.#isOpen(part);
    // In a later step, `tool-input-error` would make a second part.
    if (!isPartial) return this.#writer.writeBeside({ type: "tool-output-error", ...executed });
    if (part.state === "new") this.#begin(part, "ended");
    this.#writer.write({ type: "tool-input-error", toolName, input: part.args, ...executed });
  }

  /** Ends all calls that are open. Their events say nothing more. */
  endAll(): void {
    for (const part of this.#parts.values()) {
      if (part.state === "new" && part.isNested) continue;
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

/** True for a call that waits for a result from outside. It has another end later. */
export function isDeferred({ outcome }: { readonly outcome: string }): boolean {
  return outcome === "deferred";
}
