import type { JSX } from "preact";
import type { Usage } from "../../core/entry-kit.ts";
import type { ComparedCall, ComparedIteration } from "../analysis/compare-runs.ts";
import { diffTexts } from "../analysis/diff-texts.ts";
import { formatCount, formatMs, formatUSD, showControls } from "../format.ts";
import type { LoggedCall, LoggedIteration } from "../log/run-log.ts";
import { LazyFold, TextPieces } from "./shared-parts.tsx";
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

export function ComparedContent({ compared, names, links }: ComparedContentProps): JSX.Element {
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

/** Shows the old text on the left and the new text on the right, and marks the words that only one of the texts has. */
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
