import { z } from "zod";
import type { Json, Message } from "turnwright";
import type { Match } from "./tools.ts";

export interface Call {
  readonly name: string;
  readonly args: { readonly [name: string]: string | number };
}

export interface Listing {
  readonly total: number;
  readonly folders: readonly { readonly folder: string; readonly files: number }[];
  /** The files of the repository, nearest to its root first. */
  readonly files: readonly string[];
}

export interface Seen {
  readonly listing: Listing;
  /** Returns the text of a file. Returns undefined if the model has not read the file. */
  textOf(path: string | undefined): string | undefined;
  /** Returns the matches of a search. Returns an empty array if the model has not made this search. */
  matchesOf(sought: string | undefined): readonly Match[];
  /** Returns true if the model has made this call before, even if the call failed. */
  hasCalled(call: Call): boolean;
}

const folderSchema = z.object({ folder: z.string(), files: z.number() });
const listingSchema = z.object({ total: z.number(), folders: z.array(folderSchema), files: z.array(z.string()) });
const readingSchema = z.object({ path: z.string(), text: z.string() });
const matchSchema = z.object({ path: z.string(), line: z.number(), text: z.string() });
const searchSchema = z.object({ matches: z.array(matchSchema) });
const soughtSchema = z.object({ text: z.string() });

/** Reads the calls and results in a transcript. Failed calls have no result. */
export function readSeen(messages: readonly Message[]): Seen {
  let listing: Listing = { total: 0, folders: [], files: [] };
  const texts = new Map<string, string>();
  const matches = new Map<string, readonly Match[]>();
  const made = new Set<string>();
  for (const { name, args, result } of answeredCalls(messages)) {
    made.add(keyOf(name, args));
    if (name === "list_files") listing = listingSchema.safeParse(result).data ?? listing;
    const reading = name === "read_file" ? readingSchema.safeParse(result).data : undefined;
    if (reading !== undefined) texts.set(reading.path, reading.text);
    const found = name === "search" ? searchSchema.safeParse(result).data : undefined;
    if (found !== undefined) matches.set(soughtSchema.parse(args).text, found.matches);
  }
  return {
    listing,
    textOf: (path) => texts.get(path ?? ""),
    matchesOf: (sought) => matches.get(sought ?? "") ?? [],
    hasCalled: ({ name, args }) => made.has(keyOf(name, args)),
  };
}

interface AnsweredCall {
  readonly name: string;
  readonly args: Json;
  readonly result: Json;
}

function* answeredCalls(messages: readonly Message[]): Iterable<AnsweredCall> {
  const argsById = new Map<string, Json>();
  for (const message of messages) {
    if (message.role === "assistant") {
      for (const part of message.content) if (part.type === "tool-call") argsById.set(part.callId, part.args);
    }
    if (message.role !== "tool") continue;
    for (const { callId, name, result } of message.results) yield { name, args: argsById.get(callId) ?? null, result };
  }
}

function keyOf(name: string, args: Json): string {
  return `${name} ${JSON.stringify(args)}`;
}
