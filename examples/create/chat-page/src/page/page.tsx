import { useChat } from "@ai-sdk/react";
import { getToolName, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { type JSX, useState } from "react";
import { createRoot } from "react-dom/client";

type Chat = ReturnType<typeof useChat>;
type Part = Chat["messages"][number]["parts"][number];

function Page(): JSX.Element {
  const chat = useChat({ sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
  const isLive = chat.status === "submitted" || chat.status === "streaming";
  return (
    <>
      <h1>Tea shop</h1>
      <ol role="log" aria-label="Messages">
        {chat.messages.map(({ id, role, parts }) => (
          <li key={id}>
            <strong>{role === "user" ? "You" : "Assistant"}</strong>
            {parts.map((part, index) => (
              <PartView key={index} part={part} chat={chat} />
            ))}
          </li>
        ))}
      </ol>
      {chat.error !== undefined && <p role="alert">{chat.error.message}</p>}
      <Composer chat={chat} isLive={isLive} />
    </>
  );
}

function PartView({ part, chat }: { readonly part: Part; readonly chat: Chat }): JSX.Element | null {
  if (part.type === "text") return <p>{part.text}</p>;
  if (!isToolUIPart(part)) return null;
  const decide = (approved: boolean): void => {
    if (part.state === "approval-requested") void chat.addToolApprovalResponse({ id: part.approval.id, approved });
  };
  return (
    <section aria-label={`Tool ${getToolName(part)}`}>
      <code>{`${getToolName(part)} ${JSON.stringify(part.input ?? {})}`}</code> <em>{part.state}</em>
      {part.state === "output-available" && <pre>{JSON.stringify(part.output)}</pre>}
      {part.state === "output-error" && <p>{part.errorText}</p>}
      {part.state === "approval-requested" && (
        <p>
          <button type="button" onClick={() => decide(true)}>
            Approve
          </button>
          <button type="button" onClick={() => decide(false)}>
            Deny
          </button>
        </p>
      )}
    </section>
  );
}

function Composer({ chat, isLive }: { readonly chat: Chat; readonly isLive: boolean }): JSX.Element {
  const [text, setText] = useState("");
  const send = (): void => {
    if (text.trim() === "" || isLive) return;
    setText("");
    void chat.sendMessage({ text });
  };
  return (
    <form onSubmit={(event) => (event.preventDefault(), send())}>
      <input aria-label="Message" value={text} maxLength={2_000} onChange={(event) => setText(event.target.value)} />
      {isLive ? (
        <button type="button" onClick={() => void chat.stop()}>
          Stop
        </button>
      ) : (
        <button type="submit">Send</button>
      )}
    </form>
  );
}

const root = document.querySelector("#root");
if (root !== null) createRoot(root).render(<Page />);
