// Shows a request as it was sent: system text, tools, messages and settings.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { countThings, formatCount } from "../format.ts";
import { jsonLength } from "../analysis/json-parts.ts";
import type { LoggedRequest } from "../log/run-log.ts";
import { LazyFold } from "./lazy-fold.tsx";
import { showControls } from "../show-controls.ts";
import { JsonText, SafeText } from "./safe-text.tsx";
import { type MessageContext, SentMessage } from "./sent-message.tsx";
import { ShowMore } from "./show-more.tsx";

interface SentRequestProps extends MessageContext {
  readonly request: LoggedRequest;
}

/** The number of messages that are shown at first, and that each click adds. */
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
