import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type ComparedIteration, type ComparedTotals, compareRuns, type ComparedCall } from "../analysis/compare-runs.ts";
import { formatCount, formatMs, formatUSD, joinTexts, showControls } from "../format.ts";
import type { LoggedRun, LoggedCall, LoggedIteration } from "../../shared/run-log.ts";
import { LazyFold, ShowMore, TextPieces } from "./shared-parts.tsx";
import { readRunFacts } from "./model/run-facts.ts";
import "./compare-view.css";
import type { Usage } from "../../core/index.ts";
import { diffTexts } from "../analysis/diff-texts.ts";
import { formatValue } from "./model/format-value.ts";
import { JsonText, SafeText } from "./safe-text.tsx";

export type IterationLinks = ReadonlyMap<LoggedIteration, string>;

interface ComparedContentProps {
  readonly compared: ComparedIteration;
  readonly names: readonly [string, string];
  readonly links: IterationLinks;
}

const texts = [
  ["Text", "text"],
  ["Reasoning", "reasoning"],
  ["Details", "details"],
] as const;

function ComparedContent({ compared, names, links }: ComparedContentProps): JSX.Element {
  const { left, right, requestParts, calls } = compared;
  return (
    <>
      <div class="columns">
        <IterationFacts name={names[0]} iteration={left} links={links} />
        <IterationFacts name={names[1]} iteration={right} links={links} />
      </div>
      {requestParts.includes("system") && (
        <ComparedText title="System text" before={left?.request?.system ?? ""} after={right?.request?.system ?? ""} />
      )}
      {texts.map(([title, field]) => (
        <ComparedText key={field} title={title} before={left?.output?.[field] ?? ""} after={right?.output?.[field] ?? ""} />
      ))}
      {calls.length > 0 && <h4>Calls</h4>}
      {calls.map((call, at) => (
        <CallComparison key={at} call={call} />
      ))}
    </>
  );
}

interface IterationFactsProps {
  readonly name: string;
  readonly iteration: LoggedIteration | undefined;
  readonly links: IterationLinks;
}

function IterationFacts({ name, iteration, links }: IterationFactsProps): JSX.Element {
  const { usage, costUSD, durationMs, status, model, request } = iteration ?? {};
  const facts = [
    iteration === undefined ? "no such iteration" : (status ?? "not ended"),
    showControls(model ?? request?.model ?? ""),
    usage === undefined ? "" : describeUsage(usage),
    costUSD === undefined ? "" : formatUSD(costUSD),
    durationMs === undefined ? "" : formatMs(durationMs),
  ];
  return (
    <div>
      <p class="column-name">
        {name} {iteration !== undefined && <IterationLink iteration={iteration} links={links} />}
      </p>
      <p class="column-name">{facts.filter((fact) => fact !== "").join(", ")}</p>
    </div>
  );
}

interface IterationLinkProps {
  readonly iteration: LoggedIteration;
  readonly links: IterationLinks;
}

function IterationLink({ iteration, links }: IterationLinkProps): JSX.Element | null {
  const href = links.get(iteration);
  return href === undefined ? null : <a href={href}>i{iteration.iteration}</a>;
}

function describeUsage({ inputTokens, cachedInputTokens, outputTokens }: Usage): string {
  const cached = cachedInputTokens === undefined ? "" : ` (${formatCount(cachedInputTokens)} cached)`;
  return `${formatCount(inputTokens)} input${cached} and ${formatCount(outputTokens)} output tokens`;
}

interface ComparedTextProps {
  readonly title: string;
  readonly before: string;
  readonly after: string;
}

/** Shows the old text on the left and the new text on the right, and marks the words that are in only one of them. */
function ComparedText({ title, before, after }: ComparedTextProps): JSX.Element | null {
  if (before === after)
    return before === "" ? null : <LazyFold title={`${title}: the same`}>{() => <SafeText text={before} />}</LazyFold>;
  const pieces = diffTexts(before, after, "words");
  return (
    <>
      <h4>{title}</h4>
      <div class="columns">
        <TextPieces pieces={pieces.filter(({ kind }) => kind !== "added")} />
        <TextPieces pieces={pieces.filter(({ kind }) => kind !== "removed")} />
      </div>
    </>
  );
}

