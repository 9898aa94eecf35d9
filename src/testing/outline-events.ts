// Events as lines of text that can be read as a tree: run > iteration > what happens in it.

import type { LoopEvent, LoopEvents, LoopEventType, ResultEvent } from "../core/entry-kit.ts";

/** What a line says after the event's name. One entry for each event, so that a new one without does not compile. */
const facts: { readonly [Type in LoopEventType]: (event: LoopEvents[Type]) => readonly unknown[] } = {
  "run-start": () => [],
  "run-end": ({ status, reason }) => [status, reason.kind],
  "iteration-start": ({ iteration, continuation }) => [iteration, ...continuationOf(continuation)],
  "iteration-end": ({ iteration, continuation, status }) => [iteration, ...continuationOf(continuation), status],
  "text-delta": ({ text, attempt }) => [...attemptOf(attempt), JSON.stringify(text)],
  "reasoning-delta": ({ text, attempt }) => [...attemptOf(attempt), JSON.stringify(text)],
  "tool-args-delta": ({ name, callId, text }) => [name, `(${callId})`, JSON.stringify(text)],
  "tool-args-end": ({ name, callId, args, problem }) => [name, `(${callId})`, problem ?? JSON.stringify(args)],
  "tool-start": ({ name, callId, args }) => [name, `(${callId})`, JSON.stringify(args)],
  "tool-progress": ({ name, callId, data }) => [name, `(${callId})`, JSON.stringify(data)],
  "tool-end": ({ name, callId, outcome }) => [name, `(${callId})`, outcome],
  notice: ({ kind }) => [kind],
  "hidden-notice": ({ name, callId, trigger }) => [name, `(${callId})`, trigger.source, JSON.stringify(trigger.match)],
  restart: ({ name, callId, suffix }) => [name, `(${callId})`, suffix],
  "approval-asked": ({ name, callId, args }) => [name, `(${callId})`, JSON.stringify(args)],
  "approval-decided": ({ name, callId, decision }) => [name, `(${callId})`, decision],
  "loop-detected": ({ toolName, count, cycle }) => [toolName, `${count} times`, ...(cycle === 1 ? [] : [`cycle of ${cycle}`])],
  "result-processed": describeResult,
  "result-extracted": describeResult,
  "result-cached": describeResult,
  masked: ({ calls, tokensBefore, tokensAfter }) => [calls.join(","), `${tokensBefore} -> ${tokensAfter}`],
  steered: ({ message: { content } }) => [JSON.stringify(content)],
  "attempt-discarded": ({ attempt, error }) => [attempt, error.code],
  "late-result": ({ name, callId, success }) => [name, `(${callId})`, success ? "success" : "failure"],
  "listener-error": ({ event, error }) => [event, JSON.stringify(error.message)],
};

/** The name of every event there is. */
export const eventTypes: readonly LoopEventType[] = Object.keys(facts).filter(isEventType);

function isEventType(name: string): name is LoopEventType {
  return Object.hasOwn(facts, name);
}

/** One line for each event, indented by the runs and iterations that are open. Deltas that follow each other are one line. */
export function outlineEvents(events: readonly LoopEvent[]): string {
  const lines: string[] = [];
  let depth = 0;
  for (const event of mergeDeltas(events)) {
    if (event.type === "run-end" || event.type === "iteration-end") depth -= 1;
    lines.push("  ".repeat(Math.max(0, depth)) + lineOf(event));
    if (event.type === "run-start" || event.type === "iteration-start") depth += 1;
  }
  return lines.join("\n");
}

function lineOf<Type extends LoopEventType>(event: { readonly type: Type } & LoopEvents[Type]): string {
  return [event.type, ...facts[event.type](event), ...(event.replayed === true ? ["(replayed)"] : [])].join(" ");
}

/** Joins the texts of neighbours of one type, run, iteration and source. */
function mergeDeltas(events: readonly LoopEvent[]): readonly LoopEvent[] {
  const merged: LoopEvent[] = [];
  for (const event of events) {
    const last = merged.at(-1);
    if (last !== undefined && "text" in event && "text" in last && sourceOf(event) === sourceOf(last)) {
      merged[merged.length - 1] = { ...event, text: last.text + event.text };
    } else {
      merged.push(event);
    }
  }
  return merged;
}

function sourceOf(event: Extract<LoopEvent, { readonly text: string }>): string {
  const source = event.type === "tool-args-delta" ? event.callId : event.attempt;
  return JSON.stringify([event.type, event.runId, event.iteration, source, event.replayed]);
}

function describeResult({ name, callId, tokensBefore, tokensAfter }: ResultEvent): readonly string[] {
  return [name, `(${callId})`, `${tokensBefore} -> ${tokensAfter}`];
}

function continuationOf(continuation: number): readonly string[] {
  return continuation === 0 ? [] : [`continuation ${continuation}`];
}

function attemptOf(attempt: number | undefined): readonly string[] {
  return attempt === undefined ? [] : [`(attempt ${attempt})`];
}
