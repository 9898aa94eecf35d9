// Plays a bot in chat rooms, with a scripted model and a test clock. Shows deliberate mode, context restarts, follow-ups, notices,
// and limits from environment variables.

import assert from "node:assert/strict";
import { createContextStash, type Json, type ModelRequest } from "turnwright";
import { memoryConversationStore } from "turnwright/conversation";
import { createTestClock } from "turnwright/testing";
import { createBot } from "./bot.ts";
import { createScriptedModel } from "./scripted-model.ts";
import { createTools, type Reminder, triggers } from "./tools.ts";

const clock = createTestClock();
const stash = createContextStash({ clock });
const reminders: Reminder[] = [];
const provider = createScriptedModel();
const profiles: ReadonlyMap<string, Json> = new Map([["bob", { likes: "kippers" }]]);
const setMs = 500;
const pause = (): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, setMs));

let shown: string[] = [];
let logged: string[] = [];
const bot = createBot({
  provider,
  tools: createTools({ reminders, profiles, stash, pause }),
  store: memoryConversationStore(),
  triggers: { ...triggers, sound_depth: ["how deep", "/(/"] },
  stash,
  persona: "Bosun",
  quietRooms: new Set(["engine"]),
  env: { BOT_MAX_CONSECUTIVE_TOOL_ERRORS: "4", TOOL_EXECUTION_TIMEOUT_MS: "soon" },
  service: {
    say: async (roomId, text) => void shown.push(`${roomId}: ${text}`),
    async showEmbed(roomId, title) {
      if (roomId === "mast") throw new Error("The room is gone.");
      shown.push(`${roomId} [${title}]`);
    },
  },
  log: (line) => void logged.push(line),
  clock,
});

async function hear(who: string, text: string, ms = 0): Promise<void> {
  const [userId = "", roomId = ""] = who.split("@");
  bot.hear({ roomId, userId, text });
  await clock.advance(ms);
}

interface Scene {
  readonly said?: readonly string[];
  readonly logged?: readonly string[];
}

/** Waits until the bot is idle. Then checks what the bot posted and logged in this scene. */
async function close(title: string, { said = [], logged: logs = [] }: Scene): Promise<void> {
  await clock.runAll();
  await bot.settled();
  assert.deepEqual({ said: shown, logged }, { said, logged: logs }, title);
  const lines = [...shown, ...logged.map((line) => `log: ${line}`)];
  console.log([`✓ ${title}`, ...lines.map((line) => line.replace(/\s+/g, " "))].join("\n    "));
  shown = [];
  logged = [];
}

await close("what the settings say and cannot mean is logged", {
  logged: [
    "TOOL_EXECUTION_TIMEOUT_MS: not-a-whole-number, 300000 is used",
    'the trigger "/(/" of sound_depth cannot be read: Unterminated group',
  ],
});

await hear("ada@deck", "Good morning!");
await close("a tool that nobody asked for does not run", {
  said: ["deck: Aye, ada. I set reminders for those who ask for them."],
});
assert.equal(reminders.length, 0);

await hear("ada@deck", "Remind me to sail.", 400);
await hear("ada@deck", "At five, I mean.");
await close("a follow-up interrupts the model, and one run answers both", {
  said: ["deck: I will remind ada to sail at five."],
  logged: ['deck: set_reminder was let through by "Remind me" (literal)'],
});

await hear("ada@deck", "Do it again!");
await close("asked to do it again, the bot may", {
  said: ["deck: I will remind ada to sail at five."],
  logged: ['deck: set_reminder was let through by "Remind me" (follow-up)'],
});

await hear("ada@deck", "And one at six.", 1_200);
await hear("ada@deck", "Make it noon.");
await hear("bob@deck", "And me?");
await hear("bob@deck", "!stop");
await hear("bob@galley", "Who am I?", 100);
await close("a tool that was of use stays; its user steers the run, others wait their turn, and other rooms go on", {
  said: [
    "galley: You are bob, and you like kippers.\n\n[Scene Metadata]\nFog over the galley.",
    "deck: I will remind ada to sail at noon.",
    "deck: Aye, bob. I set reminders for those who ask for them.",
  ],
  logged: [
    'deck: set_reminder was let through by "Remind me" (retained)',
    'galley: read_profile was let through by "Who am I" (regex)',
    "galley: restarted with the profile, found",
    'deck: set_reminder was let through by "Remind me" (retained)',
    'galley: Bosun thought {"mood":"curious"}',
  ],
});
const times = reminders.map(({ userId, at }) => `${userId} at ${at}`);
assert.deepEqual(times, ["ada at five", "ada at five", "ada at six", "ada at noon"]);
// The profile is not part of the transcript, so only one request contains it. That request does not offer `read_profile` again.
const shows = ({ messages }: ModelRequest): boolean => JSON.stringify(messages).includes("likes");
const withProfile = provider.requests.filter(shows).map(({ tools }) => tools.map(({ name }) => name));
assert.deepEqual(withProfile, [["set_reminder", "sound_depth"]]);

await hear("bob@galley", "Remind me to eat at noon.", 1_200);
await hear("bob@galley", "!stop");
await close("whoever a run is for may stop it", {
  logged: ['galley: set_reminder was let through by "Remind me" (literal)', "galley: stopped-by-user (stopped)"],
});
assert.equal(reminders.length, 4);

const soundings = (room: string): readonly string[] =>
  Array.from({ length: 4 }, () => `${room}: sound_depth was let through by "How deep" (literal)`);

await hear("ada@deck", "How deep is it?");
await close("notices are embeds", {
  said: ["deck [This takes a while. !stop ends it.]", "deck [My tools fail. Try again later.]", "deck: I cast the lead."],
  logged: [...soundings("deck"), "deck: error (tool-error-cap)"],
});

await hear("ada@engine", "How deep is it?");
await close("a room that wants no notices gets none", {
  said: ["engine: I cast the lead."],
  logged: [...soundings("engine"), "engine: error (tool-error-cap)"],
});

await hear("ada@deck", "Do not break.");
await close("what went wrong is for the operator", {
  said: ["deck [Something went wrong.]"],
  logged: ["deck: error (provider-error) The key is wrong."],
});

await hear("ada@mast", "Do not break.");
await close("a service that fails does not end the bot", {
  logged: [
    "mast: error (provider-error) The key is wrong.",
    'mast: "Something went wrong." was not shown: Error: The room is gone.',
  ],
});