function CallComparison({ call: { kind, left, right } }: { readonly call: ComparedCall }): JSX.Element {
  const { name, args } = left ?? right ?? { name: "", args: undefined };
  const title = (
    <>
      <span class={kind}>{kind}</span> {showControls(name)} <code>{showControls(JSON.stringify(args ?? {}).slice(0, 120))}</code>
    </>
  );
  return (
    <LazyFold title={title} isOpen={kind === "changed"}>
      {() => (
        <>
          <JsonText value={args ?? {}} />
          {kind === "changed" ? (
            <ComparedText title="Result" before={resultText(left)} after={resultText(right)} />
          ) : (
            <SafeText text={resultText(left ?? right)} />
          )}
        </>
      )}
    </LazyFold>
  );
}

function resultText(call: LoggedCall | undefined): string {
  const { outcome = "no end", result } = call ?? {};
  return `${outcome}: ${formatValue(result ?? null)}`;
}

interface CompareViewProps {
  readonly left: LoggedRun;
  readonly right: LoggedRun;
  readonly names: readonly [string, string];
  /** Returns the link to an event of `run`, which is one of the two runs. */
  linkOf(run: LoggedRun, key: string): string;
}

/** One iteration that differs, or several successive iterations that are the same. */
type Group =
  | { readonly kind: "different"; readonly compared: ComparedIteration }
  | { readonly kind: "same"; readonly all: [ComparedIteration, ...ComparedIteration[]] };

const shownGroups = 200;

export function CompareView({ left, right, names, linkOf }: CompareViewProps): JSX.Element {
  const { lines: ours } = left;
  const { lines: theirs } = right;
  const comparison = useMemo(() => compareRuns(left, right), [left, right, ours.length, theirs.length]);
  const links = useMemo(() => linkIterations([left, right], linkOf), [comparison]);
  const groups = useMemo(() => groupIterations(comparison.iterations), [comparison]);
  const [shown, setShown] = useState(shownGroups);
  const { iterations, firstDifference } = comparison;
  const first = firstDifference === undefined ? undefined : iterations[firstDifference];
  const safeNames: readonly [string, string] = [showControls(names[0]), showControls(names[1])];
  return (
    <section class="compare-view" aria-label="Comparison of two runs">
      <div class="scroll">
        <Totals left={comparison.left} right={comparison.right} names={safeNames} endings={[endingOf(left), endingOf(right)]} />
      </div>
      {comparison.from > 0 && <p class="same">{describeRepeated(comparison.from)}</p>}
      <p class="verdict">
        {first === undefined
          ? `All ${formatCount(iterations.length)} iterations are the same.`
          : `The runs first differ at iteration ${first.iteration}.`}
      </p>
      {groups.slice(0, shown).map((group) =>
        group.kind === "same" ? (
          <p key={group.all[0].iteration} class="same">
            {describeSame(group.all)}
          </p>
        ) : (
          <DifferentIteration
            key={keyOfGroup(group.compared)}
            compared={group.compared}
            names={safeNames}
            links={links}
            isOpen={group.compared === first}
          />
        ),
      )}
      <ShowMore
        left={groups.length - shown}
        step={shownGroups}
        things="more parts of the comparison"
        show={() => setShown(shown + shownGroups)}
      />
    </section>
  );
}

function linkIterations(runs: readonly LoggedRun[], linkOf: CompareViewProps["linkOf"]): IterationLinks {
  return new Map(runs.flatMap((run) => readRunFacts(run).streams.map(({ iteration, key }) => [iteration, linkOf(run, key)])));
}

/** Returns the status and the reason, as in "completed, answered". */
function endingOf({ status, reason, error }: LoggedRun): string {
  if (error !== undefined) return `rejected, ${error.code ?? error.name}`;
  return status === undefined ? "not ended" : [status, ...(reason === undefined ? [] : [reason.kind])].join(", ");
}

function describeRepeated(from: number): string {
  const iterations = from === 1 ? "iteration 0" : `iterations 0 to ${from - 1}`;
  return `The totals leave out ${iterations}, which a run has repeated from a log or a journal.`;
}

const keyOfGroup = ({ iteration, continuation }: ComparedIteration): string => `${iteration} ${continuation}`;

