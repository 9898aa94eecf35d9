import { defineTool, type Journal, type Json, type LoopOptions, runToolLoop } from "turnwright";
import type { BlobStore } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";

export interface CountedStore extends BlobStore {
  readonly texts: Map<string, string>;
  readonly puts: string[];
  readonly gets: (readonly string[])[];
}

export function createStore(): CountedStore {
  const texts = new Map<string, string>();
  const puts: string[] = [];
  const gets: (readonly string[])[] = [];
  return {
    texts,
    puts,
    gets,
    put(id, given) {
      puts.push(id);
      texts.set(id, given);
    },
    get(ids) {
      gets.push(ids);
      return new Map(ids.flatMap((id) => (texts.has(id) ? [[id, texts.get(id) ?? ""]] : [])));
    },
  };
}

export const large: string = "x".repeat(5_000);

/** The run calls a tool with a large result `calls` times. */
export function optionsOf(
  calls: number,
  result: (n: number) => Json = (n) => ({ n, large }),
): Omit<LoopOptions, "journal"> & { readonly ran: number[] } {
  const ran: number[] = [];
  const read = defineTool<{ readonly n: number }>({
    name: "read",
    description: "Reads",
    inputSchema: { type: "object" },
    execute: ({ n }) => (ran.push(n), result(n)),
  });
  return {
    provider: createMockProvider(({ iteration }) => (iteration < calls ? toolCall("read", { n: iteration }) : text("Done."))),
    tools: [read],
    messages: [{ role: "user", content: "Go." }],
    runId: "run",
    limits: { maxIterations: calls + 1 },
    ran,
  };
}

export function play({ ran: _, ...options }: ReturnType<typeof optionsOf>, journal: Journal): ReturnType<typeof runToolLoop> {
  return runToolLoop({ ...options, journal });
}
