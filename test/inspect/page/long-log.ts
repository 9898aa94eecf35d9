// The log of a run with many iterations and long results.

import { maskResults } from "turnwright";
import { createMockProvider, text, toolCall, wait } from "turnwright/testing";
import { openStage, pricing, system, tokens, toolsOf } from "./sample-stage.ts";

interface LongShape {
  readonly resultLength?: number;
}

export async function longLog(iterations: number, { resultLength = 1200 }: LongShape = {}): Promise<string> {
  const { clock, lines, run } = openStage();
  const tool = toolsOf(clock);
  const words = ["price", "stock", "order", "parcel", "invoice", "teapot", "harvest", "garden"];
  const page = (n: number): string => {
    const parts: string[] = [];
    for (let length = 0, at = n; length < resultLength; at += 7) {
      const part = `${at}: the ${words[at % 8] ?? ""} of the ${words[(at * 3 + n) % 8] ?? ""}\n`;
      parts.push(part);
      length += part.length;
    }
    return parts.join("");
  };
  await run({
    provider: createMockProvider(
      (_request, index) => {
        const used = tokens(2_000 + index * 40, 60, index === 0 ? 0 : 1_900 + index * 38);
        if (index >= iterations - 1) return [wait(500), text("All orders are checked."), used];
        const second = index % 5 === 0 ? [toolCall("write_note", { n: index })] : [];
        return [
          wait(250 + (index % 7) * 90),
          text(`Page ${index}.`),
          toolCall("read_page", { n: index }),
          ...second,
          wait(150),
          used,
        ];
      },
      { record: false },
    ),
    runId: "audit",
    system,
    messages: [{ role: "user", content: "Check all orders." }],
    tools: [
      tool("read_page", 300, ({ n }) => page(Number(n))),
      tool("write_note", 90, ({ n }) => {
        if (Number(n) % 45 === 0) throw new Error("The disk is full");
        return "ok";
      }),
    ],
    middleware: [maskResults({ keepIterations: 20, minTokens: 100, batchOf: 10 })],
    limits: { maxIterations: iterations + 1, maxCostUSD: 100 },
    pricing,
  });
  return lines.join("");
}
