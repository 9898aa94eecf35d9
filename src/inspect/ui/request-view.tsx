import type { JSX } from "preact";
import { useContext, useMemo, useState } from "preact/hooks";
import { describeCacheBreak, isUnread } from "../analysis/describe-cache-break.ts";
import {
  describeDifference,
  diffRequests,
  type ChangedField,
  type RequestDifference,
  type ToolsDifference,
} from "../analysis/diff-requests.ts";
import type { CacheBreak } from "../analysis/find-cache-breaks.ts";
import { countThings, formatCount, showControls } from "../format.ts";
import { findMasking, maskedUpTo } from "../analysis/request-messages.ts";
import type { LoggedIteration, LoggedRun } from "../../shared/run-log.ts";
import { type MessageContext, SentRequest, SentMessage } from "./sent-request.tsx";
import "./request-view.css";
import type { Message } from "../../core/index.ts";
import type { MessageChange } from "../analysis/align-messages.ts";
import { diffTexts } from "../analysis/diff-texts.ts";
import { LazyFold, TextPieces } from "./shared-parts.tsx";
import { formatValue } from "./model/format-value.ts";
import { JsonText } from "./safe-text.tsx";
import { CacheBreaks } from "./use-cache-breaks.ts";

interface RequestChangesProps extends MessageContext {
  readonly difference: RequestDifference;
}

function RequestChanges({ difference, ...context }: RequestChangesProps): JSX.Element {
  const { fields, tools, system, messages } = difference;
  return (
    <>
      {fields.length > 0 && <h4>Settings</h4>}
      {fields.map((field) => (
        <FieldChange key={field.name} {...field} />
      ))}
      {tools !== undefined && <ToolChanges {...tools} />}
      {system !== undefined && (
        <>
          <h4>System text</h4>
          <TextPieces pieces={system} />
        </>
      )}
      <h4>Messages</h4>
      {messages.map((change) => (
        <ChangedMessages key={`${change.index} ${change.nextIndex}`} change={change} {...context} />
      ))}
    </>
  );
}

const toText = (value: unknown): string => (value === undefined ? "not set" : formatValue(value));

function FieldChange({ name, before, after }: ChangedField): JSX.Element {
  return (
    <>
      <p class="part-title">{showControls(name.replace("settings.", ""))}</p>
      <TextPieces pieces={diffTexts(toText(before), toText(after), "words")} />
    </>
  );
}

function ToolChanges({ added, removed, changed, isReordered, order }: ToolsDifference): JSX.Element {
  return (
    <>
      <h4>Tools</h4>
      {added.map((tool) => (
        <div key={tool.name} class="change added">
          <LazyFold title={`Added ${showControls(tool.name)}`}>{() => <JsonText value={tool} />}</LazyFold>
        </div>
      ))}
      {removed.map((tool) => (
        <div key={tool.name} class="change removed">
          <LazyFold title={`Removed ${showControls(tool.name)}`}>{() => <JsonText value={tool} />}</LazyFold>
        </div>
      ))}
      {changed.map(({ name, before, after, isKeyOrder }) => (
        <div key={name} class="change replaced">
          <LazyFold title={`${isKeyOrder ? "Different order of keys in" : "Changed"} ${showControls(name)}`}>
            {() => <TextPieces pieces={diffTexts(toText(before), toText(after))} />}
          </LazyFold>
        </div>
      ))}
      {isReordered && <p class="part-title">New order: {showControls(order.join(", "))}</p>}
    </>
  );
}

const titles: { readonly [Kind in MessageChange["kind"]]: string } = {
  kept: "the same",
  added: "added",
  removed: "removed",
  masked: "masked",
  compacted: "compacted",
  edited: "edited",
  "keys-reordered": "with a different order of keys",
};

function ChangedMessages({ change, ...context }: MessageContext & { readonly change: MessageChange }): JSX.Element {
  if (change.kind === "kept") {
    const [from, to] = [change.nextIndex, change.nextIndex + change.count - 1];
    return (
      <p class="kept">
        {from === to ? `${from}: the same` : `${from} to ${to}: ${formatCount(change.count)} messages, the same`}
      </p>
    );
  }
  const before = "before" in change ? change.before : [];
  const after = "after" in change ? change.after : [];
  const isPair = before.length === 1 && after.length === 1 && change.kind !== "compacted";
  return (
    <>
      <p class="part-title">{titles[change.kind]}</p>
      {change.kind !== "masked" && isPair ? (
        <div class="change replaced">
          <TextPieces pieces={diffTexts(toText(before[0]), toText(after[0]))} />
        </div>
      ) : (
        <>
          {change.kind !== "masked" && <MessageGroup side="removed" messages={before} from={change.index} {...context} />}
          <MessageGroup
            side={change.kind === "masked" ? "replaced" : "added"}
            messages={after}
            from={change.nextIndex}
            {...context}
          />
        </>
      )}
    </>
  );
}

interface MessageGroupProps extends MessageContext {
  readonly side: "added" | "removed" | "replaced";
  readonly messages: readonly Message[];
  readonly from: number;
}

function MessageGroup({ side, messages, from, ...context }: MessageGroupProps): JSX.Element {
  return (
    <div class={`change ${side}`}>
      {messages.map((message, at) => (
        <SentMessage key={at} message={message} index={from + at} {...context} />
      ))}
    </div>
  );
}

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
  const found = useContext(CacheBreaks).get(iteration);
  const masking = useMemo(() => findMasking(run), [run, run.lines.length]);
  const context: MessageContext = { run, masked: maskedUpTo(masking, iteration.iteration) };
  const difference = useMemo(
    () => before && request && diffRequests(before, request, maskedUpTo(masking, iteration.iteration)),
    [before, request, masking, iteration.iteration],
  );
  if (request === undefined) return <p class="request-view">No request was sent for this iteration.</p>;
  const kind = previous === undefined ? "The first request" : "The request before this one is not in the log";
  const size = `${countThings(request.messageCount, "message")}, ${countThings(request.tools.length, "tool")}`;
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
