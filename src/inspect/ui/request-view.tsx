import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { describeCacheBreak, isUnread } from "../analysis/describe-cache-break.ts";
import { describeDifference, diffRequests } from "../analysis/diff-requests.ts";
import { type CacheBreak, findCacheBreaks } from "../analysis/find-cache-breaks.ts";
import { countThings, formatCount, showControls } from "../format.ts";
import { findMasking, maskedUpTo } from "../analysis/request-messages.ts";
import type { LoggedIteration, LoggedRun } from "../log/run-log.ts";
import { RequestChanges } from "./request-changes.tsx";
import { type MessageContext, SentRequest } from "./sent-request.tsx";
import "./request-view.css";

interface RequestViewProps {
  readonly iteration: LoggedIteration;
  /** The newest earlier iteration that sent a request. Undefined if there is no earlier request. */
  readonly previous: LoggedIteration | undefined;
  readonly run: LoggedRun;
}

export function RequestView({ iteration, previous, run }: RequestViewProps): JSX.Element {
  const { request } = iteration;
  const before = previous?.request;
  const [isSentShown, setSentShown] = useState(before === undefined);
  const { breaks, masking } = requestFactsOf(run);
  const context: MessageContext = { run, masked: maskedUpTo(masking, iteration.iteration) };
  const difference = useMemo(
    () => before && request && diffRequests(before, request, maskedUpTo(masking, iteration.iteration)),
    [before, request, masking, iteration.iteration],
  );
  if (request === undefined) return <p class="request-view">No request was sent for this iteration.</p>;
  const kind = previous === undefined ? "The first request" : "The request before this one is not in the log";
  const size = `${countThings(request.messageCount, "message")}, ${countThings(request.tools.length, "tool")}`;
  const found = breaks.get(iteration);
  return (
    <section class="request-view" aria-label={`Request of iteration ${iteration.iteration}`}>
      <div class="request-line">
        <span>{difference === undefined ? `${kind}: ${size}` : showControls(describeDifference(difference, found))}</span>
        {difference !== undefined && (
          <span class="view-switch" role="group" aria-label="View of the request">
            <button type="button" aria-pressed={!isSentShown} onClick={() => setSentShown(false)}>
              Difference
            </button>
            <button type="button" aria-pressed={isSentShown} onClick={() => setSentShown(true)}>
              As sent
            </button>
          </span>
        )}
      </div>
      {found !== undefined && (
        <p class="cache-break">
          {showControls(describeCacheBreak(found))} {describeTokens(found)}
        </p>
      )}
      {difference === undefined || isSentShown ? (
        <SentRequest request={request} {...context} />
      ) : (
        <RequestChanges difference={difference} {...context} />
      )}
    </section>
  );
}

function describeTokens(found: CacheBreak): string {
  const { cachedTokens, possibleTokens } = found;
  if (cachedTokens === undefined || isUnread(found)) return "";
  const read = `The service read ${formatCount(cachedTokens)} tokens from its cache`;
  return possibleTokens === undefined ? `${read}.` : `${read}; the kept prefix has about ${formatCount(possibleTokens)}.`;
}

interface RequestFacts {
  /**
   * The number of lines that the run had when these facts were found. If a live run has more lines, the facts are found again.
   */
  readonly lines: number;
  readonly breaks: ReadonlyMap<LoggedIteration, CacheBreak>;
  readonly masking: ReadonlyMap<string, number>;
}

const known = new WeakMap<LoggedRun, RequestFacts>();

function requestFactsOf(run: LoggedRun): RequestFacts {
  const last = known.get(run);
  if (last?.lines === run.lines.length) return last;
  const breaks = new Map<LoggedIteration, CacheBreak>();
  for (const found of findCacheBreaks(run)) {
    const iteration = run.iterations[found.index];
    if (iteration !== undefined) breaks.set(iteration, found);
  }
  const facts: RequestFacts = { lines: run.lines.length, breaks, masking: findMasking(run) };
  known.set(run, facts);
  return facts;
}
