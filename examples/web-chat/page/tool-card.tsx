// Shows a tool call as a card: its state, its arguments and its result. If the call waits for a decision, the card has buttons.

import { getToolName } from "ai";
import { type JSX, useState } from "react";
import { readRuns } from "./read-runs.ts";
import { type PageMessage, readNumber, type RunChat } from "./use-run-chat.ts";

export type ToolPart = Extract<PageMessage["parts"][number], { toolCallId: string }>;

interface CardProps {
  readonly part: ToolPart;
  readonly chat: RunChat;
}

const states: { readonly [State in ToolPart["state"]]: string } = {
  "input-streaming": "Being written",
  "input-available": "Running",
  "approval-requested": "Waits for you",
  "approval-responded": "Decided",
  "output-available": "Done",
  "output-error": "Failed",
  "output-denied": "Denied",
};

export function ToolCard({ part, chat }: CardProps): JSX.Element {
  const isRunning = part.state === "output-available" && part.preliminary === true;
  const name = getToolName(part);
  return (
    <section className={`card ${isRunning ? "running" : part.state}`} aria-label={`Tool ${name}`}>
      <h3>
        <code>{name}</code>
        <span className="state">{isRunning ? "Running" : states[part.state]}</span>
      </h3>
      {part.input !== undefined && <pre>{toText(part.input)}</pre>}
      {part.state === "output-available" && <Output output={part.output} isRunning={isRunning} />}
      {part.state === "output-error" && <p className="failure">{part.errorText}</p>}
      {part.state === "approval-requested" && <Decision chat={chat} approvalId={part.approval.id} input={part.input} />}
    </section>
  );
}

function Output({ output, isRunning }: { readonly output: unknown; readonly isRunning: boolean }): JSX.Element {
  const runs = readRuns(output);
  const percent = readNumber(output, "percent");
  if (runs.length > 0)
    return (
      <ul className="runs" aria-label="Sub-agent">
        {runs.map(({ text, calls, status }, index) => (
          <li key={index}>
            <p>{text}</p>
            {calls.map(({ callId, name, state }) => (
              <p key={callId} className="inner">
                <code>{name}</code> <span className="state">{state}</span>
              </p>
            ))}
            <p className="ending">Sub-agent: {status}</p>
          </li>
        ))}
      </ul>
    );
  if (isRunning && percent !== undefined) return <progress aria-label="Progress" max={100} value={percent} />;
  return <pre className="output">{toText(output)}</pre>;
}

interface DecisionProps {
  readonly chat: RunChat;
  readonly approvalId: string;
  readonly input: unknown;
}

function Decision({ chat, approvalId, input }: DecisionProps): JSX.Element {
  const [draft, setDraft] = useState<string | undefined>();
  if (draft === undefined)
    return (
      <p className="decision">
        <button type="button" className="primary" onClick={() => void chat.approve(approvalId)}>
          Approve
        </button>
        <button type="button" onClick={() => setDraft(toText(input))}>
          Edit
        </button>
        <button type="button" onClick={() => void chat.deny(approvalId)}>
          Deny
        </button>
      </p>
    );
  const args = parse(draft);
  const field = `edit-${approvalId}`;
  return (
    <form className="decision" onSubmit={(event) => (event.preventDefault(), void chat.edit(approvalId, args))}>
      <label htmlFor={field}>Arguments as JSON</label>
      <textarea id={field} rows={3} value={draft} onChange={(event) => setDraft(event.target.value)} />
      <button type="submit" className="primary" disabled={args === undefined}>
        Run with these
      </button>
      <button type="button" onClick={() => setDraft(undefined)}>
        Cancel
      </button>
    </form>
  );
}

function toText(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "");
  return text.length > 70 ? text : text.replaceAll(/\n\s*/g, " ");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
