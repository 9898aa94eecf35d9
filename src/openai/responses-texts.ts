import { isRecord, listOf, textOf } from "../core/kit.ts";
import type { ModelChunk } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";

export type TextKind = "text-delta" | "refusal-delta" | "reasoning-delta";

/** Puts a blank line between the messages of a response, and between the parts of its reasoning. */
export class TextFlow {
  readonly #out: ModelChunk[];
  readonly #last: { text?: object; reasoning?: object } = {};
  refused = false;

  constructor(out: ModelChunk[]) {
    this.#out = out;
  }

  /** Sends text. `owner` is the message or the reasoning part that contains it. */
  push(owner: object, kind: TextKind, text: string): void {
    if (text === "") return;
    const channel = kind === "reasoning-delta" ? "reasoning" : "text";
    const last = this.#last[channel];
    this.#last[channel] = owner;
    if (kind === "refusal-delta") this.refused = true;
    this.#out.push({ type: kind, text: last === undefined || last === owner ? text : `\n\n${text}` });
  }
}

interface TextPart {
  sent: string;
}

type TextParts = Map<number, TextPart>;

export interface TextPlace {
  readonly kind: TextKind;
  readonly index: unknown;
  readonly isSummary: boolean;
}

/** The text parts of one item. */
export class ItemTexts {
  readonly #flow: TextFlow;
  readonly #contents: TextParts = new Map();
  readonly #summaries: TextParts = new Map();

  constructor(flow: TextFlow) {
    this.#flow = flow;
  }

  extend(place: TextPlace, piece: string): void {
    const part = this.#partAt(place);
    part.sent += piece;
    // A message's parts form one string, whereas each part of the reasoning is a separate string.
    this.#flow.push(place.kind === "reasoning-delta" ? part : this, place.kind, piece);
  }

  /** Sends the rest of a text part whose first fragments were already sent. Ignores the whole text if it contradicts these fragments. */
  complete(place: TextPlace, whole: string): void {
    const { sent } = this.#partAt(place);
    if (whole.startsWith(sent)) this.extend(place, whole.slice(sent.length));
  }

  completeAll({ content, summary }: UnknownRecord): void {
    this.#completeList(summary, true);
    this.#completeList(content, false);
  }

  #completeList(list: unknown, isSummary: boolean): void {
    const wholes = readWholes(list);
    const places = findPlaces(wholes, isSummary ? this.#summaries : this.#contents);
    for (const [rank, { kind, text }] of wholes.entries()) this.complete({ kind, index: places[rank], isSummary }, text);
  }

  #partAt({ index: place, isSummary }: TextPlace): TextPart {
    const parts = isSummary ? this.#summaries : this.#contents;
    const index = typeof place === "number" ? place : 0;
    const part = parts.get(index) ?? { sent: "" };
    parts.set(index, part);
    return part;
  }
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
 * Returns the index under which each text's fragments arrived. It is usually the text's position in the list, but Bedrock uses index 1 for
 * a message's only part. If positions and indexes differ, the texts are matched in the order of the indexes.
 */
function findPlaces(wholes: readonly WholeText[], parts: ReadonlyMap<number, TextPart>): readonly number[] {
  const streamed = [...parts].filter(([, { sent }]) => sent !== "").sort(([one], [other]) => one - other);
  const byPosition = new Map(wholes.map(({ position, text }) => [position, text]));
  const isPositional = streamed.every(([index, { sent }]) => byPosition.get(index)?.startsWith(sent) === true);
  if (isPositional) return wholes.map(({ position }) => position);
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

export function wordsOf({ text, refusal }: UnknownRecord): string {
  return textOf(text) + textOf(refusal);
}
