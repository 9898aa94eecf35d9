import { Fragment, type JSX } from "preact";
import { useState } from "preact/hooks";
import type { Message, ToolResultPart } from "../../core/index.ts";
import { countThings, formatCount, showControls } from "../format.ts";
import { jsonLength } from "../analysis/json-parts.ts";
import type { LoggedRequest, LoggedRun } from "../../shared/run-log.ts";
import { findOriginal, type MaskedCalls } from "../analysis/request-messages.ts";
import { LazyFold, ShowMore } from "./shared-parts.tsx";
import { JsonText, PieceView, SafeText } from "./safe-text.tsx";
import { piecesOfMessage } from "./model/pieces.ts";

interface SentRequestProps extends MessageContext {
  readonly request: LoggedRequest;
}

const shownMessages = 50;

export function SentRequest({ request, ...context }: SentRequestProps): JSX.Element {
  const [shown, setShown] = useState(shownMessages);
  const messages = request.messages();
  const hidden = Math.max(0, messages.length - shown);
  const { system, tools, toolChoice, settings, provider, model } = request;
  return (
    <>
      <div class="request-line">
        <span>
          {showControls(provider)} {showControls(model)}
        </span>
        <CopyButton request={request} />
      </div>
      {system !== undefined && (
        <LazyFold title={`System text, ${formatCount(system.length)} characters`}>{() => <SafeText text={system} />}</LazyFold>
      )}
      {(toolChoice !== undefined || settings !== undefined) && (
        <LazyFold title="Settings">{() => <JsonText value={{ toolChoice, ...settings }} />}</LazyFold>
      )}
      <h4>{countThings(tools.length, "tool")}</h4>
      {tools.map((tool) => (
        <LazyFold key={tool.name} title={<ToolTitle name={tool.name} description={tool.description} size={jsonLength(tool)} />}>
          {() => (
            <>
              <SafeText text={tool.description} />
              <JsonText value={tool.inputSchema} />
            </>
          )}
        </LazyFold>
      ))}
      <h4>{countThings(messages.length, "message")}</h4>
      <ShowMore left={hidden} step={shownMessages} things="earlier messages" show={() => setShown(shown + shownMessages)} />
      {messages.slice(hidden).map((message, at) => (
        <SentMessage key={hidden + at} message={message} index={hidden + at} {...context} />
      ))}
    </>
  );
}

interface ToolTitleProps {
  readonly name: string;
  readonly description: string;
  readonly size: number;
}

function ToolTitle({ name, description, size }: ToolTitleProps): JSX.Element {
  return (
    <>
      <span class="role">{showControls(name)}</span>
      <span class="preview">{showControls(description.slice(0, 120))}</span>
      <span class="size">{formatCount(size)}</span>
    </>
  );
}

function CopyButton({ request }: { readonly request: LoggedRequest }): JSX.Element {
  const [label, setLabel] = useState("Copy as JSON");
  const copy = async (): Promise<void> => {
    const { provider, model, system, tools, toolChoice, settings } = request;
    const sent = { provider, model, system, tools, toolChoice, settings, messages: request.messages() };
    try {
      await navigator.clipboard.writeText(JSON.stringify(sent, undefined, 2));
      setLabel("Copied");
    } catch {
      setLabel("The browser does not allow it");
    }
  };
  return (
    <button type="button" onClick={() => void copy()}>
      {label}
    </button>
  );
}

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

/** Offers to show the original result of a masked call, as the model first read it. */
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
