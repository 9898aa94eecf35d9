import type { EmittedPart } from "../core/entry-kit.ts";
import { toPlain } from "../core/web-kit.ts";
import type { AGUIPartEvent } from "./ag-ui-event.ts";

/** The parts that tools emit. The text of a call becomes messages of its own, and data becomes `CUSTOM` events. */
export class EmittedParts {
  readonly #push: (event: AGUIPartEvent) => void;
  /** The open text message of each call, by the id of the call on the page. */
  readonly #open = new Map<string, string>();
  /** The number of text messages of each call. */
  readonly #counts = new Map<string, number>();

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
    const count = this.#counts.get(toolCallId) ?? 0;
    const messageId = `${toolCallId}:text-${count}`;
    this.#counts.set(toolCallId, count + 1);
    this.#open.set(toolCallId, messageId);
    this.#push({ type: "TEXT_MESSAGE_START", messageId, role: "assistant" });
    return messageId;
  }

  /** Ends the open text message of a call. */
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
