// A durable loop for tests with several processes. Its tools note in a file when they begin and end.

import { appendFileSync, readFileSync } from "node:fs";
import { defineAgentTool, defineTool, type LoopEvent, type Tool } from "turnwright";
import { defineDurableLoop, type DurableLoop, type DurableLoopFields } from "turnwright/dbos";
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

/** The definition of the loop, for any engine. */
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

/** Returns what the model has said after an event, as a page shows it. Nested runs are left out. */
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
