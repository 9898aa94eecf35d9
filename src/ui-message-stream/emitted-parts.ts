import type { EmittedPart } from "../core/entry-kit.ts";
import type { MessageWriter } from "./message-writer.ts";

/** The parts that tools emit. Each call writes to a text part of its own, next to the text of the model. */
export class EmittedParts {
  readonly #writer: MessageWriter;
  /** The open text part of each call, by the id of the call on the page. */
  readonly #open = new Map<string, string>();
  /** The number of text parts of each call. */
  readonly #counts = new Map<string, number>();

  constructor(writer: MessageWriter) {
    this.#writer = writer;
  }

  add(toolCallId: string, part: EmittedPart): void {
    if (part.type === "text") {
      if (part.text === "") return;
      const id = this.#open.get(toolCallId) ?? this.#begin(toolCallId);
      return this.#writer.writeBeside({ type: "text-delta", id, delta: part.text });
    }
    this.end(toolCallId);
    const { name, data, id } = part;
    this.#writer.writeBeside({ type: `data-${name}`, ...(id !== undefined && { id: `${toolCallId}:${id}` }), data });
  }

  #begin(toolCallId: string): string {
    const count = this.#counts.get(toolCallId) ?? 0;
    const id = `${toolCallId}:text-${count}`;
    this.#counts.set(toolCallId, count + 1);
    this.#open.set(toolCallId, id);
    this.#writer.writeBeside({ type: "text-start", id, providerMetadata: { turnwright: { toolCallId } } });
    return id;
  }

  /** Ends the open text part of a call. */
  end(toolCallId: string): void {
    const id = this.#open.get(toolCallId);
    if (id === undefined) return;
    this.#open.delete(toolCallId);
    this.#writer.writeBeside({ type: "text-end", id });
  }

  endAll(): void {
    for (const toolCallId of [...this.#open.keys()]) this.end(toolCallId);
  }
}
