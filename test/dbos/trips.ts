// A durable loop for tests with several processes. Its tools write to a file when they begin and end.

import assert from "node:assert/strict";
import { appendFileSync, readFileSync } from "node:fs";
import { defineAgentTool, defineTool, type LoopEvent, type Tool } from "turnwright";
import { defineDurableLoop, type DurableLoop } from "turnwright/dbos";
import type { DurableLoopFields } from "../../src/host/durable/durable-loop.ts";
import { createMockProvider, text, toolCall, wait } from "turnwright/testing";

export interface Note {
  readonly what: "begin" | "end";
  readonly tool: string;
  readonly key: string;
  readonly pid: number;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export type Trip = { city: string; asks?: boolean };

export function defineTrips(notesPath: string): DurableLoop<Trip> {
  return defineDurableLoop(tripsOf(notesPath));
}

export function tripsOf(notesPath: string): DurableLoopFields<Trip> {
  const note = (what: Note["what"], tool: string, key: string): void =>
    appendFileSync(notesPath, `${JSON.stringify({ what, tool, key, pid: process.pid } satisfies Note)}\n`);
  const noting = (name: string, traits: Partial<Tool> = {}): Tool =>
    defineTool({
      name,
      description: name,
      inputSchema: { type: "object" },
      ...traits,
      execute: async (_args, { idempotencyKey }) => {
        note("begin", name, idempotencyKey);
        await pause(40);
        note("end", name, idempotencyKey);
        return { name };
      },
    });
  const look = noting("look", { replay: "safe" });
  const pay = noting("pay");
  const book = noting("book", { needsApproval: true, replay: "safe" });
  const sign = defineTool({ name: "sign", description: "A person signs", inputSchema: { type: "object" } });
  const research = defineAgentTool({
    name: "research",
    description: "Looks things up",
    inputSchema: { type: "object" },
    prepare: () => ({
      provider: createMockProvider(({ iteration }) => (iteration === 0 ? [toolCall("look", {})] : [text("Found.")])),
      tools: [look],
      messages: [{ role: "user", content: "Look it up." }],
    }),
  });
  return {
    name: "trips",
    options: ({ city, asks = false }) => ({
      provider: createMockProvider(({ iteration }) => {
        const calls = [toolCall("look", {}), toolCall("look", {}), toolCall("research", {})];
        if (iteration === 0) return [text("I"), wait(30), text(" look"), wait(30), text(" around."), ...calls];
        if (iteration === 1)
          return [toolCall("pay", {}), toolCall("look", {}), ...(asks ? [toolCall("book", {}), toolCall("sign", {})] : [])];
        return [text("To "), wait(30), text(`${city}.`)];
      }),
      tools: [look, pay, research, book, sign],
      messages: [{ role: "user" as const, content: `To ${city}` }],
    }),
  };
}

export interface Said {
  readonly iteration: number;
  readonly text: string;
}

/** Adds an event to the texts that a page shows. Leaves out nested runs. */
export function addSaid(said: readonly Said[], event: LoopEvent): readonly Said[] {
  if (event.path !== undefined) return said;
  if (event.type === "text-delta") return [...said, event];
  return event.type === "attempt-discarded" ? said.filter(({ iteration }) => iteration !== event.iteration) : said;
}

export function readNotes(notesPath: string): readonly Note[] {
  return readFileSync(notesPath, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Note);
}

export async function startTrips(trips: DurableLoop<Trip>, prefix: string, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  await Promise.all(ids.map((id) => trips.start(id, { city: `Oslo ${id}` })));
  return ids;
}

export async function untilToolBegins(trips: DurableLoop<Trip>, id: string): Promise<void> {
  for await (const { event } of trips.events(id)) if (event.type === "tool-start") return;
}

/** Reads the events of a run to its end, and returns the text that a page then shows. */
export async function readText(trips: DurableLoop<Trip>, id: string): Promise<string> {
  let said: readonly Said[] = [];
  for await (const { event } of trips.events(id)) said = addSaid(said, event);
  return said.map(({ text }) => text).join("");
}

/** Waits until the runs have ended. Checks their results and texts, and that no unsafe call has begun twice. */
export async function checkTrips(trips: DurableLoop<Trip>, ids: readonly string[], notesPath: string): Promise<void> {
  for (const id of ids) {
    const { status, text, iterations } = await trips.result(id);
    assert.deepEqual([id, status, text, iterations], [id, "completed", `To Oslo ${id}.`, 3]);
    assert.equal(await readText(trips, id), `I look around.To Oslo ${id}.`);
  }
  const own = readNotes(notesPath).filter(({ key }) => ids.some((id) => key.startsWith(`${id}/`)));
  const begun = own.filter(({ what, tool }) => what === "begin" && tool === "pay").map(({ key }) => key);
  assert.equal(new Set(begun).size, begun.length);
}

/** Waits until a process other than `pid` has written a note about a run, and returns the id of that process. */
async function untilNoted(notesPath: string, id: string, pid?: number): Promise<number> {
  for (;;) {
    const found = readNotes(notesPath).find((note) => note.key.startsWith(`${id}/`) && note.pid !== pid);
    if (found !== undefined) return found.pid;
    await pause(10);
  }
}

export interface Takeover {
  readonly id: string;
  readonly signal: "SIGKILL" | "SIGSTOP";
  readonly notesPath: string;
}

/** Starts a run. Returns the milliseconds from the signal to the first tool call of the run in another worker. */
export async function measureTakeover(trips: DurableLoop<Trip>, { id, signal, notesPath }: Takeover): Promise<number> {
  await trips.start(id, { city: id });
  const pid = await untilNoted(notesPath, id);
  process.kill(pid, signal);
  const begunAt = performance.now();
  await untilNoted(notesPath, id, pid);
  const tookMs = performance.now() - begunAt;
  await trips.result(id);
  return tookMs;
}
