import { defineTool, type Tool } from "turnwright";
import {
  type Conversation,
  type ConversationOptions,
  createConversation,
  memoryConversationStore,
} from "turnwright/conversation";
import type { RunOverrides } from "../../src/conversation/conversation.ts";
import { createMockProvider, type MockProvider, type MockScript } from "turnwright/testing";
import { show } from "./stage.ts";

export const dig: Tool = defineTool({
  name: "dig",
  description: "Digs a hole",
  inputSchema: { type: "object" },
  execute: () => "gold",
});
export const pay: Tool = defineTool({
  name: "pay",
  description: "Pays a bill",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => "paid",
});

export interface Stage {
  readonly conversation: Conversation;
  readonly provider: MockProvider;
  /** Makes another object for the same conversation, as another process would. */
  another(changes?: Partial<ConversationOptions>): Conversation;
}

export function open(script: MockScript, changes: Partial<ConversationOptions> = {}, run: RunOverrides = {}): Stage {
  const provider = createMockProvider(script);
  const options = { provider, tools: [dig, pay], ...run };
  const given = { id: "chat-17", store: memoryConversationStore(), options, ...changes };
  const another: Stage["another"] = (more) => createConversation({ ...given, ...more });
  return { conversation: another(), provider, another };
}

export const sent = ({ provider }: Stage): readonly string[] => show(provider.requests.at(-1)?.messages ?? []);
