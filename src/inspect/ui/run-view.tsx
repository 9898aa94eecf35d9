import type { JSX, RefObject } from "preact";
import { useMemo } from "preact/hooks";
import { showControls } from "../format.ts";
import { Boundary } from "./shared-parts.tsx";
import { KeyHelp } from "./key-help.tsx";
import type { RunTree } from "./model/entries.ts";
import type { Interval } from "./model/time-axis.ts";
import { openCall, type PageRun, type RunState, type Selection, useRunState, useSelection } from "./use-run-state.ts";
import { RunHeader } from "./run-header.tsx";
import { TextWindows } from "./safe-text.tsx";
import { Timeline } from "./timeline.tsx";
import { Transcript } from "./transcript.tsx";
import { CacheBreaks, useCacheBreaks } from "./use-cache-breaks.ts";
import { countHits } from "./use-search.ts";

interface RunViewProps extends PageRun {
  readonly name: string;
  readonly hasDates: boolean;
}

export function RunView(props: RunViewProps): JSX.Element {
  const selection = useSelection(props);
  const state = useRunState(selection);
  const breaks = useCacheBreaks(selection.tree);
  return (
    <CacheBreaks.Provider value={breaks}>
      <TextWindows.Provider value={state.windows}>
        <main class={`run show-${state.tab}`}>
          <Boundary part="The header">
            <RunHeader
              {...props}
              facts={selection.tree.facts}
              rows={selection.rows}
              linkOf={selection.linkOf}
              openCall={(callId) => openCall(selection, callId)}
            />
          </Boundary>
          <Tools state={state} />
          {selection.isUnknown && (
            <p class="problem" role="alert">
              This run has no event “{showControls(props.selected)}”. <a href={selection.linkOf("")}>Show the whole run</a>
            </p>
          )}
          <Panes selection={selection} state={state} selected={props.selected} />
          {state.isHelpOpen && <KeyHelp close={() => state.setHelpOpen(false)} />}
        </main>
      </TextWindows.Provider>
    </CacheBreaks.Provider>
  );
}

function Tools({ state }: { readonly state: RunState }): JSX.Element {
  const { search, hits } = state;
  return (
    <nav class="tools" aria-label="Views and search">
      <Tabs state={state} />
      <SearchBox
        input={state.input}
        query={state.query}
        setQuery={state.setQuery}
        go={hits.go}
        hasHits={search.hits.length > 0}
        count={countHits(search, hits.current)}
      />
      <button type="button" class="help" aria-label="Show the keys" title="Keys (?)" onClick={() => state.setHelpOpen(true)}>
        ?
      </button>
    </nav>
  );
}

/** The page's tabs, shown only on narrow screens. */
function Tabs({ state: { tab, setTab } }: { readonly state: RunState }): JSX.Element {
  return (
    <div class="tabs">
      {(["timeline", "transcript"] as const).map((one) => (
        <button key={one} type="button" aria-pressed={tab === one} onClick={() => setTab(one)}>
          {one === "timeline" ? "Timeline" : "Transcript"}
        </button>
      ))}
    </div>
  );
}

interface PanesProps {
  readonly selection: Selection;
  readonly state: RunState;
  readonly selected: string;
}

function Panes({ selection, state, selected }: PanesProps): JSX.Element {
  const { search, openRequests, toggleRequest, windows } = state;
  const found = useMemo(() => new Set(search.hits.map(({ key }) => key)), [search.hits]);
  return (
    <div class="panes">
      <Timeline
        rows={selection.rows}
        shown={selection.shownRows}
        range={rangeOf(selection.tree)}
        selected={selected}
        found={found}
        isOpen={selection.isOpen}
        toggle={selection.toggle}
        select={(key) => {
          state.setTab("transcript");
          selection.select(key);
        }}
      />
      <Transcript
        entries={selection.shownEntries}
        selected={selection.entryKey}
        jump={selection.jump}
        pattern={search.pattern}
        windows={windows}
        isOpen={selection.isOpen}
        isRequestOpen={(key) => openRequests.has(key)}
        linkOf={selection.linkOf}
        actions={{ select: (key) => selection.select(key), toggle: selection.toggle, toggleRequest }}
      />
    </div>
  );
}

/** Returns the time from the start of a run to the last line about the run or its nested runs. */
function rangeOf({ run, facts, nested }: RunTree): Interval {
  const inner = [...nested.values()].flat().map((tree) => rangeOf(tree).to);
  return { from: run.startedAt, to: inner.reduce((most, to) => Math.max(most, to), run.endedAt ?? facts.lastAt) };
}

interface SearchBoxProps {
  readonly input: RefObject<HTMLInputElement | null>;
  readonly query: string;
  readonly count: string;
  readonly hasHits: boolean;
  setQuery(query: string): void;
  go(step: 1 | -1): void;
}

function SearchBox({ input, query, count, hasHits, setQuery, go }: SearchBoxProps): JSX.Element {
  return (
    <div class="search" role="search">
      <input
        ref={input}
        type="search"
        value={query}
        placeholder="Search"
        aria-label="Search all texts of the run"
        spellcheck={false}
        onInput={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") {
            setQuery("");
            event.currentTarget.blur();
          } else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <span class="count" role="status" aria-label="Hits">
        {count}
      </span>
      <button type="button" aria-label="Previous hit" title="Previous hit (N)" disabled={!hasHits} onClick={() => go(-1)}>
        ↑
      </button>
      <button type="button" aria-label="Next hit" title="Next hit (n)" disabled={!hasHits} onClick={() => go(1)}>
        ↓
      </button>
    </div>
  );
}
