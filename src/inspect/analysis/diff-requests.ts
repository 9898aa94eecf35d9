// The differences between a request and the one before it.

import type { LoggedRequest } from "../log/run-log.ts";
import { alignMessages, type MaskedCalls, type MessageChange } from "./align-messages.ts";
import { diffTexts, type TextPiece } from "./diff-texts.ts";
import { diffTools, type ToolsDifference } from "./diff-tools.ts";
import { isSameText } from "./json-parts.ts";

/** A field that two requests have with two values. A value is undefined if the field is absent. */
export interface ChangedField {
  /** "provider", "model", "toolChoice", or the name of a setting after "settings.". */
  readonly name: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface RequestDifference {
  readonly fields: readonly ChangedField[];
  /** Undefined if the tools are the same. */
  readonly tools: ToolsDifference | undefined;
  /** The lines of both system texts. Undefined if they are the same. */
  readonly system: readonly TextPiece[] | undefined;
  readonly messages: readonly MessageChange[];
}

/** Returns the changes from one request to the next. `masked` knows the calls whose results were masked. */
export function diffRequests(previous: LoggedRequest, next: LoggedRequest, masked: MaskedCalls = new Set()): RequestDifference {
  return {
    fields: diffFields(previous, next),
    tools: diffTools(previous.tools, next.tools),
    system: previous.system === next.system ? undefined : diffTexts(previous.system ?? "", next.system ?? ""),
    messages: alignMessages(previous.messages(), next.messages(), masked),
  };
}

/** Returns the fields of two requests that differ, except for tools, system and messages. */
export function diffFields(previous: LoggedRequest, next: LoggedRequest): readonly ChangedField[] {
  const pairs: readonly ChangedField[] = [
    { name: "provider", before: previous.provider, after: next.provider },
    { name: "model", before: previous.model, after: next.model },
    { name: "toolChoice", before: previous.toolChoice, after: next.toolChoice },
    ...pairSettings(previous.settings ?? {}, next.settings ?? {}),
  ];
  return pairs.filter(({ before, after }) => !isSameText(before, after));
}

function pairSettings(before: object, after: object): readonly ChangedField[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const [old, current] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...names].map((name) => ({ name: `settings.${name}`, before: old.get(name), after: current.get(name) }));
}
