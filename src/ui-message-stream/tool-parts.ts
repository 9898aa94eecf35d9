import type { Json, LoopEvents } from "../core/index.ts";
import { toFailureText, toPlain } from "../web/page-values.ts";
import type { Hold, MessageWriter } from "./message-writer.ts";
import type { UIMessageOptions } from "./ui-message-options.ts";

export interface ToolPart {
  /** The id of the call on the page. */
  readonly id: string;
  readonly name: string;
  /** The state is "new" until the page has a part for the call. */
  state: "new" | "streaming" | "ready" | "ended";
  args: Json;
  /** True if the arguments from the model are not JSON, or were cut off. */
  isUnreadable: boolean;
  /** True while the page shows the call as approved by a person. */
  isApproved: boolean;
  readonly isNested: boolean;
  /** The step in which the part of the call began. The page can change the arguments only during this step. */
  step: number;
  /** The group of held-back chunks that contains the first chunk of the call. Undefined if that chunk was sent immediately. */
  hold: Hold | undefined;
}

export interface CallFacts {
  readonly name: string;
  readonly args?: Json | undefined;
  readonly problem?: string | undefined;
  readonly path?: readonly string[] | undefined;
}

/**
 * The tool calls of a message, and their chunks. The key of a call is its id. For a call of a nested run, the ids of the outer
 * calls precede this id, joined by "/".
 */
export class ToolParts {
  step = 0;
  readonly #writer: MessageWriter;
  readonly #options: Pick<UIMessageOptions, "onError" | "version">;
  readonly #parts = new Map<string, ToolPart>();
  /** The ids of tool calls from discarded attempts. Later events of these calls are ignored. */
  readonly #discarded = new Set<string>();
  /** The prefix of all call ids on the page. Call ids are unique only within a run, but a page shows several runs. */
  #prefix = "";

  constructor(writer: MessageWriter, options: Pick<UIMessageOptions, "onError" | "version">) {
    this.#writer = writer;
    this.#options = options;
  }

  setMessage(messageId: string): void {
    this.#prefix = `${messageId}:`;
  }

  /** Returns the id that the page uses for a call, or for a request for a decision about a call. */
  toId(key: string): string {
    return this.#prefix + key;
  }

  isDiscarded(key: string): boolean {
    return this.#discarded.has(key);
  }

  find(key: string): ToolPart | undefined {
    return this.#parts.get(key);
  }

  /** Returns the part of a call, and creates it if necessary. `isShown` is true if an earlier stream has sent the part. */
  add(key: string, { name, args, problem, path }: CallFacts, isShown = false): ToolPart {
    const known = this.#parts.get(key);
    const part: ToolPart = known ?? {
      id: this.toId(key),
      name,
      state: isShown ? "ready" : "new",
      args: {},
      isUnreadable: false,
      isApproved: false,
      isNested: path !== undefined,
      step: this.step,
      hold: this.#writer.hold,
    };
    if (known === undefined) this.#parts.set(key, part);
    if (args !== undefined) part.args = args;
    if (problem !== undefined) part.isUnreadable = true;
    return part;
  }

  edit(part: ToolPart, args: Json): void {
    part.args = args;
    this.showAgain(part, false);
  }

  /** Sends the arguments again. If `isForPage` is true, `useChat` passes the call to the page's `onToolCall`. */
  showAgain(part: ToolPart, isForPage: boolean): void {
    // After the step of the part, `tool-input-available` would create a second part on the page.
    if (part.state !== "ready" || part.step !== this.step) return;
    const chunk = { type: "tool-input-available", toolCallId: part.id, toolName: part.name, input: part.args } as const;
    this.#writer.writeBeside(isForPage ? chunk : { ...chunk, providerExecuted: true });
  }

  /** Removes a call that the page does not show. */
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

  /** Sends the complete arguments if they were not sent yet. */
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

  /** True if the arguments are still being streamed and the page can still change them. */
  #isOpen({ state, step }: ToolPart): boolean {
    return state === "streaming" && step === this.step;
  }

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

  end(part: ToolPart, { name, outcome, result }: Pick<LoopEvents["tool-end"], "name" | "outcome" | "result">): void {
    if (isDeferred({ outcome }) || part.state === "ended") return;
    // A tool that started early may have completed before its arguments were cut off.
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
    // After the step of the part, `tool-input-error` would create a second part on the page.
    if (!isPartial) return this.#writer.writeBeside({ type: "tool-output-error", ...executed });
    if (part.state === "new") this.#begin(part, "ended");
    this.#writer.write({ type: "tool-input-error", toolName, input: part.args, ...executed });
  }

  /** Ends all open calls as `not-run`, because the run has ended. */
  endAll(): void {
    for (const part of this.#parts.values()) {
      if (part.state === "new" && part.isNested) continue;
      this.end(part, { name: part.name, outcome: "not-run", result: null });
    }
  }

  /**
   * Discards the calls of the current step and the calls in dropped chunks. `isReset` is true if a `reset-step` chunk removes the
   * parts of these calls from the page.
   */
  discard(isReset: boolean, dropped: Hold | undefined): void {
    for (const [key, part] of this.#parts) {
      if (part.step !== this.step && (dropped === undefined || part.hold !== dropped)) continue;
      const isShown = part.hold === undefined || part.hold.isSent;
      if (!isReset && isShown && part.state !== "new") this.end(part, { name: part.name, outcome: "not-run", result: null });
      this.#parts.delete(key);
      this.#discarded.add(key);
    }
  }
}

/** True if the call waits for a result from outside. Another `tool-end` follows when this result arrives. */
export function isDeferred({ outcome }: { readonly outcome: string }): boolean {
  return outcome === "deferred";
}
