// A React hook for a chat whose history and runs are stored on the server. Users can reload the page at any time.

// #region page
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useEffect, useMemo, useState } from "react";

/** Returns a chat that can be open in several tabs. */
export function useRunChat(id: string): RunChat {
  const [liveCost, setLiveCost] = useState<number | undefined>();
  const [loads, setLoads] = useState(0);
  const transport = useMemo(() => new DefaultChatTransport({ fetch: (url, init) => fetchAndTell(id, url, init) }), [id]);
  const chat = useChat({
    id,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onData: ({ type, data }) => void (type === "data-cost" && setLiveCost(readNumber(data, "costUSD"))),
  });
  const { setMessages, resumeStream, status, error } = chat;
  // Loads the chat when the page opens, when another tab has sent a request, and when the connection has broken.
  useEffect(() => {
    const left = new AbortController();
    let again: ReturnType<typeof setTimeout> | undefined;
    const show = ({ messages, isOpen }: Loaded): void => {
      if (left.signal.aborted) return;
      setMessages(messages);
      if (isOpen) void resumeStream();
    };
    loadChat(id, left.signal).then(show, () => (again = setTimeout(() => setLoads((count) => count + 1), 500)));
    return () => (left.abort(), clearTimeout(again));
  }, [id, loads, setMessages, resumeStream]);
  useEffect(() => {
    const reload = (): void => setLoads((count) => count + 1);
    const onStorage = ({ key }: StorageEvent): void => void (key === keyOf(id) && reload());
    addEventListener("storage", onStorage);
    if (isDisconnect(status, error)) reload();
    return () => removeEventListener("storage", onStorage);
  }, [id, status, error]);
  return {
    ...chat,
    liveCost,
    reload: () => setLoads((count) => count + 1),
    /**
     * Stops the run on the server, even if another tab started it. `chat.stop` would only stop this tab from reading the stream.
     */
    stopRun: () => fetch(`/api/chat/${id}/run`, { method: "DELETE" }),
    approve: (approvalId) => chat.addToolApprovalResponse({ id: approvalId, approved: true }),
    deny: (approvalId) => chat.addToolApprovalResponse({ id: approvalId, approved: false }),
    /** `useChat` cannot send edited arguments with an approval, so this function sends them in a separate field. */
    edit: (approvalId, args) => chat.sendMessage(undefined, { body: { answers: { [approvalId]: { kind: "modify", args } } } }),
  };
}
// #endregion page

export interface RunChat extends ReturnType<typeof useChat> {
  /** The current cost of the run in USD. Undefined if the cost is unknown. */
  readonly liveCost: number | undefined;
  reload(): void;
  stopRun(): Promise<unknown>;
  approve(approvalId: string): PromiseLike<void> | void;
  deny(approvalId: string): PromiseLike<void> | void;
  edit(approvalId: string, args: unknown): Promise<void>;
}

export type PageMessage = RunChat["messages"][number];

interface Loaded {
  readonly messages: PageMessage[];
  readonly isOpen: boolean;
}

async function loadChat(id: string, signal: AbortSignal): Promise<Loaded> {
  const response = await fetch(`/api/chat/${id}`, { signal });
  if (!response.ok) throw new Error(`The chat was not loaded: ${response.status}.`);
  return (await response.json()) as Loaded;
}

const keyOf = (id: string): string => `chat ${id}`;

/** Sends a request, and then notifies the other tabs. Browsers send the event "storage" only to other tabs. */
async function fetchAndTell(id: string, url: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (init?.method === "POST" && response.ok) localStorage.setItem(keyOf(id), crypto.randomUUID());
  return response;
}

/** Browsers report a broken connection as a TypeError. */
function isDisconnect(status: string, error: Error | undefined): boolean {
  return status === "error" && error instanceof TypeError;
}

export function readNumber(data: unknown, field: string): number | undefined {
  const value: unknown = typeof data === "object" && data !== null ? Reflect.get(data, field) : undefined;
  return typeof value === "number" ? value : undefined;
}
