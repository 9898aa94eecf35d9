import type { ToolDefinition } from "../../core/index.ts";
import type { LoggedRequest } from "../../shared/run-log.ts";
import { formatCount, joinTexts } from "../format.ts";
import { alignMessages, countChanges, type MessageChange } from "./align-messages.ts";
import type { MaskedCalls } from "./request-messages.ts";
import { diffTexts, type TextPiece } from "./diff-texts.ts";
import { hasOtherKeyOrder, isSameText } from "./json-parts.ts";

/** A field with different values in two requests. A value is undefined if the request lacks the field. */
export interface ChangedField {
  /** "provider", "model", "toolChoice", or a setting such as "settings.temperature". */
  readonly name: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface RequestDifference {
  readonly fields: readonly ChangedField[];
  readonly tools: ToolsDifference | undefined;
  /** The line-by-line differences in the system text. Undefined if they are the same. */
  readonly system: readonly TextPiece[] | undefined;
  readonly messages: readonly MessageChange[];
}

/** Returns the changes from one request to the next. `masked` contains the ids of the calls whose results were cleared. */
export function diffRequests(previous: LoggedRequest, next: LoggedRequest, masked: MaskedCalls = new Set()): RequestDifference {
  return {
    fields: diffFields(previous, next),
    tools: diffTools(previous.tools, next.tools),
    system: previous.system === next.system ? undefined : diffTexts(previous.system ?? "", next.system ?? ""),
    messages: alignMessages(previous.messages(), next.messages(), masked),
  };
}

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

interface ChangedTool {
  readonly name: string;
  readonly before: ToolDefinition;
  readonly after: ToolDefinition;
  /** True if only the order of keys has changed, for example in the tool's schema. */
  readonly isKeyOrder: boolean;
}

export interface ToolsDifference {
  readonly added: readonly ToolDefinition[];
  readonly removed: readonly ToolDefinition[];
  readonly changed: readonly ChangedTool[];
  /** True if the tools that are in both requests appear in a different order. */
  readonly isReordered: boolean;
  readonly order: readonly string[];
}

/** Compares the tools of two requests. Returns undefined if they are the same. */
export function diffTools(before: readonly ToolDefinition[], after: readonly ToolDefinition[]): ToolsDifference | undefined {
  if (isSameText(before, after)) return undefined;
  const [old, current] = [byName(before), byName(after)];
  const order = after.map(({ name }) => name);
  const shared = order.filter((name) => old.has(name));
  const sharedBefore = before.map(({ name }) => name).filter((name) => current.has(name));
  return {
    added: after.filter(({ name }) => !old.has(name)),
    removed: before.filter(({ name }) => !current.has(name)),
    changed: after.flatMap((tool) => compareTool(old.get(tool.name), tool)),
    isReordered: !isSameText(shared, sharedBefore),
    order,
  };
}

function compareTool(before: ToolDefinition | undefined, after: ToolDefinition): readonly ChangedTool[] {
  if (before === undefined || isSameText(before, after)) return [];
  return [{ name: after.name, before, after, isKeyOrder: hasOtherKeyOrder(before, after) }];
}

function byName(tools: readonly ToolDefinition[]): ReadonlyMap<string, ToolDefinition> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/**
 * Describes the difference between two requests in one line. `found` is the cache break between them, if any.
 *
 * @example "3 messages added, 2 masked, tools unchanged, prefix kept 98%"
 */
export function describeDifference(
  { fields, tools, system, messages }: RequestDifference,
  found: { readonly keptChars: number; readonly prefixChars: number } = { keptChars: 1, prefixChars: 1 },
): string {
  const changed = fields.map(({ name }) => name.replace("settings.", ""));
  return [
    describeMessages(messages),
    tools === undefined ? "tools unchanged" : describeTools(tools),
    ...(system === undefined ? [] : ["system text changed"]),
    ...(changed.length === 0 ? [] : [`${joinTexts(changed)} changed`]),
    `prefix kept ${Math.floor((100 * found.keptChars) / Math.max(found.prefixChars, 1))}%`,
  ].join(", ");
}

const verbs = {
  added: "added",
  removed: "removed",
  masked: "masked",
  compacted: "compacted",
  edited: "edited",
  "keys-reordered": "with reordered keys",
} as const;

function describeMessages(changes: readonly MessageChange[]): string {
  const counts = countChanges(changes);
  if (counts.size === 0) return "messages unchanged";
  const order = (Object.keys(verbs) as (keyof typeof verbs)[]).filter((kind) => counts.has(kind));
  return order
    .map((kind, at) => {
      const count = counts.get(kind) ?? 0;
      const noun = at > 0 ? "" : count === 1 ? " message" : " messages";
      return `${formatCount(count)}${noun} ${verbs[kind]}`;
    })
    .join(", ");
}

function describeTools({ added, removed, changed, isReordered }: ToolsDifference): string {
  const parts = [
    [added.length, "added"],
    [removed.length, "removed"],
    [changed.filter(({ isKeyOrder }) => !isKeyOrder).length, "changed"],
    [changed.filter(({ isKeyOrder }) => isKeyOrder).length, "with reordered keys"],
  ] as const;
  const counted = parts.filter(([count]) => count > 0).map(([count, verb]) => `${count} ${verb}`);
  const texts = isReordered ? [...counted, "reordered"] : counted;
  return `tools: ${joinTexts(texts)}`;
}