function groupIterations(iterations: readonly ComparedIteration[]): readonly Group[] {
  const groups: Group[] = [];
  for (const compared of iterations) {
    const last = groups.at(-1);
    if (!compared.isSame) groups.push({ kind: "different", compared });
    else if (last?.kind === "same") last.all.push(compared);
    else groups.push({ kind: "same", all: [compared] });
  }
  return groups;
}

function describeSame(all: readonly [ComparedIteration, ...ComparedIteration[]]): string {
  const [first] = all;
  const last = all.at(-1) ?? first;
  if (all.length === 1) return `Iteration ${first.iteration} is the same.`;
  return `Iterations ${first.iteration} to ${last.iteration} are the same.`;
}

interface DifferentIterationProps {
  readonly compared: ComparedIteration;
  readonly names: readonly [string, string];
  readonly links: IterationLinks;
  readonly isOpen: boolean;
}

function DifferentIteration({ compared, names, links, isOpen }: DifferentIterationProps): JSX.Element {
  const title = (
    <>
      Iteration {compared.iteration}
      {compared.continuation > 0 && `, continuation ${compared.continuation}`}{" "}
      <span class="differs">{describeDifferent(compared, names)}</span>
    </>
  );
  return (
    <LazyFold title={title} isOpen={isOpen}>
      {() => <ComparedContent compared={compared} names={names} links={links} />}
    </LazyFold>
  );
}

const partNames = {
  provider: "provider",
  model: "model",
  tools: "tools",
  system: "system text",
  messages: "messages",
  toolChoice: "tool choice",
  settings: "settings",
} as const;

/** Returns the parts that differ, as in "other model and messages in the request, other output, 1 call changed". */
function describeDifferent(compared: ComparedIteration, names: readonly [string, string]): string {
  const { left, right, requestParts, isOutputSame, calls } = compared;
  if (left === undefined || right === undefined) return `only in ${left === undefined ? names[1] : names[0]}`;
  const request =
    requestParts.length === 0
      ? "same request"
      : `different ${joinTexts(requestParts.map((part) => partNames[part]))} in the request`;
  const counted = (["changed", "added", "removed"] as const).flatMap((kind) => {
    const count = calls.filter((call) => call.kind === kind).length;
    return count === 0 ? [] : [`${formatCount(count)} ${count === 1 ? "call" : "calls"} ${kind}`];
  });
  return [request, isOutputSame ? "same output" : "different output", ...counted].join(", ");
}

interface TotalsProps {
  readonly left: ComparedTotals;
  readonly right: ComparedTotals;
  readonly names: readonly [string, string];
  readonly endings: readonly [string, string];
}

const totalRows: readonly (readonly [title: string, name: keyof ComparedTotals, format: (value: number) => string])[] = [
  ["Iterations", "iterations", formatCount],
  ["Calls", "calls", formatCount],
  ["Nested runs", "nestedRuns", formatCount],
  ["Input tokens", "inputTokens", formatCount],
  ["Cached input tokens", "cachedTokens", formatCount],
  ["Output tokens", "outputTokens", formatCount],
  ["Cost", "costUSD", formatUSD],
  ["Active time", "activeMs", formatMs],
];

function Totals({ left, right, names, endings }: TotalsProps): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          <td />
          <th scope="col">{names[0]}</th>
          <th scope="col">{names[1]}</th>
          <th scope="col">Difference</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">Status</th>
          <td>{showControls(endings[0])}</td>
          <td>{showControls(endings[1])}</td>
          <td>{endings[0] === endings[1] ? "none" : ""}</td>
        </tr>
        {totalRows.map(([title, name, format]) => (
          <tr key={name}>
            <th scope="row">{title}</th>
            <td class="number">{formatKnown(left[name], format)}</td>
            <td class="number">{formatKnown(right[name], format)}</td>
            <td class="number">{formatChange(left[name], right[name], format)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function formatKnown(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? "unknown" : format(value);
}

function formatChange(left: number | undefined, right: number | undefined, format: (value: number) => string): string {
  if (left === undefined || right === undefined) return "";
  return left === right ? "none" : `${right > left ? "+" : "−"}${format(Math.abs(right - left))}`;
}
