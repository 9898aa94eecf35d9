import type { EmittedPart } from "../core/kit.ts";
import { toPlain } from "../web/page-values.ts";
import type { AGUIAttribution, AGUIEvent, AGUIPartEvent } from "./ag-ui-event.ts";
import type { AGUIOptions } from "./ag-ui-options.ts";

export interface Entry {
  readonly event: AGUIEvent;
  /**
   * The pages that get the event. A "recalled" event is not sent to pages with `from: "live"`, because these pages already show
   * the event. An "again" event is sent only to pages with `from: "live"`.
   */
  readonly audience: "all" | "recalled" | "again";
}

export interface RunPlace {
  /** The prefix of all ids of this run on the page. */
  readonly prefix: string;
  readonly tag: AGUIAttribution;
  readonly options: AGUIOptions;
  readonly out: Entry[];
}

/** Collects the AG-UI events of one run. Can hold events of an attempt back while a provider may still discard the attempt. */
export class Outbox {
  readonly #out: Entry[];
  #held: Entry[] | undefined;
  #holds = 0;

  constructor(out: Entry[]) {
    this.#out = out;
  }

  /** The number of the current group of held-back events. Undefined while no events are held back. */
  get holding(): number | undefined {
    return this.#held === undefined ? undefined : this.#holds;
  }

  push(event: AGUIEvent, audience: Entry["audience"]): void {
    (this.#held ?? this.#out).push({ event, audience });
  }

  hold(): void {
    if (this.#held !== undefined) return;
    this.#held = [];
    this.#holds += 1;
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    // `push(...held)` throws if `held` has more entries than a function call can have arguments.
    for (const entry of held) this.#out.push(entry);
  }

  drop(): void {
    this.#held = undefined;
  }
}

/** Converts the parts that tools emit. Texts of a tool call become separate messages, and data becomes `CUSTOM` events. */
export class EmittedParts {
  readonly #push: (event: AGUIPartEvent) => void;
  /** The open text messages, by the id of the tool call on the page. */
  readonly #open = new Map<string, string>();
  readonly #textCounts = new Map<string, number>();

  constructor(push: (event: AGUIPartEvent) => void) {
    this.#push = push;
  }

  add(toolCallId: string, part: EmittedPart): void {
    if (part.type === "text") {
      if (part.text === "") return;
      const messageId = this.#open.get(toolCallId) ?? this.#begin(toolCallId);
      return this.#push({ type: "TEXT_MESSAGE_CONTENT", messageId, delta: part.text });
    }
    this.end(toolCallId);
    const { name, data, id } = part;
    const value = toPlain({ toolCallId, name, data, ...(id !== undefined && { id }) });
    this.#push({ type: "CUSTOM", name: "tool-emit", value });
  }

  #begin(toolCallId: string): string {
    const count = this.#textCounts.get(toolCallId) ?? 0;
    const messageId = `${toolCallId}:text-${count}`;
    this.#textCounts.set(toolCallId, count + 1);
    this.#open.set(toolCallId, messageId);
    this.#push({ type: "TEXT_MESSAGE_START", messageId, role: "assistant" });
    return messageId;
  }

  end(toolCallId: string): void {
    const messageId = this.#open.get(toolCallId);
    if (messageId === undefined) return;
    this.#open.delete(toolCallId);
    this.#push({ type: "TEXT_MESSAGE_END", messageId });
  }

  endAll(): void {
    for (const toolCallId of [...this.#open.keys()]) this.end(toolCallId);
  }
}
