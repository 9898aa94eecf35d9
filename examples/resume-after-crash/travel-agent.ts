// A travel agent: a model, tools, and a ledger that lists all bookings and charges.

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { defineTool, type ModelRequest, type Provider, type Tool } from "turnwright";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";
import { z } from "zod";

/** The bookings and charges, oldest first. None of them can be undone. */
export interface Ledger {
  add(entry: string): void;
  entries(): readonly string[];
}

/** The file does not need to exist. */
export function openLedger(path: string): Ledger {
  return {
    add: (entry) => appendFileSync(path, `${entry}\n`),
    entries: () => (existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : []),
  };
}

/** Resolves when the bank confirms the charge. */
export type Bank = (usd: number) => Promise<string>;

/** A booking or charge must not be repeated after a crash. Reading the ledger may be repeated. */
export function createTools(ledger: Ledger, bank: Bank): readonly Tool[] {
  const book = (what: "flight" | "hotel"): Tool =>
    defineTool({
      name: `book_${what}`,
      description: `Books a ${what}`,
      inputSchema: z.object({ city: z.string() }),
      execute({ city }) {
        ledger.add(`${what} to ${city}`);
        return { booked: true };
      },
    });
  const charge = defineTool({
    name: "charge_card",
    description: "Charges the customer's card",
    inputSchema: z.object({ usd: z.number() }),
    async execute({ usd }) {
      ledger.add(`charge of ${usd} USD`);
      return { receipt: await bank(usd) };
    },
  });
  const find = defineTool({
    name: "find_charges",
    description: "Lists what the card was charged with",
    inputSchema: z.object({}),
    replay: "safe",
    execute: () => ledger.entries().filter((entry) => entry.startsWith("charge")),
  });
  return [book("flight"), book("hotel"), charge, find];
}

/** If a tool result says that a charge may have been made, the model first checks the ledger. */
export function createModel(): Provider {
  return createMockProvider((request) => (isUnsure(request) ? toolCall("find_charges") : turns[iterationOf(request)]));
}

const turns: readonly MockMessage[] = [
  [text("I book both. "), toolCall("book_flight", { city: "Lisbon" }), toolCall("book_hotel", { city: "Lisbon" })],
  toolCall("charge_card", { usd: 640 }),
  text("Lisbon is booked, and your card was charged."),
  text("Lisbon is booked. We were cut off over the payment: I looked, and your card was charged once."),
];

function iterationOf({ messages }: ModelRequest): number {
  return messages.filter(({ role }) => role === "assistant").length;
}

function isUnsure({ messages }: ModelRequest): boolean {
  const last = messages.at(-1);
  return last?.role === "tool" && last.results.some(({ outcome }) => outcome === "interrupted");
}
