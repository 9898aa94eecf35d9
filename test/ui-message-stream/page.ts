// A page without React: the chat class of one major version of `ai`, with a minimal state.

import * as ai6 from "ai";
import * as ai5 from "ai-v5";
import * as ai7 from "ai-v7";
import { setImmediate } from "node:timers/promises";
import type { UIVersion } from "../../src/ui-message-stream/ui-message-chunk.ts";
import type { PageMessage, PagePart } from "./vendors.ts";

type Fetch = (url: unknown, init?: RequestInit) => Promise<Response>;

export interface PageChat {
  readonly messages: readonly PageMessage[];
  readonly status: string;
  readonly error: Error | undefined;
  sendMessage(message?: { readonly text: string }, options?: { readonly body: object }): Promise<void>;
  regenerate(): Promise<void>;
  resumeStream(): Promise<void>;
  stop(): Promise<void>;
  addToolApprovalResponse?(response: {
    readonly id: string;
    readonly approved: boolean;
    readonly reason?: string;
  }): Promise<void>;
  addToolOutput(result: { readonly tool: string; readonly toolCallId: string; readonly output: unknown }): Promise<void>;
}

type Sdk = typeof ai5 | typeof ai6 | typeof ai7;

const sdks: { readonly [Version in UIVersion]: Sdk } = { 5: ai5, 6: ai6, 7: ai7 };

interface PageOptions {
  readonly version: UIVersion;
  readonly fetch: Fetch;
  readonly messages?: readonly PageMessage[];
  /**
   * Selects when the page sends its message automatically: after the user's last decision, or after the last result. Default "decisions".
   */
  readonly sendsAfter?: "decisions" | "results";
}

export function openPage({ version, fetch, messages = [], sendsAfter = "decisions" }: PageOptions): PageChat {
  const sdk = sdks[version] as typeof ai6;
  class Chat extends sdk.AbstractChat<ai6.UIMessage> {}
  const state = {
    status: "ready" as const,
    error: undefined,
    messages: structuredClone(messages) as unknown as ai6.UIMessage[],
    pushMessage: (message: ai6.UIMessage) => {
      state.messages = [...state.messages, structuredClone(message)];
    },
    popMessage: () => {
      state.messages = state.messages.slice(0, -1);
    },
    replaceMessage: (index: number, message: ai6.UIMessage) => {
      state.messages = state.messages.with(index, structuredClone(message));
    },
    snapshot: structuredClone,
  };
  const transport = new sdk.DefaultChatTransport({ fetch });
  // AI SDK 5 does not have approvals.
  const afterDecisions = version === 5 ? undefined : sdk.lastAssistantMessageIsCompleteWithApprovalResponses;
  const sendAutomaticallyWhen = sendsAfter === "results" ? sdk.lastAssistantMessageIsCompleteWithToolCalls : afterDecisions;
  return new Chat({
    id: "chat",
    state,
    transport,
    ...(sendAutomaticallyWhen && { sendAutomaticallyWhen }),
  }) as unknown as PageChat;
}

export async function settle(chat: PageChat): Promise<void> {
  for (let idle = 0; idle < 20; idle += 1) {
    await setImmediate();
    if (chat.status === "streaming" || chat.status === "submitted") idle = 0;
  }
}

export const lastOf = ({ messages }: PageChat): PageMessage => JSON.parse(JSON.stringify(messages.at(-1))) as PageMessage;

export const callsOf = (chat: PageChat): readonly PagePart[] =>
  lastOf(chat).parts.filter(({ toolCallId }) => toolCallId !== undefined);

/** Breaks the connection after `lines` events, counted over all responses. `count` returns the number so far. */
export function breakOff(fetch: Fetch, lines: number): { readonly fetch: Fetch; readonly count: () => number } {
  let left = lines;
  let count = 0;
  const cut = async (url: unknown, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    const whole = (await response.text()).split(/(?<=\n\n)/);
    count += whole.length;
    const kept = whole.slice(0, Math.max(0, left));
    const isBroken = kept.length < whole.length;
    left -= whole.length;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const line of kept) controller.enqueue(new TextEncoder().encode(line));
        if (isBroken) controller.error(new TypeError("network error"));
        else controller.close();
      },
    });
    return new Response(body, response);
  };
  return { fetch: cut, count: () => count };
}
