import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunTree } from "./model/entries.ts";
import { type Hit, type Search, useSearch } from "./use-search.ts";
import { formatValue } from "./model/format-value.ts";
import { piecesOf } from "./model/pieces.ts";
import { textId } from "./transcript.tsx";
import { useKeys } from "./key-help.tsx";
import { moveSelection, openSelected, type Selection, toggleIn } from "./use-selection.ts";
import { firstWindow, limits, type TextWindow, windowStep } from "./safe-text.tsx";

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
  // The reader may ask for the next hit before the search has found one.
  useEffect(() => {
    if (wanted.current !== undefined) go(wanted.current);
  }, [hits, isDone]);
  return { current, go };
}

interface WindowPlace {
  readonly tree: RunTree;
  readonly windows: Map<string, TextWindow>;
}

/** Shows the part of a long text that contains a hit. */
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
