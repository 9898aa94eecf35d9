// Finds the tool results that the masking policy has cleared.

import type { Message, ToolResultPart } from "../../core/entry-kit.ts";
import type { LoggedRun } from "../log/run-log.ts";
import type { MaskedCalls } from "./align-messages.ts";

/** Returns the iteration before which the result of each masked call was cleared, by call id. */
export function findMasking(run: Pick<LoggedRun, "lines">): ReadonlyMap<string, number> {
  const masking = new Map<string, number>();
  for (const { type, iteration, calls } of run.lines) {
    if (type !== "masked" || typeof iteration !== "number" || !Array.isArray(calls)) continue;
    for (const callId of calls) if (typeof callId === "string" && !masking.has(callId)) masking.set(callId, iteration);
  }
  return masking;
}

/** Returns the calls whose results are masked in the requests of an iteration. */
export function maskedUpTo(masking: ReadonlyMap<string, number>, iteration: number): MaskedCalls {
  return { has: (callId) => (masking.get(callId) ?? Infinity) <= iteration };
}

/** Returns the result of a call as the first request had it, or undefined if no request had it. */
export function findOriginal(run: Pick<LoggedRun, "iterations">, callId: string): ToolResultPart | undefined {
  for (const { request } of run.iterations) {
    const messages: readonly Message[] = request ? [...request.replaced.map(([, message]) => message), ...request.added] : [];
    for (const message of messages) {
      const found = message.role === "tool" ? message.results.find((part) => part.callId === callId) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
