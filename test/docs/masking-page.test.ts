import { expect, it } from "vitest";
import { defineTool, maskResults, runToolLoop } from "turnwright";
import type { MaskingOptions } from "../../src/core/types/middleware-options.ts";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { readPage } from "./read-page.ts";

interface Traffic {
  readonly sent: number;
  /** The number of bytes with which this request and the previous request begin equally. */
  readonly shared: number;
}

async function measure(masking: MaskingOptions | undefined): Promise<Traffic> {
  const provider = createMockProvider((_, index) => (index < 99 ? toolCall("search", { page: index }) : text("Done.")));
  const search = defineTool<{ page: number }>({
    name: "search",
    description: "Finds pages",
    inputSchema: { type: "object" },
    execute: ({ page }) => `${page} `.repeat(4_000).slice(0, 4_000),
  });
  const messages = [{ role: "user" as const, content: "What makes the tides?" }];
  await runToolLoop({ provider, tools: [search], messages, middleware: [masking && maskResults(masking)] });
  // Leaves out the last bracket, because the next request has a comma at this place.
  const requests = provider.requests.map((request) => JSON.stringify(request.messages).slice(0, -1));
  const shared = requests.map((request, index) => countShared(request, requests[index - 1] ?? ""));
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  return { sent: sum(requests.map(({ length }) => length)), shared: sum(shared) };
}

/** The texts are ASCII, so each character is one byte. */
function countShared(request: string, before: string): number {
  const most = Math.min(request.length, before.length);
  for (let at = 0; at < most; at += 1) if (request[at] !== before[at]) return at;
  return most;
}

const rows: readonly (readonly [name: string, masking: MaskingOptions | undefined])[] = [
  ["none", undefined],
  ["`batchOf: 1`", {}],
  ["`batchOf: 5`", { batchOf: 5 }],
  ["`batchOf: 10`", { batchOf: 10 }],
  ["`batchOf: 25`", { batchOf: 25 }],
];

it("docs/guides/results-and-masking.md: shows the measured figures, with a higher cached share for larger batches", async () => {
  const measured = await Promise.all(rows.map(([, masking]) => measure(masking)));
  const lines = measured.map(({ sent, shared }, index) => {
    const percent = ((100 * shared) / sent).toFixed(1);
    const cells = [rows[index]?.[0], ...[sent, shared].map((count) => count.toLocaleString("en")), `${percent}%`];
    return `| ${[...cells, (sent - shared).toLocaleString("en")].join(" | ")} |`;
  });
  const header = "| Masking | Bytes sent | Identical to the previous request | Share | Read anew |\n|---|--:|--:|--:|--:|";
  const table = [header, ...lines].join("\n");
  console.log(table);
  const [, single, ...batched] = measured;
  for (const { sent, shared } of batched) {
    expect(shared / sent).toBeGreaterThan((single?.shared ?? 0) / (single?.sent ?? 1));
    expect(sent - shared).toBeLessThan((single?.sent ?? 0) - (single?.shared ?? 0));
    expect(sent).toBeLessThan(measured[0]?.sent ?? 0);
  }
  expect(readPage("docs/guides/results-and-masking.md")).toContain(`<!-- figures:start -->\n${table}\n<!-- figures:end -->`);
});
