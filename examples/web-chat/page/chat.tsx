// The chat page: the messages, the current activity, and the input field.

import { type JSX, useEffect, useRef, useState } from "react";
import { MessageView } from "./message-view.tsx";
import { type RunChat, useRunChat } from "./use-run-chat.ts";

const suggestions = ["Order some tea.", "Compare two teas for me.", "Tell me a story about tea."];

export function Chat({ id }: { readonly id: string }): JSX.Element {
  const chat = useRunChat(id);
  const isLive = chat.status === "submitted" || chat.status === "streaming";
  useFollowing(chat.messages);
  return (
    <main>
      <header>
        <h1>Tea shop</h1>
        <a href="/">New chat</a>
      </header>
      <ol className="log" role="log" aria-label="Messages" aria-busy={isLive}>
        {chat.messages.map((message) => (
          <MessageView key={message.id} message={message} chat={chat} />
        ))}
      </ol>
      <Situation chat={chat} isLive={isLive} />
      {chat.messages.length === 0 && <Suggestions chat={chat} />}
      <Composer chat={chat} isLive={isLive} />
    </main>
  );
}

/** Scrolls to the end when `shown` changes, unless the user has scrolled up. */
function useFollowing(shown: unknown): void {
  const isAtEnd = useRef(true);
  useEffect(() => {
    const page = document.documentElement;
    const note = (): void => void (isAtEnd.current = page.scrollTop + page.clientHeight > page.scrollHeight - 80);
    addEventListener("scroll", note, { passive: true });
    return () => removeEventListener("scroll", note);
  }, []);
  useEffect(() => {
    if (isAtEnd.current) scrollTo({ top: document.documentElement.scrollHeight });
  }, [shown]);
}

interface ChatProps {
  readonly chat: RunChat;
  readonly isLive: boolean;
}

/** Shows the current activity. Screen readers read it aloud. */
function Situation({ chat, isLive }: ChatProps): JSX.Element {
  const { error, liveCost } = chat;
  return (
    <div className="situation">
      <p role="status">
        {isLive ? "Answering …" : ""}
        {isLive && liveCost !== undefined ? ` ${liveCost.toFixed(5)} USD so far` : ""}
      </p>
      {error !== undefined && (
        <p role="alert">
          <span>{error.message}</span>
          <button type="button" onClick={() => (chat.clearError(), chat.reload())}>
            Reload the chat
          </button>
          <button type="button" onClick={() => void chat.regenerate()}>
            Answer again
          </button>
        </p>
      )}
    </div>
  );
}

function Suggestions({ chat }: Pick<ChatProps, "chat">): JSX.Element {
  return (
    <ul className="suggestions" aria-label="Suggestions">
      {suggestions.map((text) => (
        <li key={text}>
          <button type="button" onClick={() => void chat.sendMessage({ text })}>
            {text}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Composer({ chat, isLive }: ChatProps): JSX.Element {
  const [text, setText] = useState("");
  const send = (): void => {
    if (text.trim() === "" || isLive) return;
    setText("");
    void chat.sendMessage({ text });
  };
  return (
    <form className="composer" onSubmit={(event) => (event.preventDefault(), send())}>
      <label htmlFor="message">Message</label>
      <input id="message" value={text} maxLength={2_000} autoComplete="off" onChange={(event) => setText(event.target.value)} />
      {isLive ? (
        <button type="button" className="stop" onClick={() => void chat.stopRun()}>
          Stop
        </button>
      ) : (
        <button type="submit" className="primary" disabled={text.trim() === ""}>
          Send
        </button>
      )}
    </form>
  );
}
