import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { LoggedCall, LoggedIteration } from "../../shared/run-log.ts";
import { countThings, formatCount, formatMs, formatUSD, showControls } from "../format.ts";
import { summarizeCacheBreak } from "../analysis/describe-cache-break.ts";
import { describeWait, longWaitsOf } from "../analysis/waits.ts";
import { type Entry, titleOf } from "./model/entries.ts";
import { describeEnding, type Tone } from "./model/describe-ending.ts";
import { describeLine, outcomeOf } from "./model/describe-line.ts";
import { lookUp } from "./model/format-value.ts";
import { piecesOf } from "./model/pieces.ts";
import type { CallFacts, StreamFacts } from "./model/run-facts.ts";
import { CacheBreaks } from "./use-cache-breaks.ts";
import { RequestView } from "./request-view.tsx";
import { PieceView } from "./safe-text.tsx";

interface EntryState {
  readonly isSelected: boolean;
  readonly isRequestOpen: boolean;
  /** True if the entry's nested runs are unfolded. Undefined if there are none. */
  readonly isOpen?: boolean | undefined;
  readonly link: string;
}

export interface EntryActions {
  select(key: string): void;
  toggle(key: string): void;
  toggleRequest(key: string): void;
}

interface EntryProps {
  readonly entry: Entry;
  readonly state: EntryState;
  readonly actions: EntryActions;
}

export function EntryView({ entry, state, actions }: EntryProps): JSX.Element {
  const { key, content, depth } = entry;
  const title = titleOf(entry);
  return (
    <article
      class={`entry ${content.kind}${depth > 0 ? " inner" : ""}`}
      aria-label={showControls(title)}
      aria-current={state.isSelected ? "true" : undefined}
      style={{ marginLeft: `${Math.min(depth, 6) * 16}px` }}
    >
      <header class="entry-head">
        <h3 class={`tone-${toneOf(entry)}`} data-text={`${key} title`} dir="auto">
          {showControls(title)}
        </h3>
        <Marks entry={entry} />
        <a
          class="link"
          href={state.link}
          title="Link to this entry"
          onClick={(event) => {
            event.preventDefault();
            actions.select(key);
          }}
        >
          {content.kind === "stream" ? content.stream.label : "#"}
        </a>
      </header>
      {content.kind === "stream" && <RequestFold entry={entry} stream={content.stream} state={state} actions={actions} />}
      {piecesOf(entry).map((piece) => (
        <PieceView key={piece.id} piece={piece} entryKey={key} />
      ))}
      {content.kind === "call" && <NestedFold entry={entry} call={content.call} state={state} actions={actions} />}
    </article>
  );
}

function toneOf({ content, run }: Entry): Tone {
  if (content.kind === "note") return describeLine(content.line).tone;
  return content.kind === "end" ? describeEnding(run).tone : "plain";
}

function Mark({ tone, children }: { readonly tone: Tone; readonly children: string }): JSX.Element {
  return <span class={`mark tone-${tone}`}>{children}</span>;
}

function Marks({ entry: { key, content, run } }: { readonly entry: Entry }): JSX.Element | null {
  if (content.kind === "stream") return <StreamMarks stream={content.stream} entryKey={key} />;
  if (content.kind === "call")
    return <CallMarks call={content.call} facts={content.facts} stream={content.stream} entryKey={key} />;
  if (content.kind === "note") return <span class="facts">at {formatMs(content.line.at - run.startedAt)}</span>;
  return null;
}

interface StreamMarksProps {
  readonly stream: StreamFacts;
  readonly entryKey: string;
}

function StreamMarks({ stream, entryKey }: StreamMarksProps): JSX.Element {
  const { status, isReplayed, finish, model, request } = stream.iteration;
  const found = useContext(CacheBreaks).get(stream.iteration);
  return (
    <>
      {isReplayed && <Mark tone="plain">replayed</Mark>}
      {(status === "error" || status === "timeout") && <Mark tone="bad">{status}</Mark>}
      {finish !== undefined && finish !== "stop" && finish !== "tool-calls" && <Mark tone="warn">{showControls(finish)}</Mark>}
      {found !== undefined && <Mark tone="warn">{showControls(summarizeCacheBreak(found))}</Mark>}
      <span class="facts">
        {streamFigures(stream.iteration).join(" · ")}{" "}
        <span class="call-id" data-text={`${entryKey} model`}>
          {showControls(model ?? request?.model ?? "")}
        </span>
      </span>
    </>
  );
}

