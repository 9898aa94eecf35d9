// The clients of AG-UI 1.0 and 0.0. They validate each event, check the order of the events, and build messages from them.

import * as ag1 from "@ag-ui/client";
import * as ag0 from "ag-ui-client-0";
import type { AGUIEvent } from "turnwright/ag-ui";
import type { AGUIVersion } from "../../src/ag-ui/ag-ui-event.ts";

export interface PageMessage {
  readonly id: string;
  readonly role: string;
  readonly content?: unknown;
  readonly toolCallId?: string;
  readonly error?: string;
  readonly toolCalls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly subagentRunId?: string;
}

export interface ResumeEntry {
  readonly interruptId: string;
  readonly status: "resolved" | "cancelled";
  readonly payload?: unknown;
}

export interface PageAgent {
  threadId: string;
  messages: PageMessage[];
  readonly pendingInterrupts: readonly { readonly id: string; readonly toolCallId?: string; readonly reason: string }[];
  addMessage(message: PageMessage): void;
  runAgent(
    parameters?: { readonly runId?: string; readonly resume?: readonly ResumeEntry[] },
    subscriber?: { readonly onEvent?: (params: { readonly event: AGUIEvent }) => void },
  ): Promise<unknown>;
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

interface AgentOptions {
  readonly url?: string;
  readonly fetch?: Fetch;
  readonly threadId?: string;
  readonly messages?: readonly PageMessage[];
}

const HttpAgents = { "1.0": ag1.HttpAgent, "0.0": ag0.HttpAgent };

export function openAgent(version: AGUIVersion, options: AgentOptions): PageAgent {
  const { url = "http://chat.test/api", fetch, threadId = "chat", messages = [] } = options;
  const initialMessages = structuredClone(messages) as never;
  const Agent = HttpAgents[version] as unknown as new (config: object) => PageAgent;
  return new Agent({ url, threadId, initialMessages, ...(fetch !== undefined && { fetch }) });
}

export const versions: readonly AGUIVersion[] = ["1.0", "0.0"];

/**
 * Sends events to the client of one AG-UI version, and returns the messages of the client. Throws if the client rejects an event.
 */
export async function readMessages(
  events: readonly AGUIEvent[],
  version: AGUIVersion,
  before: readonly PageMessage[] = [],
): Promise<readonly PageMessage[]> {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const fetch = async (): Promise<Response> => new Response(body, { headers: { "content-type": "text/event-stream" } });
  const agent = openAgent(version, { fetch, messages: before });
  await agent.runAgent();
  return structuredClone(agent.messages);
}

export const textOf = (messages: readonly PageMessage[]): string =>
  messages
    .flatMap(({ role, content, subagentRunId }) =>
      role === "assistant" && subagentRunId === undefined && typeof content === "string" ? [content] : [],
    )
    .join("");

export const resultsOf = (messages: readonly PageMessage[]): ReadonlyMap<string, unknown> =>
  new Map(messages.flatMap(({ role, toolCallId, content }) => (role === "tool" ? [[toolCallId ?? "", content] as const] : [])));
