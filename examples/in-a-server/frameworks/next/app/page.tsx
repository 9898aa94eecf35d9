// app/page.tsx
"use client";

import { useChat } from "@ai-sdk/react";
import { type FormEvent, Suspense, useState } from "react";

// `useChat` makes a random id, which a prerendered page may not contain.
export default function Page() {
  return (
    <Suspense fallback={null}>
      <Chat />
    </Suspense>
  );
}

function Chat() {
  const { messages, status, error, sendMessage, stop } = useChat(); // sends to POST /api/chat
  const [draft, setDraft] = useState("");
  const isLive = status === "submitted" || status === "streaming";
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (isLive || draft === "") return;
    void sendMessage({ text: draft });
    setDraft("");
  };
  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <p key={id}>
          {role}: {parts.map((part) => (part.type === "text" ? part.text : "")).join("")}
        </p>
      ))}
      {error !== undefined && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input aria-label="Message" value={draft} onChange={(event) => setDraft(event.target.value)} />
        {isLive ? (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button>Send</button>
        )}
      </form>
    </main>
  );
}
