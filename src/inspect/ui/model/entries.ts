// Builds the transcript's entries, in order. Each is a message, stream, call or note of a run or its nested runs.

import type { Message } from "../../../core/index.ts";
import type { LoggedCall, LoggedLine, LoggedRun } from "../../../shared/run-log.ts";
import { isSummary, newMessagesOf } from "../../analysis/request-messages.ts";
import { describeEnding } from "./describe-ending.ts";
import { describeLine } from "./describe-line.ts";
import { type CallFacts, readRunFacts, type RunFacts, type StreamFacts } from "./run-facts.ts";

type EntryContent =
  | { readonly kind: "system"; readonly text: string }
  | { readonly kind: "message"; readonly message: Message; readonly isAdded: boolean }
  | { readonly kind: "stream"; readonly stream: StreamFacts }
  | { readonly kind: "call"; readonly call: LoggedCall; readonly facts: CallFacts; readonly stream: StreamFacts }
  | { readonly kind: "note"; readonly line: LoggedLine }
  | { readonly kind: "nested"; readonly title: string }
  | { readonly kind: "end" };

export interface Entry {
  /** The entry's link, without the number of the outermost run. */
  readonly key: string;
  /** How many calls contain the entry's run. */
  readonly depth: number;
  /** The keys of the calls that contain the entry's run, outermost first. */
  readonly parents: readonly string[];
  readonly run: LoggedRun;
  readonly content: EntryContent;
}

interface RunPlace {
  /** The prefix that the keys of all the run's entries share. */
  readonly prefix: string;
  readonly parents: readonly string[];
}

/** A run with its facts, and all entries of the run and of its nested runs. */
export interface RunTree {
  readonly run: LoggedRun;
  readonly place: RunPlace;
  readonly facts: RunFacts;
  readonly entries: readonly Entry[];
  /** The nested runs, by the key of the call that contains them. */
  readonly nested: ReadonlyMap<string, readonly RunTree[]>;
}

export function buildTree(run: LoggedRun, place: RunPlace = { prefix: "", parents: [] }): RunTree {
  const facts = readRunFacts(run);
  const entries: Entry[] = [];
  const nested = new Map<string, readonly RunTree[]>();
  const { prefix, parents } = place;
  const add = (key: string, content: EntryContent): void =>
    void entries.push({ key: `${prefix}${key}`, depth: parents.length, parents, run, content });
  addStart(facts, add);
  for (const stream of facts.streams) {
    const notes = noteAdder(stream, add);
    notes(stream.before);
    addNewMessages(stream, add);
    add(stream.key, { kind: "stream", stream });
    for (const call of stream.iteration.calls) {
      const key = `${stream.key}/tool/${call.index}`;
      add(key, { kind: "call", call, facts: facts.calls.get(call) ?? { work: [], changes: [] }, stream });
      const trees = call.runs.map((inner, index) => buildTree(inner, placeOf(`${prefix}${key}`, { parents, index })));
      if (trees.length > 0) nested.set(`${prefix}${key}`, trees);
      trees.forEach((tree, index) => {
        const title = trees.length === 1 ? "Nested run" : `Nested run ${index + 1} of ${trees.length}`;
        entries.push({
          key: `${tree.place.prefix}run`,
          depth: parents.length + 1,
          parents: tree.place.parents,
          run: tree.run,
          content: { kind: "nested", title },
        });
        for (const entry of tree.entries) entries.push(entry);
      });
    }
    notes(stream.after);
  }
  add("end", { kind: "end" });
  return { run, place, facts, entries, nested };
}

function placeOf(callKey: string, { parents, index }: { parents: readonly string[]; index: number }): RunPlace {
  return { prefix: `${callKey}/${index === 0 ? "" : `r${index + 1}/`}`, parents: [...parents, callKey] };
}

type Add = (key: string, content: EntryContent) => void;

function addStart({ first, streams }: RunFacts, add: Add): void {
  const request = streams[0]?.iteration.request;
  if (request?.system !== undefined) add("system", { kind: "system", text: request.system });
  (request?.added ?? []).forEach((message, index) => add(`message/${index}`, { kind: "message", message, isAdded: false }));
  first.forEach((line, index) => add(`start/note/${index}`, { kind: "note", line }));
}

/**
 * Returns a function that adds a stream's notes. A note's key ends with a number, which keeps increasing across all calls to this function.
 */
function noteAdder({ key }: StreamFacts, add: Add): (lines: readonly LoggedLine[]) => void {
  let count = 0;
  return (lines) => {
    for (const line of lines) {
      add(`${key}/note/${count}`, { kind: "note", line });
      count += 1;
    }
  };
}

/** Adds a request's user messages that no note or earlier entry shows, such as a warning that the loop added. */
function addNewMessages({ key, before, iteration, previous }: StreamFacts, add: Add): void {
  if (previous === undefined) return;
  const steered = new Set(before.filter(({ type }) => type === "steered").map(({ message }) => JSON.stringify(message)));
  const added = iteration.request && newMessagesOf(iteration.request, previous.request);
  added?.forEach((message, index) => {
    if (message.role === "user" && !steered.has(JSON.stringify(message)))
      add(`${key}/message/${index}`, { kind: "message", message, isAdded: true });
  });
}

const roles = { user: "User", assistant: "Assistant", tool: "Tool results" } as const;

export function titleOf({ content, run }: Entry): string {
  switch (content.kind) {
    case "system":
      return "System";
    case "message":
      if (isSummary(content.message)) return "Summary of old messages";
      return content.isAdded ? `${roles[content.message.role]} message, added to the request` : roles[content.message.role];
    case "stream":
      return content.stream.title;
    case "call":
      return content.call.name;
    case "note":
      return describeLine(content.line).title;
    case "nested":
      return `${content.title}: ${run.provider} ${run.model}`;
    case "end":
      return describeEnding(run).sentence;
  }
}
