// A process is killed at every moment of a run. The next process has all messages. It continues the run if it has the journal of
// the run.

import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileConversationStore, postgresConversationStore } from "turnwright/conversation";
import { type Death, deaths, type Life, openChat } from "./chat-process.ts";
import { type Database, makeFolder, removeFolders, show, startDatabase } from "./stage.ts";

const folder = makeFolder();
const program = join(folder, "chat.cjs");
let database: Database;

beforeAll(async () => {
  database = await startDatabase();
  await build({
    entryPoints: [resolve("test/conversation/die-in-chat.ts")],
    outfile: program,
    bundle: true,
    platform: "node",
    external: ["pg-native"],
  });
}, 60_000);

afterAll(async () => {
  await database.stop();
  removeFolders();
});

function kill(life: Life): Promise<unknown> {
  const child = spawn(process.execPath, [program, JSON.stringify(life)], { stdio: "inherit" });
  return new Promise((settle, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => settle(signal ?? code));
  });
}

const question = "user: Dig.";
const work = ["model: dig()", "tool: dig completed", "model: It was completed."];
const cutWork = ["model: dig()", "tool: dig interrupted", "model: It was interrupted."];

describe("fileConversationStore", () => {
  /** The stored messages after the process died, and after the next message with and without a journal. */
  const table: readonly [
    Death,
    { stored: readonly string[]; resumed: readonly string[] | undefined; recovered: readonly string[] },
  ][] = [
    ["before store write 1", { stored: [], resumed: undefined, recovered: [] }],
    ["after store write 1", { stored: [question], resumed: [question, ...work], recovered: [question] }],
    ["during the model request", { stored: [question], resumed: [question, ...work], recovered: [question] }],
    [
      "during the tool call",
      { stored: [question], resumed: [question, ...cutWork], recovered: [question, "model: dig()", "tool: dig interrupted"] },
    ],
    ["before store write 2", { stored: [question], resumed: [question, ...work], recovered: [question, ...work] }],
    ["after store write 2", { stored: [question, ...work], resumed: undefined, recovered: [question, ...work] }],
  ];

  it("has a test for each moment at which the process can be killed", () => {
    expect(table.map(([death]) => death)).toEqual(deaths);
  });

  it.for(table)("without a journal, keeps the stored messages after a kill %s", async ([death, { stored }]) => {
    const life = { folder: makeFolder(), hasJournal: false, message: "Dig.", death };
    expect(await kill(life)).toBe("SIGKILL");
    const next = openChat(life, fileConversationStore(life.folder));
    expect(show(await next.messages())).toEqual(stored);
    await next.send("And now?");
    const messages = show(await next.messages());
    expect(messages.slice(0, stored.length + 1)).toEqual([...stored, "user: And now?"]);
    expect(messages.at(-1)).toMatch(/^model: /);
    // If a run was cut off, its spending is unknown.
    const isKnown = death === "before store write 1" || death === "after store write 2";
    expect((await next.usage()).costUSD === undefined).toBe(!isKnown);
  });

  it.for(table)("with a journal, resumes the run after a kill %s", async ([death, { resumed }]) => {
    const life = { folder: makeFolder(), hasJournal: true, message: "Dig.", death };
    expect(await kill(life)).toBe("SIGKILL");
    const next = openChat(life, fileConversationStore(life.folder));
    // The killed process does not count as a process that works on the run.
    const { status, isLive } = (await next.status()) ?? {};
    expect([status, isLive]).toEqual(
      death === "before store write 1"
        ? [undefined, undefined]
        : [death === "after store write 2" ? "completed" : "running", false],
    );
    if (resumed === undefined) {
      await expect(next.resume()).rejects.toMatchObject({ code: "conversation-refused" });
      return;
    }
    await next.resume();
    expect(show(await next.messages())).toEqual(resumed);
    expect(await next.usage()).toMatchObject({ costUSD: 2, runs: 1 });
  });

  it.for(table)("with a journal, lets send() keep the recorded work after a kill %s", async ([death, { recovered }]) => {
    const life = { folder: makeFolder(), hasJournal: true, message: "Dig.", death };
    expect(await kill(life)).toBe("SIGKILL");
    const next = openChat(life, fileConversationStore(life.folder));
    await next.send("And now?");
    const messages = show(await next.messages());
    expect(messages.slice(0, recovered.length + 1)).toEqual([...recovered, "user: And now?"]);
    expect((await next.usage()).usage.totalTokens).toBeGreaterThan(0);
  });
});

describe("postgresConversationStore", () => {
  it("frees the conversation of a killed process when the process's lease expires", async () => {
    const pool = database.connect();
    const postgresUrl = pool.options.connectionString;
    const life: Life = { folder: makeFolder(), postgresUrl, hasJournal: true, message: "Dig.", death: "during the tool call" };
    expect(await kill(life)).toBe("SIGKILL");
    const store = postgresConversationStore(pool, { leaseMs: 500 });
    const next = openChat(life, store);
    await next.resume();
    expect(show(await next.messages())).toEqual([question, ...cutWork]);
  });
});
