import { EventEmitter } from "eventemitter3";
import type { EmittedPart, LoopEmitter, LoopEvent } from "../../types/loop-event.ts";
import type { ToolContext } from "../../types/loop-options.ts";

type Emit = (part: EmittedPart) => void;

/**
 * Returns a function that takes a nested run's events, and passes the run's text and the parts that its tools emit to `emit`.
 * Holds back the text of an attempt that may be discarded until the attempt is accepted, because emitted text cannot be removed
 * from a page.
 */
export function createTextTap(emit: Emit): (event: LoopEvent) => void {
  let held = "";
  const addText = (text: string): void => {
    if (text !== "") emit({ type: "text", text });
  };
  const release = (): void => {
    addText(held);
    held = "";
  };
  return (event) => {
    // Ignores replayed events, whose text was emitted before, and events with a `path`, which come from deeper runs.
    if (event.replayed === true || event.path !== undefined) return;
    if (event.type === "text-delta" && event.attempt !== undefined && event.isFinal !== true) held += event.text;
    else if (event.type === "attempt-discarded") held = "";
    else if (passes(event)) {
      release();
      if (event.type === "text-delta") addText(event.text);
      else if (event.type === "tool-emit") emit(toOuterPart(event.part, event.callId));
    }
  };
}

const passing = ["text-delta", "tool-emit", "tool-start", "iteration-end"] as const;

function passes({ type }: LoopEvent): boolean {
  return passing.some((name) => name === type);
}

/** Makes a part's id unique, because two calls in the nested run may use the same id, but their parts must not replace each other. */
function toOuterPart(part: EmittedPart, callId: string): EmittedPart {
  return part.type === "text" || part.id === undefined ? part : { ...part, id: `${callId}/${part.id}` };
}

/** Passes the text of a nested run to `emit`. Returns a function that stops this. */
export function tapEvents(events: LoopEmitter, emit: Emit): () => void {
  const tap = createTextTap(emit);
  const listener = (event: object): void => tap(event as LoopEvent);
  const types = [...passing, "attempt-discarded"] as const;
  for (const type of types) events.on(type, listener);
  return () => {
    for (const type of types) events.off(type, listener);
  };
}

/**
 * Creates an emitter for a nested run that sends the run's text to the user's stream, as parts of the call that `context` belongs to. The
 * emitter also passes on the parts that tools of the nested run emit. Pass the emitter as the `events` option to `runNested`. For an agent
 * tool, set `emitText` instead.
 *
 * If `withFallback` may discard an attempt, the text of the attempt appears only after the attempt is accepted.
 *
 * @example
 * const result = await runNested(context, { messages, tools: [search], events: emitText(context) });
 */
export function emitText(context: Pick<ToolContext, "emit">): LoopEmitter {
  const events: LoopEmitter = new EventEmitter();
  tapEvents(events, (part) => context.emit(part));
  return events;
}
