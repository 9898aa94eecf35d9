// Reads what a model writes about tools: names, arguments and calls that come twice.

import type { Json } from "../types/json.ts";
import type { ModelChunk } from "../types/provider.ts";
import { isRecord } from "./guards.ts";
import { stableJson } from "./json.ts";

/** Arguments as a value, or the reason why there is none. */
export type ParsedArguments = { readonly args: unknown } | { readonly problem: "malformed" };

/**
 * Parses the text of a call's arguments. A blank text and `null` mean `{}`: servers send either for a tool without parameters.
 * Anything else must be JSON; nothing is repaired. A key "__proto__" stays data.
 *
 * @example
 * parseToolArguments('{"city":"Oslo"}'); // { args: { city: "Oslo" } }
 * parseToolArguments(""); // { args: {} }
 * parseToolArguments("null"); // { args: {} }
 * parseToolArguments('{"city":'); // { problem: "malformed" }
 */
export function parseToolArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { args: {} };
  try {
    return { args: JSON.parse(text) ?? {} };
  } catch {
    return { problem: "malformed" };
  }
}

export type CallReadyChunk = Extract<ModelChunk, { readonly type: "call-ready" }>;

/** Returns the arguments part of a `call-ready` chunk. `isCut`: the model was stopped, so the arguments may be incomplete. */
export function endArguments(argsText: string, isCut: boolean): Pick<CallReadyChunk, "args" | "argsText" | "problem"> {
  const parsed = parseToolArguments(argsText);
  const args = "args" in parsed ? parsed.args : {};
  const problem = isCut ? "truncated" : "problem" in parsed ? parsed.problem : undefined;
  return { args, argsText, problem };
}

/** How two calls of one stream are compared. */
export interface CallFacts {
  /** As the service gave it. Calls without an id are never the same. */
  readonly id: string | undefined;
  readonly name: string;
  readonly argsText: string;
}

/** The finished calls of one stream. A call with the id, name and arguments of an earlier one is that call sent twice. */
export class FinishedCalls<Call extends object> {
  readonly #ids = new Set<string>();
  readonly #calls = new Map<string, Call>();

  /** True if a finished call has this id. Tell nothing of a call that may repeat one before it has ended. */
  hasId(id: string | undefined): boolean {
    return id !== undefined && this.#ids.has(id);
  }

  /** Adds a finished call. Returns the call that it repeats, or undefined if it is new. */
  add(call: Call, { id, name, argsText }: CallFacts): Call | undefined {
    if (id === undefined || id === "") return undefined;
    const key = JSON.stringify([id, name, argumentsKey(argsText)]);
    const first = this.#calls.get(key);
    if (first !== undefined) return first;
    this.#ids.add(id);
    this.#calls.set(key, call);
    return undefined;
  }
}

/** True if two argument texts hold the same JSON: spaces and the order of keys do not matter. */
export function isSameArguments(one: string, other: string): boolean {
  return one === other || argumentsKey(one) === argumentsKey(other);
}

/** Arguments that no tool can take are compared as text. */
function argumentsKey(text: string): string {
  const parsed = parseToolArguments(text);
  if (!("args" in parsed)) return text;
  try {
    return stableJson(parsed.args);
  } catch {
    return text;
  }
}

/** Returns the last matching item among the latest `farthest` ones. */
export function findRecent<Item>(items: readonly Item[], farthest: number, matches: (item: Item) => boolean): Item | undefined {
  return items.length > farthest ? items.slice(-farthest).findLast(matches) : items.findLast(matches);
}

/** Returns a tool name with only letters, digits, `_` and `-`. A service refuses every later request if the history holds another one. */
export function toWireName(name: string): string {
  return name.replace(/[^\w-]/g, "_").slice(0, 64) || "_";
}

/** Names are compared by their first characters only, because a foreign one may be a megabyte long. */
const comparedLength = 64;

/** More candidates are not looked at: a server may list any number of tools. */
const mostCandidates = 10_000;

/** Candidates that are compared letter by letter, those that share the most letters with the name first. */
const mostCompared = 64;

