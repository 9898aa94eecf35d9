// Two tools: one reads from a service, the other one has a side effect and needs a person's approval.

import { defineTool, type Tool } from "turnwright";
import { z } from "zod";

export interface Services {
  readonly fetch: typeof fetch;
  book(booking: { readonly table: number; readonly key: string }): Promise<{ readonly id: string }>;
}

export function createTools({ fetch, book }: Services): { readonly findTable: Tool; readonly bookTable: Tool } {
  const findTable = defineTool({
    name: "find_table",
    description: "Finds a free table of a restaurant",
    inputSchema: z.object({ guests: z.number().int().min(1).max(12) }),
    timeoutMs: 5_000,
    async execute({ guests }, { signal }) {
      // The signal ends the request after a stop and after the timeout.
      const response = await fetch(`https://tables.example/free?guests=${guests}`, { signal });
      if (!response.ok) throw new Error(`The service for tables answered with ${response.status}. Try once more, then give up.`);
      return (await response.json()) as unknown;
    },
  });

  const bookTable = defineTool({
    name: "book_table",
    description: "Books a table",
    inputSchema: z.object({ table: z.number().int() }),
    needsApproval: true,
    // After a crash, nobody knows whether the call ran. With the same key, the service books only once.
    execute: ({ table }, { idempotencyKey }) => book({ table, key: idempotencyKey }),
  });

  return { findTable, bookTable };
}
