// Returns the messages of a chat when a page loads it. Leaves out the answer of a live or suspended run, because the page streams
// that answer.

import type { RunHost } from "turnwright/host";
import { toUIMessages, type UIMessage } from "turnwright/ui-message-stream";

export interface LoadedChat {
  readonly messages: readonly UIMessage<7>[];
  /** True if a run is live or suspended. The page must then stream its answer. */
  readonly isOpen: boolean;
}

/** GET /api/chat/:id. Returns the messages of a chat. */
export async function loadChat(host: RunHost, id: string): Promise<LoadedChat> {
  const status = await host.status(id);
  if (status === undefined) return { messages: [], isOpen: false };
  const isOpen = status.status === "running" || status.status === "suspended";
  const end = isOpen ? status.messages.findLastIndex(({ role }) => role === "user") + 1 : status.messages.length;
  // With `turns`, the answers have the metadata that their streams sent.
  const { messages } = toUIMessages(status.messages.slice(0, end), { version: 7, turns: status.turns });
  return { messages, isOpen };
}
