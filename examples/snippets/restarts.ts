// Tools that add information to every later request of the run.

import assert from "node:assert/strict";
import {
  contextRestart,
  contextRestarts,
  type ContextSource,
  createContextStash,
  defineTool,
  type Json,
  type Message,
  runToolLoop,
} from "turnwright";
import { createMockProvider, recordEvents, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "What do I like?" }];
const profiles = new Map([["ada", { name: "Ada", likes: ["tides"] }]]);
const loadProfile = async (user: string): Promise<object> => profiles.get(user) ?? {};
const searchWeb = defineTool({ name: "search_web", description: "Finds pages", inputSchema: z.object({}), execute: () => [] });

{
  const provider = createMockProvider([toolCall("read_profile", { user: "ada" }), text("You like tides.")]);
  // #region item
  const profiles = new Map([["ada", { name: "Ada", likes: ["tides"] }]]); // in your program: a database
  const readProfile = defineTool({
    name: "read_profile",
    description: "Loads the profile of a user",
    inputSchema: z.object({ user: z.string() }),
    async execute({ user }) {
      return contextRestart({ type: "context_restart_profile", enhanced_context_item: profiles.get(user) ?? {} });
    },
  });
  const result = await runToolLoop({
    provider,
    tools: [readProfile],
    messages,
    middleware: [contextRestarts({ items: ["It is night."] })],
  });
  // The call has an ordinary result. Each later request ends with a message of the user that has the context:
  // Context:
  // It is night.
  // {"name":"Ada","likes":["tides"]}
  // #endregion item
  assert.deepEqual(provider.requests[1]?.messages.slice(-2), [
    {
      role: "tool",
      results: [{ callId: "call_i0_0", name: "read_profile", outcome: "restarted", result: { status: "context_restarted" } }],
    },
    { role: "user", content: 'Context:\nIt is night.\n{"name":"Ada","likes":["tides"]}' },
  ]);
  assert.equal(result.text, "You like tides.");
  assert.deepEqual(result.functionHistory, []);
}

{
  const provider = createMockProvider([toolCall("read_profile", { user: "ada" }), text("You like tides.")]);
  const readProfile = defineTool({
    name: "read_profile",
    description: "Loads the profile of a user",
    inputSchema: z.object({ user: z.string() }),
    async execute({ user }) {
      return contextRestart({
        type: "context_restart_profile",
        enhanced_context_item: await loadProfile(user),
        disable_tools: ["read_profile"], // one call is enough
      });
    },
  });
  await runToolLoop({
    provider,
    tools: [readProfile, searchWeb],
    messages,
    middleware: [contextRestarts({ effects: { profile: ["search_web"] } })],
  });
  assert.deepEqual(
    provider.requests.map(({ tools }) => tools.map(({ name }) => name)),
    [["read_profile", "search_web"], []],
  );
}

{
  const provider = createMockProvider([toolCall("read_profile", { user: "ada" }), text("You like tides.")]);
  const recording = recordEvents();
  const events = recording.emitter;
  // #region stash
  const stash = createContextStash();
  const readProfile = defineTool({
    name: "read_profile",
    description: "Loads the profile of a user",
    inputSchema: z.object({ user: z.string() }),
    async execute({ user }) {
      return contextRestart({ type: "context_restart_profile", pending_context_key: stash.put(await loadProfile(user)) });
    },
  });
  await runToolLoop({ provider, tools: [readProfile], messages, events, middleware: [contextRestarts({ stash })] });
  // #endregion stash
  assert.equal(provider.requests[1]?.messages.at(-1)?.role, "user");
  assert.equal(recording.of("restart")[0]?.pendingContext, "found");

  const without = recordEvents();
  const again = createMockProvider([toolCall("read_profile", { user: "ada" }), text("I cannot tell.")]);
  await runToolLoop({
    provider: again,
    tools: [readProfile],
    messages,
    events: without.emitter,
    middleware: [contextRestarts()],
  });
  assert.equal(without.of("listener-error")[0]?.event, "stash");
  assert.equal(without.of("restart")[0]?.pendingContext, "missing");
}

{
  const rows = new Map<string, Json>([["k", { likes: "tides" }]]);
  const database = {
    async takeRow(key: string): Promise<Json | undefined> {
      const row = rows.get(key);
      rows.delete(key);
      return row;
    },
  };
  const readProfile = defineTool({
    name: "read_profile",
    description: "Loads the profile of a user",
    inputSchema: z.object({}),
    execute: () => contextRestart({ type: "context_restart_profile", pending_context_key: "k" }),
  });
  const provider = createMockProvider([toolCall("read_profile"), text("You like tides.")]);
  const stash: ContextSource = { take: (key) => database.takeRow(key) };
  await runToolLoop({ provider, tools: [readProfile], messages, middleware: [contextRestarts({ stash })] });
  assert.equal(rows.size, 0);
  assert.deepEqual(provider.requests[1]?.messages.at(-1), { role: "user", content: 'Context:\n{"likes":"tides"}' });
}
