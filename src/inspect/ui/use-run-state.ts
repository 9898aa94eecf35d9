// Holds the state of a run's view: the selected event, the folded rows, the search, the tab, and the expanded requests and text.

import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LoggedRun } from "../../shared/run-log.ts";
import { buildTree, type Entry, type RunTree } from "./model/entries.ts";
import { type Hit, type Search, useSearch } from "./use-search.ts";
import { formatValue } from "./model/format-value.ts";
import { piecesOf } from "./model/pieces.ts";
import { type Jump, textId } from "./transcript.tsx";
import { type KeyAction, useKeys } from "./key-help.tsx";
import { firstWindow, limits, type TextWindow, windowStep } from "./safe-text.tsx";
import type { Connection } from "./model/describe-ending.ts";
import { buildRows, isOpenAtFirst, type Row } from "./model/rows.ts";
import { type Navigation, toLink } from "./route.ts";

export interface PageRun {
  readonly run: LoggedRun;
  /** Changes whenever the log changes. Needed because a live log modifies the same `run` object. */
  readonly version: unknown;
  /** The run's number on the page, counted from 1. */
  readonly number: number;
  readonly count: number;
  readonly connection: Connection;
  readonly selected: string;
  readonly navigation: Navigation;
}

export interface Selection {
  readonly tree: RunTree;
  readonly rows: readonly Row[];
  readonly shownRows: readonly Row[];
  readonly shownEntries: readonly Entry[];
  readonly selectedRow: Row | undefined;
  /** The key of the transcript entry that shows the selected event. */
  readonly entryKey: string;
  /** True if the link names an event that the run does not contain. */
  readonly isUnknown: boolean;
  readonly jump: Jump | undefined;
  isOpen(key: string): boolean;
  toggle(key: string): void;
  linkOf(key: string): string;
  /** Selects an event, and scrolls to it. With `how.replace`, the back button skips the event that was selected before. */
  select(key: string, how?: { readonly replace?: boolean; readonly jump?: Jump | undefined }): void;
}

/** Adds keys to a copy of the set, and removes those that the set already contains. */
function toggleIn(set: ReadonlySet<string>, keys: readonly string[]): ReadonlySet<string> {
  const toggled = new Set(set);
  for (const key of new Set(keys)) if (!toggled.delete(key)) toggled.add(key);
  return toggled;
}

export function useSelection({ run, version, number, count, connection, selected, navigation }: PageRun): Selection {
  const tree = useMemo(() => buildTree(run), [run, version]);
  const rows = useMemo(() => buildRows(tree, connection === "live"), [tree, connection]);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [jump, setJump] = useState<Jump>();
  const jumped = useRef<string>("");
  const isOpen = (key: string): boolean => toggled.has(key) !== isOpenAtFirst(key);
  const shownRows = useMemo(() => rows.filter(({ parents }) => parents.every(isOpen)), [rows, toggled]);
  const shownEntries = useMemo(() => tree.entries.filter(({ parents }) => parents.every(isOpen)), [tree, toggled]);
  const selectedRow = useMemo(() => rows.find(({ key }) => key === selected), [rows, selected]);
  const entryKey = selectedRow?.entryKey ?? selected;
  const entry = useMemo(() => tree.entries.find(({ key }) => key === entryKey), [tree, entryKey]);

  const linkOf = (key: string): string => toLink({ run: number, key }, count);
  const goTo = (next: Jump, parents: readonly string[]): void => {
    const closed = parents.filter((key) => !isOpen(key));
    if (closed.length > 0) setToggled((before) => toggleIn(before, closed));
    jumped.current = next.key;
    setJump(next);
  };
  const parentsOf = (key: string): readonly string[] => [
    ...(rows.find((row) => row.key === key)?.parents ?? []),
    ...(tree.entries.find((one) => one.key === key)?.parents ?? []),
  ];
  // If a link, the back button or a reload selected this event, unfolds the rows around it and scrolls to it.
  useEffect(() => {
    if (entry === undefined) jumped.current = "";
    else if (jumped.current !== entryKey) goTo({ key: entryKey }, [...parentsOf(entryKey), ...(selectedRow?.parents ?? [])]);
  }, [entryKey, entry === undefined]);

  const select: Selection["select"] = (key, { replace = false, jump: wanted } = {}) => {
    const entryOfKey = rows.find((row) => row.key === key)?.entryKey ?? key;
    goTo(wanted ?? { key: entryOfKey }, [...parentsOf(key), ...parentsOf(entryOfKey)]);
    navigation.open(linkOf(key), replace);
  };
  const toggle = (key: string): void => setToggled((before) => toggleIn(before, [key]));
  const isUnknown = selected !== "" && entry === undefined;
  return { tree, rows, shownRows, shownEntries, selectedRow, entryKey, isUnknown, jump, isOpen, toggle, linkOf, select };
}

export function openCall({ tree, select }: Selection, callId: string): void {
  const entry = tree.entries.findLast(({ content }) => content.kind === "call" && content.call.callId === callId);
  if (entry !== undefined) select(entry.key);
}

function openSelected({ selectedRow, entryKey, toggle, select }: Selection, toggleRequest: (key: string) => void): void {
  if (selectedRow === undefined) return;
  select(selectedRow.key, { replace: true });
  if (selectedRow.kind === "stream" || selectedRow.kind === "attempt") toggleRequest(entryKey);
  else if (selectedRow.canFold) toggle(selectedRow.key);
}

