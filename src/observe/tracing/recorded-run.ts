// Splits a logged run into its executions.

import { isRecord, textOf } from "../../core/kit.ts";
import type { Message, ToolDefinition } from "../../core/index.ts";
import type { LoggedLine, LoggedRun } from "../../shared/run-log.ts";
import type { ObservedRun } from "../run-observer.ts";

/** The lines of a run from one `run-start` to the next. A resumed run has several executions. */
export interface Execution {
  readonly run: LoggedRun;
  readonly observed: ObservedRun;
  readonly first: LoggedLine;
  readonly lines: readonly LoggedLine[];
  /** The lines of the earlier executions. */
  readonly before: readonly LoggedLine[];
  /** The time at which the next execution starts, in milliseconds since 1970, or `Infinity` if there is none. */
  readonly until: number;
  readonly messagesOf: ReadonlyMap<LoggedLine, () => readonly Message[]>;
}

export function toExecutions(run: LoggedRun): readonly Execution[] {
  const { lines } = run;
  const messagesOf = findMessages(run);
  const definitions = findTools(lines);
  const starts = lines.flatMap(({ type }, index) => (type === "run-start" ? [index] : []));
  return starts.flatMap((start, number): Execution[] => {
    const next = starts[number + 1];
    const [first, ...own] = lines.slice(start, next);
    if (first === undefined) return [];
    const observed = toObserved(run, { first, own, definitions });
    const until = (next === undefined ? undefined : lines[next]?.at) ?? Number.POSITIVE_INFINITY;
    return [{ run, observed, first, lines: own, before: lines.slice(0, start), until, messagesOf }];
  });
}

/** Pairs each `request` line with the request at the same position. */
function findMessages({ lines, iterations }: LoggedRun): Execution["messagesOf"] {
  const requests = iterations.flatMap(({ request }) => (request === undefined ? [] : [request]));
  const sent = lines.filter(({ type }) => type === "request");
  return new Map(sent.map((line, index) => [line, () => requests[index]?.messages() ?? []]));
}

function findTools(lines: readonly LoggedLine[]): readonly ToolDefinition[] {
  const lists = new Set(lines.flatMap(({ type, tools }) => (type === "request" && Array.isArray(tools) ? [tools] : [])));
  const definitions = [...lists].flat() as unknown as readonly ToolDefinition[];
  return [...new Map(definitions.map((definition) => [definition.name, definition])).values()];
}

interface Facts {
  readonly first: LoggedLine;
  readonly own: readonly LoggedLine[];
  readonly definitions: readonly ToolDefinition[];
}

function toObserved({ runId, lines }: LoggedRun, { first, own, definitions }: Facts): ObservedRun {
  const isRequest = ({ type }: LoggedLine): boolean => type === "request";
  const { limits, session } = first;
  const options = {
    modelSettings: (own.find(isRequest) ?? lines.find(isRequest))?.["settings"],
    limits: isRecord(limits) ? Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, toLimit(value)])) : {},
    session: session ?? undefined,
  };
  return {
    runId,
    options: options as unknown as ObservedRun["options"],
    provider: { id: textOf(first["provider"]), model: textOf(first["model"]) },
    definitions: () => definitions,
  };
}

const toLimit = (value: unknown): unknown => (value === "Infinity" ? Number.POSITIVE_INFINITY : value);
