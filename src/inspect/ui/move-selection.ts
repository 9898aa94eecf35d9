// Moves in the rows of the timeline, as in a tree of files.

import type { KeyAction } from "./key-help.tsx";
import type { Selection } from "./use-selection.ts";

/** Selects the last call with an id. */
export function openCall({ tree, select }: Selection, callId: string): void {
  const entry = tree.entries.findLast(({ content }) => content.kind === "call" && content.call.callId === callId);
  if (entry !== undefined) select(entry.key);
}

/** Opens the request of the selected stream, or the nested runs of the selected call. */
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