type Move = (selection: Selection, index: number) => string | undefined;

const moves: { readonly [action: string]: Move | undefined } = {
  next: ({ shownRows }, index) => shownRows[Math.min(index + 1, shownRows.length - 1)]?.key,
  unfold: ({ shownRows, selectedRow }, index) => (selectedRow?.canFold === true ? shownRows[index + 1]?.key : undefined),
  previous: ({ shownRows }, index) => shownRows[Math.max(index - 1, 0)]?.key,
  fold: ({ selectedRow }) => selectedRow?.parents.at(-1),
  first: ({ shownRows }) => shownRows[0]?.key,
  last: ({ shownRows }) => shownRows.at(-1)?.key,
};

function moveSelection(action: KeyAction, selection: Selection): void {
  const { shownRows, selectedRow, isOpen, toggle, select } = selection;
  const turnsFold = selectedRow?.canFold === true && action === (isOpen(selectedRow.key) ? "fold" : "unfold");
  if (turnsFold) return toggle(selectedRow.key);
  const index = selectedRow === undefined ? -1 : shownRows.indexOf(selectedRow);
  const target = moves[action]?.(selection, index);
  if (target !== undefined) select(target, { replace: true });
}

type Tab = "timeline" | "transcript";

export interface RunState {
  readonly tab: Tab;
  readonly query: string;
  readonly search: Search;
  readonly hits: Hits;
  readonly input: RefObject<HTMLInputElement | null>;
  readonly windows: Map<string, TextWindow>;
  readonly openRequests: ReadonlySet<string>;
  readonly isHelpOpen: boolean;
  setTab(tab: Tab): void;
  setQuery(query: string): void;
  setHelpOpen(isOpen: boolean): void;
  toggleRequest(key: string): void;
}

export function useRunState(selection: Selection): RunState {
  const { tree } = selection;
  const [tab, setTab] = useState<Tab>(selection.entryKey === "" ? "timeline" : "transcript");
  const [query, setQuery] = useState("");
  const [openRequests, setOpenRequests] = useState<ReadonlySet<string>>(new Set());
  const [isHelpOpen, setHelpOpen] = useState(false);
  const windows = useRef(new Map<string, TextWindow>()).current;
  const input = useRef<HTMLInputElement>(null);
  const search = useSearch(query, tree.entries);
  const toggleRequest = (key: string): void => setOpenRequests((before) => toggleIn(before, [key]));
  const openHit = (hit: Hit): void => {
    if (hit.piece.startsWith("request/")) setOpenRequests((before) => new Set([...before, hit.key]));
    else openWindow(hit, { tree, windows });
    setTab("transcript");
    selection.select(hit.key, { replace: true, jump: { key: hit.key, hit } });
  };
  const hits = useHits(search, openHit);
  useKeys((action) => {
    if (action === "help") setHelpOpen(true);
    else if (action === "search") input.current?.select();
    else if (action === "close") setQuery("");
    else if (action === "next-hit" || action === "previous-hit") hits.go(action === "next-hit" ? 1 : -1);
    else if (action === "open") {
      setTab("transcript");
      openSelected(selection, toggleRequest);
    } else moveSelection(action, selection);
  });
  return {
    ...{ tab, query, search, hits, input, windows, openRequests, isHelpOpen },
    ...{ setTab, setQuery, setHelpOpen, toggleRequest },
  };
}

export interface Hits {
  readonly current: number | undefined;
  go(step: 1 | -1): void;
}

function useHits({ hits, pattern, isDone }: Search, open: (hit: Hit) => void): Hits {
  const [at, setAt] = useState<{ readonly pattern: RegExp | undefined; readonly index: number }>();
  const wanted = useRef<1 | -1 | undefined>(undefined);
  const current = at !== undefined && at.pattern === pattern ? at.index : undefined;
  const go = (step: 1 | -1): void => {
    const from = current ?? (step === 1 ? -1 : 0);
    const index = (from + step + hits.length) % hits.length;
    const hit = hits[index];
    wanted.current = hit === undefined && !isDone ? step : undefined;
    if (hit === undefined) return;
    setAt({ pattern, index });
    open(hit);
  };
  // Goes to the next hit if the reader asked for it before the search had found one.
  useEffect(() => {
    if (wanted.current !== undefined) go(wanted.current);
  }, [hits, isDone]);
  return { current, go };
}

interface WindowPlace {
  readonly tree: RunTree;
  readonly windows: Map<string, TextWindow>;
}

function openWindow(hit: Hit, { tree, windows }: WindowPlace): void {
  const entry = tree.entries.find(({ key }) => key === hit.key);
  const piece = entry && piecesOf(entry).find(({ id }) => id === hit.piece);
  if (piece === undefined) return;
  const id = textId(hit);
  const text = formatValue(piece.value);
  const { start, end } = windows.get(id) ?? firstWindow(text, limits[piece.form]);
  const after = hit.offset + hit.length + 500;
  if (hit.offset >= start && hit.offset + hit.length <= end) return;
  windows.set(id, after < windowStep ? { start: 0, end: after } : { start: hit.offset - 2000, end: after });
}
