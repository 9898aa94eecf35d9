// Collects the texts of one output item from fragments and complete texts.

import { isRecord, listOf, textOf, type ModelChunk } from "../core/provider-kit.ts";

/** The type of the chunk that a piece of text becomes. */
export type TextKind = "text-delta" | "refusal-delta" | "reasoning-delta";

/** Sends text as chunks. A blank line separates the messages of one response, and the parts of the reasoning. */
export interface TextFlow {
  /** True if a refusal has been sent. */
  readonly refused: boolean;
  /** @param owner the message, or the part of the reasoning, that the text belongs to */
  push(owner: object, kind: TextKind, text: string): void;
}

/** Makes a flow that appends to `out`. */
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

/** The part of a text that has been sent. */
interface TextPart {
  told: string;
}

/** The texts of one item. */
export interface ItemTexts {
  /** Adds a fragment of a text. */
  extend(place: TextPlace, piece: string): void;
  /** Takes a complete text, and sends the part that was not sent yet. A text that contradicts its sent fragments is ignored. */
  complete(place: TextPlace, whole: string): void;
  /** Takes the content and the reasoning summary of the finished item. */
  completeAll(item: { readonly [field: string]: unknown }): void;
}

/** Identifies one text in an item. */
export interface TextPlace {
  readonly kind: TextKind;
  /** The `summary_index` of a summary, otherwise the `content_index`. */
  readonly index: unknown;
  readonly isSummary: boolean;
}

export function createItemTexts(flow: TextFlow): ItemTexts {
  const contents = new Map<number, TextPart>();
  const summaries = new Map<number, TextPart>();

  /** The last text that arrived in fragments. */
  let latest: { readonly part: TextPart; readonly isSummary: boolean; isWhole: boolean } | undefined;

  function partAt({ index: place, isSummary }: TextPlace): TextPart {
    const parts = isSummary ? summaries : contents;
    const index = typeof place === "number" ? place : 0;
    let part = parts.get(index);
    if (part === undefined) {
      part = { told: "" };
      parts.set(index, part);
    }
    return part;
  }

  function tell(place: TextPlace, part: TextPart, text: string): void {
    part.told += text;
    // All parts of a message form one text. Each part of the reasoning is a separate text.
    flow.push(place.kind === "reasoning-delta" ? part : contents, place.kind, text);
  }

  /** Returns the text part for a complete text. If the index is new, the same text may have arrived under another index before. */
  function partOf(place: TextPlace, whole: string): TextPart {
    const { index, isSummary } = place;
    const isNew = typeof index === "number" && !(isSummary ? summaries : contents).has(index);
    if (!isNew || latest?.isSummary !== isSummary || latest.part.told === "") return partAt(place);
    const { told } = latest.part;
    return (latest.isWhole ? whole === told : whole.startsWith(told)) ? latest.part : partAt(place);
  }

  function complete(place: TextPlace, whole: string): void {
    const part = partOf(place, whole);
    if (latest?.part === part) latest.isWhole = true;
    if (whole.length > part.told.length && whole.startsWith(part.told)) tell(place, part, whole.slice(part.told.length));
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
      tell(place, part, piece);
    },
    complete,
    completeAll({ content, summary }) {
      completeList(summary, true);
      completeList(content, false);
    },
  };
}

/** A complete text from a finished item, with its position in the list. */
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
 * Finds the index under which each complete text was streamed. Usually the index equals the position in the list, but one server
 * uses index 1 for the only part of a message. In that case the texts are matched in index order. Undefined means that a text cannot
 * be matched.
 */
function findPlaces(wholes: readonly WholeText[], parts: ReadonlyMap<number, TextPart>): readonly (number | undefined)[] {
  const streamed = [...parts].filter(([, { told }]) => told !== "").sort(([one], [other]) => one - other);
  const byPosition = new Map(wholes.map(({ position, text }) => [position, text]));
  const isPositional = streamed.every(([index, { told }]) => byPosition.get(index)?.startsWith(told) === true);
  if (isPositional) return wholes.map(({ position }) => position);
  const isRanked = streamed.every(([, { told }], rank) => wholes[rank]?.text.startsWith(told) === true);
  if (!isRanked) return wholes.map(({ position }) => (wholes.length > streamed.length ? position : undefined));
  const next = (streamed.at(-1)?.[0] ?? -1) + 1;
  return wholes.map((_, rank) => streamed[rank]?.[0] ?? next + rank);
}

/** Returns the chunk type for a content part, or undefined if the part is not text. */
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

/** Returns the text or the refusal in a content part. */
export function wordsOf({ text, refusal }: { readonly [field: string]: unknown }): string {
  return textOf(text) + textOf(refusal);
}
