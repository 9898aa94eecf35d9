// The selected event of a run, its folded rows, and the place to scroll to.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LoggedRun } from "../log/run-log.ts";
import { buildTree, type Entry, type RunTree } from "./model/entries.ts";
import type { Connection } from "./model/describe-ending.ts";
import { buildRows, isOpenAtFirst, type Row } from "./model/rows.ts";
import { type Navigation, toLink } from "./route.ts";
import type { Jump } from "./transcript.tsx";
import type { KeyAction } from "./key-help.tsx";

export interface PageRun {
  readonly run: LoggedRun;
  /** A new object for each state of the log. A live log changes `run` itself. */
  readonly version: unknown;
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
  readonly isUnknown: boolean;
  readonly jump: Jump | undefined;
  isOpen(key: string): boolean;
  toggle(key: string): void;
  linkOf(key: string): string;
  /** Selects an event, and scrolls to it. With `how.replace`, the back button skips the event that was selected before. */
  select(key: string, how?: { readonly replace?: boolean; readonly jump?: Jump | undefined }): void;
}

/** Adds each key to a copy of the set, or removes it if the set has it. */
export function toggleIn(set: ReadonlySet<string>, keys: readonly string[]): ReadonlySet<string> {
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
  // The selected event also changes by links, the back button and a reload. Then it is unfolded and scrolled to.
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

export function openSelected({ selectedRow, entryKey, toggle, select }: Selection, toggleRequest: (key: string) => void): void {
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

export function moveSelection(action: KeyAction, selection: Selection): void {
  const { shownRows, selectedRow, isOpen, toggle, select } = selection;
  const turnsFold = selectedRow?.canFold === true && action === (isOpen(selectedRow.key) ? "fold" : "unfold");
  if (turnsFold) return toggle(selectedRow.key);
  const index = selectedRow === undefined ? -1 : shownRows.indexOf(selectedRow);
  const target = moves[action]?.(selection, index);
  if (target !== undefined) select(target, { replace: true });
}
