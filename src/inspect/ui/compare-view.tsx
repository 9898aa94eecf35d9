import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type ComparedIteration, type ComparedTotals, compareRuns } from "../analysis/compare-runs.ts";
import { formatCount, formatMs, formatUSD, joinTexts, showControls } from "../format.ts";
import type { LoggedRun } from "../log/run-log.ts";
import { ComparedContent, type IterationLinks } from "./compared-content.tsx";
import { LazyFold, ShowMore } from "./shared-parts.tsx";
import { readRunFacts } from "./model/run-facts.ts";
import "./compare-view.css";

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
    requestParts.length === 0 ? "same request" : `other ${joinTexts(requestParts.map((part) => partNames[part]))} in the request`;
  const counted = (["changed", "added", "removed"] as const).flatMap((kind) => {
    const count = calls.filter((call) => call.kind === kind).length;
    return count === 0 ? [] : [`${formatCount(count)} ${count === 1 ? "call" : "calls"} ${kind}`];
  });
  return [request, isOutputSame ? "same output" : "other output", ...counted].join(", ");
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
