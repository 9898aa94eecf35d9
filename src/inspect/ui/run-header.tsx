import type { ComponentChildren, JSX } from "preact";
import { useContext, useState } from "preact/hooks";
import type { LoggedRun } from "../../shared/run-log.ts";
import { activeMsOf, cacheShareOf, modelsOf, totalsOf } from "../analysis/run-totals.ts";
import { summarizeCacheBreak } from "../analysis/describe-cache-break.ts";
import { formatCount, formatLocalTime, formatMs, formatShare, formatUSD, showControls } from "../format.ts";
import { CacheBreaks } from "./use-cache-breaks.ts";
import { BudgetPlot } from "./budget-plot.tsx";
import { type Connection, describeEnding, type EndingText } from "./model/describe-ending.ts";
import { reasonData } from "./model/describe-line.ts";
import type { Row } from "./model/rows.ts";
import { summarizeTime } from "./model/time-axis.ts";
import type { RunFacts } from "./model/run-facts.ts";
import { JsonText, SafeText } from "./safe-text.tsx";

interface RunHeaderProps {
  readonly run: LoggedRun;
  readonly name: string;
  readonly connection: Connection;
  /** False for a run that was read from a journal, because its times begin at 0. */
  readonly hasDates: boolean;
  readonly facts: RunFacts;
  readonly rows: readonly Row[];
  linkOf(key: string): string;
  openCall(callId: string): void;
}

export function RunHeader({ run, name, connection, hasDates, facts, rows, linkOf, openCall }: RunHeaderProps): JSX.Element {
  const ending = describeEnding(run, connection);
  const [isOpen, setOpen] = useState(false);
  return (
    <header class="run-header">
      <div class={`ending tone-${ending.tone}`}>
        <h1>{showControls(name)}</h1>
        <p role="status">{ending.sentence}</p>
      </div>
      {ending.detail !== undefined && (
        <div class="ending-detail">
          <SafeText text={ending.detail} limit={400} />
        </div>
      )}
      <WaitingCalls ending={ending} openCall={openCall} />
      <dl class="figures">
        <Figures run={run} lastAt={facts.lastAt} />
      </dl>
      <CacheBreakLinks facts={facts} linkOf={linkOf} />
      <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Settings and budgets
      </button>
      {isOpen && <RunFactsView run={run} hasDates={hasDates} rows={rows} />}
    </header>
  );
}

function WaitingCalls({
  ending,
  openCall,
}: { readonly ending: EndingText } & Pick<RunHeaderProps, "openCall">): JSX.Element | null {
  if (ending.calls.length === 0) return null;
  return (
    <ul class="waiting" aria-label="Calls that wait">
      {ending.calls.map(({ id, callId, name, waitsFor }) => (
        <li key={id}>
          <button type="button" onClick={() => openCall(callId)}>
            {showControls(name)}
          </button>{" "}
          waits for {waitsFor === "approval" ? "a decision" : "its result"}, <code>{showControls(id)}</code>
        </li>
      ))}
    </ul>
  );
}

function Figure({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function costText({ costUSD, status }: LoggedRun, sum: number | undefined): string {
  if (sum === undefined) return "unknown";
  if (costUSD !== undefined) return formatUSD(sum);
  return status === undefined ? `${formatUSD(sum)} so far` : `at least ${formatUSD(sum)}`;
}

const maxBreaks = 12;

function CacheBreakLinks({ facts, linkOf }: Pick<RunHeaderProps, "facts" | "linkOf">): JSX.Element | null {
  const breaks = useContext(CacheBreaks);
  const broken = facts.streams.flatMap(({ key, label, iteration }) => {
    const found = breaks.get(iteration);
    return found === undefined ? [] : [{ key, label, found }];
  });
  if (broken.length === 0) return null;
  return (
    <p class="cache-breaks">
      Cache breaks:{" "}
      {broken.slice(0, maxBreaks).map(({ key, label, found }) => (
        <a key={key} href={linkOf(key)} title={showControls(summarizeCacheBreak(found))}>
          {label}
        </a>
      ))}
      {broken.length > maxBreaks && `and ${formatCount(broken.length - maxBreaks)} more`}
    </p>
  );
}

interface FiguresProps {
  readonly run: LoggedRun;
  readonly lastAt: number;
}

function Figures({ run, lastAt }: FiguresProps): JSX.Element {
  const { startedAt, endedAt = lastAt } = run;
  const totals = totalsOf(run);
  const share = cacheShareOf(totals);
  return (
    <>
      <Figure name="Active">{formatMs(activeMsOf(run))}</Figure>
      <Figure name="Wall clock">{formatMs(endedAt - startedAt)}</Figure>
      <Figure name="Tokens in">{formatCount(totals.inputTokens)}</Figure>
      <Figure name="Cached">
        {share === undefined ? "unknown" : `${formatShare(share)} (${formatCount(totals.cachedTokens ?? 0)})`}
      </Figure>
      <Figure name="Tokens out">{formatCount(totals.outputTokens)}</Figure>
      <Figure name="Cost">{costText(run, totals.costUSD)}</Figure>
      <Figure name="Iterations">{formatCount(totals.iterations)}</Figure>
      <Figure name="Calls">{formatCount(totals.calls)}</Figure>
      <Figure name="Model">
        {showControls(run.provider)} {showControls(modelsOf(run).join(", "))}
      </Figure>
    </>
  );
}

function RunFactsView({ run, hasDates, rows }: Pick<RunHeaderProps, "run" | "hasDates" | "rows">): JSX.Element {
  const { runId, version, limits, timeouts, middleware, session, starts, reason } = run;
  const facts: readonly (readonly [string, unknown])[] = [
    ["Run id", runId],
    ["Version", version],
    ["Started", hasDates ? starts.map(formatLocalTime).join("\n") : ""],
    ["Time, with nested runs", summarizeTime(rows).join("\n")],
    ["Limits", limits],
    ["Timeouts", timeouts],
    ["Middleware", middleware.join(", ")],
    ["Session", session],
    ["Reason", reasonData(reason)],
  ];
  return (
    <div class="run-facts">
      <BudgetPlot run={run} />
      <dl>
        {facts
          .filter(([, value]) => isFilled(value))
          .map(([name, value]) => (
            <Figure key={name} name={name}>
              <JsonText value={isPlainRecord(value) ? lineByLine(value) : value} limit={1000} />
            </Figure>
          ))}
      </dl>
    </div>
  );
}

function isFilled(value: unknown): boolean {
  return value !== undefined && value !== "" && !(isPlainRecord(value) && Object.keys(value).length === 0);
}

function isPlainRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function lineByLine(record: { readonly [key: string]: unknown }): string {
  return Object.entries(record)
    .map(
      ([key, value]) =>
        `${key}: ${typeof value === "number" ? formatCount(value) : typeof value === "string" ? value : JSON.stringify(value)}`,
    )
    .join("\n");
}
