import { type EmittedPart, isRecord, type LoopEvent } from "../../core/entry-kit.ts";
import type { Cleaner } from "./clean-values.ts";
import type { Writable } from "./shared-values.ts";
import type { NotedEvent } from "./noted-events.ts";

type Emitted = Extract<LoopEvent, { readonly type: "tool-emit" }>;

/** Prepares a part for the log. All texts in its data are content. */
export function cleanPart(part: EmittedPart, cleaner: Cleaner): Writable | undefined {
  if (part.type === "text") return cleaner.fields(part, "progress");
  const { data, ...facts } = part;
  const cleaned = cleaner.fields(facts, "progress");
  return { ...(isRecord(cleaned) ? cleaned : {}), data: cleaner.content(data, "progress") };
}

/** Joins the text fragments that a call emits, so that a log has one line for them. */
export class EmittedTexts {
  readonly #texts = new Map<string, { readonly event: Emitted; readonly fragments: string[] }>();

  /** Keeps a fragment of text, and returns no events. Returns any other event, after the text that its call has emitted before. */
  take(event: NotedEvent): readonly NotedEvent[] {
    if (event.type === "tool-emit" && event.part.type === "text") {
      const known = this.#texts.get(event.callId) ?? { event, fragments: [] };
      known.fragments.push(event.part.text);
      this.#texts.set(event.callId, known);
      return [];
    }
    if (this.#texts.size === 0) return [event];
    if ("callId" in event) return [...this.#takeTexts([event.callId]), event];
    return event.type === "run-end" ? [...this.#takeTexts([...this.#texts.keys()]), event] : [event];
  }

  #takeTexts(callIds: readonly string[]): readonly NotedEvent[] {
    return callIds.flatMap((callId) => {
      const known = this.#texts.get(callId);
      this.#texts.delete(callId);
      return known === undefined ? [] : [{ ...known.event, part: { type: "text", text: known.fragments.join("") } }];
    });
  }
}
