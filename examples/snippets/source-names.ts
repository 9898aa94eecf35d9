// The tool context of the source pipeline: ids of users and personas are in the context of the application.

import assert from "node:assert/strict";
import { defineTool, type Message, runToolLoop, type Session, type ToolContext } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "Remember that I like tea." }];
const provider = createMockProvider([toolCall("remember", { fact: "likes tea" }), text("Noted.")]);
const stored: string[] = [];
const store = (userId: string, fact: string): void => void stored.push(`${userId} ${fact}`);

// #region tool-context
interface Turn {
  guildId: string;
  activePersonaId: string | undefined;
  isUserImpersonation: boolean;
  impersonatedUserId: string | undefined;
}
const remember = defineTool({
  name: "remember",
  description: "Remembers a fact about the user",
  inputSchema: z.object({ fact: z.string() }),
  execute({ fact }, { session, context }: ToolContext<Turn>) {
    const userId = context.impersonatedUserId ?? session.userId ?? "guest";
    store(userId, fact);
    return `remembered for ${userId}`;
  },
});
const session: Session = {
  conversationId: "channel 4", // channel.id
  userId: "user 7",
  responseTarget: { kind: "user", name: "Ada" }, // who answers, for result.thoughtLogOwner
};
const context: Turn = { guildId: "guild 2", activePersonaId: undefined, isUserImpersonation: true, impersonatedUserId: "user 9" };
const result = await runToolLoop({ provider, messages, tools: [remember], session, context });
// stored for user 9
// #endregion tool-context
assert.deepEqual([result.text, stored], ["Noted.", ["user 9 likes tea"]]);
