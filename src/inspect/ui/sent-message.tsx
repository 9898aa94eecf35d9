// Shows one message of a request.

import { Fragment, type JSX } from "preact";
import { useState } from "preact/hooks";
import type { Message, ToolResultPart } from "../../core/entry-kit.ts";
import { formatCount } from "../format.ts";
import { jsonLength } from "../analysis/json-parts.ts";
import { findOriginal } from "../analysis/masked-calls.ts";
import type { MaskedCalls } from "../analysis/align-messages.ts";
import type { LoggedRun } from "../log/run-log.ts";
import { showControls } from "../show-controls.ts";
import { LazyFold } from "./lazy-fold.tsx";
import { piecesOfMessage } from "./model/pieces.ts";
import { PieceView } from "./piece-view.tsx";

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

function MessageContent({ message, run, masked }: MessageContext & { readonly message: Message }): JSX.Element {
  if (message.role !== "tool") return <Pieces message={message} />;
  return (
    <>
      {message.results.map((part) => (
        <Fragment key={part.callId}>
          <Pieces message={{ role: "tool", results: [part] }} />
          {masked.has(part.callId) && <Original callId={part.callId} run={run} />}
        </Fragment>
      ))}
    </>
  );
}

function Pieces({ message }: { readonly message: Message }): JSX.Element {
  return (
    <>
      {piecesOfMessage(message).map((piece) => (
        <PieceView key={piece.id} piece={piece} />
      ))}
    </>
  );
}

/** The result of a masked call as the model got it at first. */
function Original({ callId, run }: Pick<MessageContext, "run"> & { readonly callId: string }): JSX.Element {
  const [original, setOriginal] = useState<ToolResultPart | undefined>(undefined);
  if (original !== undefined)
    return <PieceView piece={{ id: "", label: "The original, from an earlier request", value: original.result, form: "data" }} />;
  return (
    <button type="button" class="more" onClick={() => setOriginal(findOriginal(run, callId))}>
      Show the original
    </button>
  );
}