/**
 * Returns the candidate nearest to `name`, or undefined if none is near: at most a third of the letters may be wrong, missing,
 * too many or swapped with their neighbour. Case and separators do not count, nor does a namespace that models like to put
 * before a name, as in "functions.search". Of equally near ones the first wins.
 *
 * The work is bounded: only the first 10,000 candidates are considered, and only the 64 likeliest are compared letter by letter.
 *
 * @example nearestName("getWeathr", ["get_time", "get_weather"]) // "get_weather"
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const start = name.slice(0, 2 * comparedLength);
  const wanted = [...new Set([fold(start), fold(start.replace(/^.*(?:[.:/]|__)/s, ""))])].map(toLetters);
  let nearest: Pair | undefined;
  let shortest = Number.POSITIVE_INFINITY;
  for (const pair of likeliestPairs(wanted, candidates)) {
    if (pair.least > shortest) break;
    const distance = distanceWithin(allowedFor(pair.from, pair.to), pair.from.text, pair.to.text);
    if (
      distance === Number.POSITIVE_INFINITY ||
      distance > shortest ||
      (distance === shortest && pair.place >= (nearest?.place ?? 0))
    )
      continue;
    nearest = pair;
    shortest = distance;
  }
  return nearest?.candidate;
}

/** A folded name, and how often each letter is in it. */
interface Letters {
  readonly text: string;
  readonly counts: Uint8Array;
}

/** A candidate beside one reading of the name. `least` is a lower bound of their distance. */
interface Pair {
  readonly candidate: string;
  /** The position of the candidate among all of them. */
  readonly place: number;
  readonly from: Letters;
  readonly to: Letters;
  readonly least: number;
}

/** The pairs that may be near, the likeliest first. */
function likeliestPairs(wanted: readonly Letters[], candidates: Iterable<string>): readonly Pair[] {
  const pairs: Pair[] = [];
  let place = 0;
  for (const candidate of candidates) {
    place += 1;
    if (place > mostCandidates) break;
    const to = toLetters(fold(candidate.slice(0, 2 * comparedLength)));
    for (const from of wanted) {
      const least = leastDistance(from, to);
      if (to.text !== "" && least <= allowedFor(from, to)) pairs.push({ candidate, place, from, to, least });
    }
  }
  return pairs.sort((a, b) => a.least - b.least).slice(0, mostCompared);
}

function allowedFor(from: Letters, to: Letters): number {
  return Math.floor(Math.max(from.text.length, to.text.length) / 3);
}

const buckets = 32;

function toLetters(text: string): Letters {
  const counts = new Uint8Array(buckets);
  for (let index = 0; index < text.length; index++) {
    const bucket = text.charCodeAt(index) % buckets;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return { text, counts };
}

/** Letters that one text has and the other lacks must each be replaced, added or taken away. */
function leastDistance(from: Letters, to: Letters): number {
  let missing = 0;
  let surplus = 0;
  for (let bucket = 0; bucket < buckets; bucket++) {
    const difference = (from.counts[bucket] ?? 0) - (to.counts[bucket] ?? 0);
    if (difference > 0) missing += difference;
    else surplus -= difference;
  }
  return Math.max(missing, surplus);
}

function fold(name: string): string {
  return name
    .toLowerCase()
    .replace(/[\s_\-./:]+/g, "")
    .slice(0, comparedLength);
}

/** The distance of two texts, or Infinity if more than `allowed` letters differ. Gives up at the first row that is over. */
function distanceWithin(allowed: number, from: string, to: string): number {
  let beforeLast: Row = rows[0];
  let last: Row = rows[1];
  let current: Row = rows[2];
  for (let column = 0; column <= to.length; column++) last[column] = column;
  for (let row = 1; row <= from.length; row++) {
    current[0] = row;
    let shortest = row;
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      let distance = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1));
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (isSwapped) distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      current[column] = distance;
      if (distance < shortest) shortest = distance;
    }
    // Two rows are looked back at, for a swap.
    if (shortest > allowed + 1) return Number.POSITIVE_INFINITY;
    [beforeLast, last, current] = [last, current, beforeLast];
  }
  const distance = at(last, to.length);
  return distance > allowed ? Number.POSITIVE_INFINITY : distance;
}

type Row = Uint8Array;

/** Rows of the table of distances, made once. */
const rows: readonly [Row, Row, Row] = [makeRow(), makeRow(), makeRow()];

function makeRow(): Row {
  return new Uint8Array(comparedLength + 1);
}

function at(row: Row, column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

/** Returns the arguments as an object, as services want them back. Those of a refused call may be anything. */
export function toArgumentsObject(args: Json): Json {
  return isRecord(args) ? args : { INVALID_ARGUMENTS: args };
}
