// Shows one message of a request.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { Message, ToolResultPart, UserPart } from "../../core/entry-kit.ts";
import { formatCount } from "../format.ts";
import { jsonLength } from "../analysis/json-parts.ts";
import { findOriginal } from "../analysis/masked-calls.ts";
import type { MaskedCalls } from "../analysis/align-messages.ts";
import type { LoggedRun } from "../log/run-log.ts";
import { showControls } from "../page/show-controls.ts";
import { JsonText, SafeText } from "./safe-text.tsx";
import { LazyFold } from "./lazy-fold.tsx";

export interface MessageContext {
  readonly run: LoggedRun;
  readonly masked: MaskedCalls;
}

interface SentMessageProps extends MessageContext {
  readonly message: Message;
  readonly index: number;
  readonly isOpen?: boolean;
}

const previewLength = 90;

/** A message whose content is shown when it is opened. */
export function SentMessage({ message, index, isOpen = false, ...context }: SentMessageProps): JSX.Element {
  const isMasked = message.role === "tool" && message.results.some(({ callId }) => context.masked.has(callId));
  const title = (
    <>
      <span class="role">
        {index} {message.role}
      </span>
      {isMasked && <span class="badge">masked</span>}
      <span class="preview">{showControls(previewOf(message).slice(0, previewLength))}</span>
      <span class="size">{formatCount(jsonLength(message))}</span>
    </>
  );
  return (
    <LazyFold title={title} isOpen={isOpen}>
      {() => <MessageContent message={message} {...context} />}
    </LazyFold>
  );
}

/** Returns a short text about the content of a message. */
function previewOf(message: Message): string {
  if (message.role === "tool") return message.results.map(({ name, outcome }) => `${name}: ${outcome}`).join(", ");
  const { content } = message;
  if (typeof content === "string") return content;
  const [first] = content;
  if (first === undefined) return "";
  if (first.type === "tool-call") return content.map((part) => ("name" in part ? part.name : part.type)).join(", ");
  return "text" in first ? first.text : first.type;
}

function MessageContent({ message, ...context }: MessageContext & { readonly message: Message }): JSX.Element {
  if (message.role === "tool") {
    return (
      <>
        {message.results.map((part) => (
          <SentResult key={part.callId} part={part} {...context} />
        ))}
      </>
    );
  }
  if (typeof message.content === "string") return <SafeText text={message.content} />;
  const parts: readonly ComponentChildren[] = message.content.map((part) =>
    part.type === "tool-call" ? (
      <>
        <p class="part-title">
          Call {showControls(part.name)} <code>{showControls(part.callId)}</code>
        </p>
        <JsonText value={part.args} />
      </>
    ) : (
      <ContentPart part={part} />
    ),
  );
  return <>{parts}</>;
}

function ContentPart({ part }: { readonly part: UserPart | { readonly type: "reasoning"; readonly text: string } }): JSX.Element {
  if (part.type === "text") return <SafeText text={part.text} />;
  return (
    <>
      <p class="part-title">{part.type === "reasoning" ? "Reasoning" : `${part.type}, ${showControls(part.mediaType)}`}</p>
      <SafeText text={part.type === "reasoning" ? part.text : String(part.data)} limit={500} />
    </>
  );
}

function SentResult({ part, run, masked }: MessageContext & { readonly part: ToolResultPart }): JSX.Element {
  const [original, setOriginal] = useState<ToolResultPart | undefined>(undefined);
  const isMasked = masked.has(part.callId);
  return (
    <>
      <p class="part-title">
        Result of {showControls(part.name)} <code>{showControls(part.callId)}</code> {part.outcome}
        {isMasked && <span class="badge">masked</span>}
        {isMasked && original === undefined && (
          <button type="button" onClick={() => setOriginal(findOriginal(run, part.callId))}>
            Show the original
          </button>
        )}
      </p>
      <JsonText value={part.result} />
      {part.content !== undefined && <JsonText value={part.content} />}
      {original !== undefined && (
        <>
          <p class="part-title">The original, from an earlier request</p>
          <JsonText value={original.result} />
        </>
      )}
    </>
  );
}
