// Builds the log fields that describe events, the run and its tools.

import { isRecord } from "../../core/kit.ts";
import type { EmittedPart } from "../../core/types/loop-event.ts";
import type { Json, LoopEvent, ToolDefinition } from "../../core/index.ts";
import type { ObservedRun } from "../../observe/run-observer.ts";
import type { Cleaner } from "./clean-values.ts";
import type { Writable } from "./shared-values.ts";
import type { LogFields } from "./log-lines.ts";

type Emitted = Extract<LoopEvent, { readonly type: "tool-emit" }>;

/** Copies an emitted part for the log. All strings in its data are content, so they are redacted. */
export function cleanPart(part: EmittedPart, cleaner: Cleaner): Writable | undefined {
  if (part.type === "text") return cleaner.fields(part, "progress");
  const { data, ...facts } = part;
  const cleaned = cleaner.fields(facts, "progress");
  return { ...(isRecord(cleaned) ? cleaned : {}), data: cleaner.content(data, "progress") };
}

/** Joins the text fragments that a call emits, so that the log has one line for all fragments. */
export class EmittedTexts {
  readonly #texts = new Map<string, { readonly event: Emitted; readonly fragments: string[] }>();

  /**
   * Stores a text fragment, and returns no events. For any other event, returns the joined text of its call, and then the event.
   */
  take(event: LoopEvent): readonly LoopEvent[] {
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

  #takeTexts(callIds: readonly string[]): readonly LoopEvent[] {
    return callIds.flatMap((callId) => {
      const known = this.#texts.get(callId);
      this.#texts.delete(callId);
      return known === undefined ? [] : [{ ...known.event, part: { type: "text", text: known.fragments.join("") } }];
    });
  }
}

/** The name of the middleware that writes the log. */
export const logName = "run-log";

/** Returns the fields of a run-start line. Never reads functions, keys or the session's user id. */
export function describeRun({ options, provider }: ObservedRun, cleaner: Cleaner): LogFields {
  const { limits, timeouts, middleware, session, version } = options;
  const { conversationId, locale, responseTarget } = session ?? {};
  return {
    provider: provider.id,
    model: provider.model,
    version: version === undefined ? undefined : cleaner.text(version, "session"),
    limits: numbersOf(limits),
    timeouts: numbersOf(timeouts),
    middleware: namesOf(middleware),
    session: session === undefined ? undefined : cleaner.fields({ conversationId, locale, responseTarget }, "session"),
  };
}

/** Copies numbers. Writes `Infinity`, which JSON cannot represent, as a string. */
function numbersOf(values: object | undefined): Json | undefined {
  if (!isRecord(values)) return undefined;
  const numbers = Object.entries(values).flatMap(([name, value]): [string, Json][] => {
    if (typeof value === "string") return [[name, value]];
    return typeof value === "number" ? [[name, Number.isFinite(value) ? value : String(value)]] : [];
  });
  return Object.fromEntries(numbers);
}

/** Returns the names of the middleware, except the log's own. */
function namesOf(middleware: ObservedRun["options"]["middleware"] = []): Json {
  return middleware.flatMap((one) => (one === false || one === undefined || one.name === logName ? [] : [one.name]));
}

/** Copies tool definitions. A `needsApproval` function is written as "some", as in a journal. */
export function describeTools(tools: readonly ToolDefinition[], cleaner: Cleaner): Writable {
  return tools.map((tool) => {
    const { needsApproval, ...definition } = tool;
    const asks = typeof needsApproval === "function" ? "some" : needsApproval;
    const copied = cleaner.fields(definition, "tools");
    return {
      ...(isRecord(copied) ? copied : { name: tool.name }),
      ...(asks !== undefined && { needsApproval: asks }),
    };
  });
}
