import { isRecord, listOf, textOf } from "../core/kit.ts";
import type { ModelChunk } from "../core/index.ts";

export type TextKind = "text-delta" | "refusal-delta" | "reasoning-delta";

/** Puts a blank line between the messages of a response, and between the parts of its reasoning. */
export interface TextFlow {
  readonly refused: boolean;
  /** `owner` is the message, or the part of the reasoning, that contains the text. */
  push(owner: object, kind: TextKind, text: string): void;
}

export function createTextFlow(out: ModelChunk[]): TextFlow {
  let lastAnswer: object | undefined;
  let lastThought: object | undefined;
  let refused = false;
  return {
    get refused() {
      return refused;
    },
    push(owner, kind, text) {
      if (text === "") return;
      const isThought = kind === "reasoning-delta";
      const last = isThought ? lastThought : lastAnswer;
      if (isThought) lastThought = owner;
      else lastAnswer = owner;
      if (kind === "refusal-delta") refused = true;
      out.push({ type: kind, text: last === undefined || last === owner ? text : `\n\n${text}` });
    },
  };
}

interface TextPart {
  sent: string;
}

export interface ItemTexts {
  extend(place: TextPlace, piece: string): void;
  /** Sends the rest of a text after the fragments that were already sent. Ignores a text that contradicts these fragments. */
  complete(place: TextPlace, whole: string): void;
  completeAll(item: { readonly [field: string]: unknown }): void;
}

export interface TextPlace {
  readonly kind: TextKind;
  readonly index: unknown;
  readonly isSummary: boolean;
}

export function createItemTexts(flow: TextFlow): ItemTexts {
  const contents = new Map<number, TextPart>();
  const summaries = new Map<number, TextPart>();

  let latest: { readonly part: TextPart; readonly isSummary: boolean; isWhole: boolean } | undefined;

  function partAt({ index: place, isSummary }: TextPlace): TextPart {
    const parts = isSummary ? summaries : contents;
    const index = typeof place === "number" ? place : 0;
    let part = parts.get(index);
    if (part === undefined) {
      part = { sent: "" };
      parts.set(index, part);
    }
    return part;
  }

  function send(place: TextPlace, part: TextPart, text: string): void {
    part.sent += text;
    // All parts of a message form one text, but each part of the reasoning is a separate text.
    flow.push(place.kind === "reasoning-delta" ? part : contents, place.kind, text);
  }

  /** Finds the part to which a complete text belongs. The fragments of the text may have arrived under another index. */
  function partOf(place: TextPlace, whole: string): TextPart {
    const { index, isSummary } = place;
    const isNew = typeof index === "number" && !(isSummary ? summaries : contents).has(index);
    if (!isNew || latest?.isSummary !== isSummary || latest.part.sent === "") return partAt(place);
    const { sent } = latest.part;
    return (latest.isWhole ? whole === sent : whole.startsWith(sent)) ? latest.part : partAt(place);
  }

  function complete(place: TextPlace, whole: string): void {
    const part = partOf(place, whole);
    if (latest?.part === part) latest.isWhole = true;
    if (whole.length > part.sent.length && whole.startsWith(part.sent)) send(place, part, whole.slice(part.sent.length));
  }

  function completeList(list: unknown, isSummary: boolean): void {
    const wholes = readWholes(list);
    const places = findPlaces(wholes, isSummary ? summaries : contents);
    for (const [rank, { kind, text }] of wholes.entries()) {
      const index = places[rank];
      if (index !== undefined) complete({ kind, index, isSummary }, text);
    }
  }

  return {
    extend(place, piece) {
      const part = partAt(place);
      if (latest?.part !== part) latest = { part, isSummary: place.isSummary, isWhole: false };
      send(place, part, piece);
    },
    complete,
    completeAll({ content, summary }) {
      completeList(summary, true);
      completeList(content, false);
    },
  };
}

interface WholeText {
  readonly kind: TextKind;
  readonly text: string;
  readonly position: number;
}

function readWholes(list: unknown): readonly WholeText[] {
  return listOf(list).flatMap((part, position) => {
    const kind = isRecord(part) ? kindOf(part.type) : undefined;
    return kind !== undefined && isRecord(part) ? [{ kind, text: wordsOf(part), position }] : [];
  });
}

/**
 * Returns the index under which the fragments of each text arrived. The index is usually the position of the text in the list,
 * but one server uses index 1 for the only part of a message. If positions and indexes do not match, the texts are matched in the
 * order of the indexes. Undefined for a text that cannot be matched.
 */
function findPlaces(wholes: readonly WholeText[], parts: ReadonlyMap<number, TextPart>): readonly (number | undefined)[] {
  const streamed = [...parts].filter(([, { sent }]) => sent !== "").sort(([one], [other]) => one - other);
  const byPosition = new Map(wholes.map(({ position, text }) => [position, text]));
  const isPositional = streamed.every(([index, { sent }]) => byPosition.get(index)?.startsWith(sent) === true);
  if (isPositional) return wholes.map(({ position }) => position);
  const isRanked = streamed.every(([, { sent }], rank) => wholes[rank]?.text.startsWith(sent) === true);
  if (!isRanked) return wholes.map(({ position }) => (wholes.length > streamed.length ? position : undefined));
  const next = (streamed.at(-1)?.[0] ?? -1) + 1;
  return wholes.map((_, rank) => streamed[rank]?.[0] ?? next + rank);
}

export function kindOf(partType: unknown): TextKind | undefined {
  switch (partType) {
    case "output_text":
      return "text-delta";
    case "refusal":
      return "refusal-delta";
    case "reasoning_text":
    case "summary_text":
      return "reasoning-delta";
    default:
      return undefined;
  }
}

export function wordsOf({ text, refusal }: { readonly [field: string]: unknown }): string {
  return textOf(text) + textOf(refusal);
}
