// Tools that run only if the user asks for them: triggers, follow-ups, retention and events.

import assert from "node:assert/strict";
import {
  createLoopEvents,
  defineTool,
  gateTools,
  type Json,
  type LoopOptions,
  type LoopResult,
  prepareIteration,
  runToolLoop,
} from "turnwright";
import { createDeliberateMode } from "turnwright/middleware";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const tools = [
  defineTool({
    name: "set_reminder",
    description: "Sets a reminder",
    inputSchema: z.object({ about: z.string() }),
    execute: ({ about }) => `I will remind you of ${about}.`,
  }),
  defineTool({ name: "get_time", description: "Tells the time", inputSchema: z.object({}), execute: () => "12:00" }),
  defineTool({ name: "delete_all", description: "Deletes everything", inputSchema: z.object({}), execute: () => "gone" }),
];
const thoughtLog: string[] = [];
const outcomesOf = ({ functionHistory }: LoopResult): readonly string[] => functionHistory.map(({ outcome }) => outcome);
const play = (name: string, args?: Json): LoopOptions["provider"] => createMockProvider([toolCall(name, args), text("Done.")]);

// #region mode
const mode = createDeliberateMode({
  triggers: {
    set_reminder: ["remind me", "reminder*"],
    get_time: "^",
    delete_all: "/^delete (everything|it all)[.!]*$/i",
  },
});
for (const { toolName, trigger, problem } of mode.problems) console.warn(`${toolName}: ${trigger} ${problem}`);
// #endregion mode
assert.deepEqual(mode.problems, []);

{
  const provider = play("set_reminder", { about: "the cake" });
  const said = "Remind me of the cake.";
  // #region turn
  const gate = mode.forTurn({ conversationId: "room-7", text: said });
  const result = await runToolLoop({
    provider,
    tools,
    messages: [{ role: "user", content: said }],
    middleware: [gateTools(gate)],
  });
  // #endregion turn
  assert.deepEqual(outcomesOf(result), ["completed"]);
  assert.deepEqual([...gate.allowedNames], ["set_reminder", "get_time"]);
}

{
  const provider = play("delete_all");
  const messages = [{ role: "user", content: "Thanks!" }] as const;
  const gate = mode.forTurn({ conversationId: "room-7", text: "Thanks!" });
  const result = await runToolLoop({ provider, tools, messages, middleware: [gateTools(gate)] });
  const answer = result.functionHistory[0]?.functionResponse.response.result;
  // The model reads:
  // { status: "blocked_by_deliberate_tool_mode", functionName: "delete_all", allowedToolNames: ["get_time", "set_reminder"] }
  assert.deepEqual(answer, {
    status: "blocked_by_deliberate_tool_mode",
    functionName: "delete_all",
    allowedToolNames: ["get_time", "set_reminder"],
  });
}

{
  const play = defineTool({
    name: "play_music",
    description: "Plays music",
    inputSchema: z.object({}),
    triggers: ["play", "music"],
    execute: () => "playing",
  });
  const mode = createDeliberateMode({ tools: [play, ...tools], triggers: { get_time: "^" } });
  assert.deepEqual([...mode.forTurn({ text: "Play something!" }).allowedNames], ["play_music", "get_time"]);
}

{
  const provider = play("set_reminder", { about: "the oven", apiKey: "abc" });
  const messages = [{ role: "user", content: "One more, please!" }] as const;
  const gate = mode.forTurn({ conversationId: "room-9", text: "One more, please!", recent: ["Reminders!", "Nice."] });
  const events = createLoopEvents();
  events.on("hidden-notice", ({ name, trigger, args }) => {
    thoughtLog.push(`${name} ${JSON.stringify(args)}: ${trigger.source} of ${trigger.trigger} in "${trigger.match}"`);
  });
  const result = await runToolLoop({ provider, tools, messages, events, middleware: [gateTools(gate)] });
  // The log has: set_reminder {"about":"the oven","apiKey":"[redacted]"}: follow-up of reminder* in "Reminders"
  assert.deepEqual(outcomesOf(result), ["completed"]);
  assert.deepEqual(thoughtLog, [
    'set_reminder {"about":"the oven","apiKey":"[redacted]"}: follow-up of reminder* in "Reminders"',
  ]);
}

{
  const provider = createMockProvider([text("It is noon.")]);
  const messages = [{ role: "user", content: "Hello" }] as const;
  // #region hide
  const gate = mode.forTurn({ text: "Hello" });
  const hooks = [prepareIteration(() => ({ tools: [...gate.allowedNames] }))];
  const result = await runToolLoop({ provider, tools, messages, middleware: [...hooks, gateTools(gate)] });
  // #endregion hide
  assert.equal(result.status, "completed");
  assert.deepEqual(
    provider.requests[0]?.tools.map(({ name }) => name),
    ["get_time"],
  );
}