function streamFigures({ durationMs, firstToken, usage, costUSD }: LoggedIteration): readonly string[] {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens } = usage ?? {};
  const tokens = [
    `${formatCount(inputTokens)} in`,
    ...(cachedInputTokens === undefined ? [] : [`${formatCount(cachedInputTokens)} cached`]),
    `${formatCount(outputTokens)} out`,
  ];
  return [
    ...(durationMs === undefined ? [] : [`duration ${formatMs(durationMs)}`]),
    ...(firstToken === undefined ? [] : [`first token ${formatMs(firstToken.ms)}`]),
    ...(usage === undefined ? [] : tokens),
    ...(costUSD === undefined ? [] : [formatUSD(costUSD)]),
  ];
}

interface CallProps {
  readonly call: LoggedCall;
  readonly facts: CallFacts;
  readonly stream: StreamFacts;
  readonly entryKey: string;
}

function CallMarks({ call, facts, stream, entryKey }: CallProps): JSX.Element {
  const { text, tone } = outcomeOf(call, stream.iteration);
  // Shows only finished waits, because the outcome's text already mentions an open one.
  const waits = longWaitsOf(stream.iteration, call.callId)
    .filter(({ to }) => to !== undefined)
    .map(describeWait);
  const times = [...(call.durationMs === undefined ? [] : [`duration ${formatMs(call.durationMs)}`]), ...waits];
  return (
    <>
      <Mark tone={tone === "ok" ? "plain" : tone}>{showControls(text)}</Mark>
      {call.decision !== undefined && (
        <Mark tone={call.decision === "approve" ? "plain" : "warn"}>{decisionText(call.decision)}</Mark>
      )}
      {call.problem !== undefined && call.problem !== call.outcome && (
        <Mark tone="bad">{`${showControls(call.problem)} arguments`}</Mark>
      )}
      {facts.sent !== undefined && <Mark tone="warn">changed for the model</Mark>}
      {facts.clearedBy !== undefined && <Mark tone="warn">{`left out of requests from i${facts.clearedBy} on`}</Mark>}
      {facts.changes.map((line, index) => (
        <Mark key={index} tone={describeLine(line).tone}>
          {showControls(describeLine(line).title)}
        </Mark>
      ))}
      <span class="facts">
        {times.join(" · ")}{" "}
        <span class="call-id" data-text={`${entryKey} call-id`}>
          {showControls(call.callId)}
        </span>
      </span>
    </>
  );
}

const decisions: { readonly [decision: string]: string | undefined } = {
  approve: "approved",
  deny: "denied",
  modify: "approved with changes",
  failed: "no decision",
};

function decisionText(decision: string): string {
  return lookUp(decisions, decision) ?? showControls(decision);
}

interface FoldProps extends EntryProps {
  readonly stream: StreamFacts;
}

function RequestFold({ entry: { key, run }, stream, state, actions }: FoldProps): JSX.Element | null {
  const { request } = stream.iteration;
  if (request === undefined) return null;
  const { messageCount, added, replaced, tools } = request;
  const summary = [
    countThings(messageCount, "message"),
    `${formatCount(added.length)} new`,
    ...(replaced.length > 0 ? [`${formatCount(replaced.length)} replaced`] : []),
    countThings(tools.length, "tool"),
  ];
  return (
    <section class="request">
      <button type="button" class="fold" aria-expanded={state.isRequestOpen} onClick={() => actions.toggleRequest(key)}>
        Request <span class="facts">{summary.join(" · ")}</span>
      </button>
      {state.isRequestOpen && <RequestView iteration={stream.iteration} previous={stream.previous} run={run} />}
    </section>
  );
}

function NestedFold({ entry, call, state, actions }: EntryProps & { readonly call: LoggedCall }): JSX.Element | null {
  if (call.runs.length === 0) return null;
  const iterations = call.runs.reduce((sum, run) => sum + run.iterations.length, 0);
  return (
    <button type="button" class="fold" aria-expanded={state.isOpen === true} onClick={() => actions.toggle(entry.key)}>
      {countThings(call.runs.length, "nested run")} <span class="facts">{countThings(iterations, "iteration")}</span>
    </button>
  );
}
