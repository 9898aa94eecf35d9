// A log grows only with the new content of each iteration. This test counts bytes, not time.

import { describe, expect, it } from "vitest";
import { contextRestarts, defineAgentTool, defineTool, type LoopOptions, maskResults, type Message } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { logRun } from "./log-run.ts";

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The maximum number of bytes for an iteration, in addition to its new content. */
const maxBeside = 2_000;

interface Size {
  readonly log: number;
  /** The number of bytes in the messages of the run and its nested runs. */
  readonly content: number;
  readonly firstHalf: number;
}

/** The text is different for each seed. It is JSON with short and long fields. */
function textOf(bytes: number, seed: number): string {
  let written = "";
  for (let row = 0; written.length < bytes; row += 1)
    written += `row ${seed}.${row} has "some" words and a number ${seed * row}\n`;
  return written.slice(0, bytes);
}

function recordOf(bytes: number, seed: number): object {
  const rows = Array.from({ length: Math.ceil(bytes / 90) }, (_, id) => ({
    id,
    name: `item ${seed}.${id}`,
    note: textOf(40, seed + id),
  }));
  return { rows };
}

interface Shape {
  readonly resultOf?: (iteration: number) => unknown;
  readonly argsOf?: (iteration: number) => object;
  readonly options?: Partial<LoopOptions>;
}

async function measure(iterations: number, { resultOf = () => "ok", argsOf = () => ({}), options }: Shape): Promise<Size> {
  const read = defineTool<{ readonly n: number }>({
    name: "read",
    description: "Reads a file of the repository and returns its content.",
    inputSchema: { type: "object", properties: { n: { type: "number", description: "The number of the file." } } },
    execute: ({ n }) => resultOf(n),
  });
  const provider = createMockProvider(
    ({ iteration }) =>
      iteration < iterations
        ? [text(`Reading file ${iteration}. `, { chunks: 5 }), toolCall("read", { n: iteration, ...argsOf(iteration) })]
        : text("Done."),
    { record: false },
  );
  const messages: readonly Message[] = [{ role: "user", content: "Read everything." }];
  const limits = { maxIterations: iterations + 1, toolConcurrency: 1 };
  const { lines, result, log } = await logRun({
    provider,
    tools: [read],
    messages,
    limits,
    system: textOf(3_000, 1),
    runId: "r",
    ...options,
  });
  expect(result.text).toBe("Done.");
  const nested = log.runs.flatMap((run) => run.iterations.flatMap(({ calls }) => calls.flatMap(({ runs }) => runs)));
  const inside = nested.flatMap(({ iterations: inner }) => inner.at(-1)?.request?.messages() ?? []);
  const half = lines.findIndex(
    (line) => line.startsWith('{"type":"iteration-start"') && line.includes(`"run":0,"iteration":${iterations / 2},`),
  );
  return {
    log: Buffer.byteLength(lines.join("")),
    content: bytesOf(result.messages) + bytesOf(inside),
    firstHalf: Buffer.byteLength(lines.slice(0, half).join("")),
  };
}

const kinds: readonly (readonly [what: string, shape: Shape, iterations?: number])[] = [
  ...[100, 1_000, 5_000, 50_000].map((bytes): readonly [string, Shape, number] => [
    `texts of ${bytes} bytes as results`,
    { resultOf: (n) => textOf(bytes, n) },
    bytes > 5_000 ? 40 : 60,
  ]),
  ...[100, 1_000, 5_000].map((bytes): readonly [string, Shape] => [
    `records of ${bytes} bytes as results`,
    { resultOf: (n) => recordOf(bytes, n) },
  ]),
  [
    "masked results of 5,000 bytes",
    { resultOf: (n) => textOf(5_000, n), options: { middleware: [maskResults({ keepIterations: 2, minTokens: 0 })] } },
  ],
  [
    "masked results of 1,000 bytes and context items",
    {
      resultOf: (n) => textOf(1_000, n),
      options: {
        middleware: [
          maskResults({ keepIterations: 5, batchOf: 10, minTokens: 0 }),
          contextRestarts({ items: [{ note: textOf(2_000, 7) }] }),
        ],
      },
    },
  ],
  ["arguments of 5,000 bytes", { argsOf: (n) => ({ body: textOf(5_000, n), rows: [recordOf(200, n)] }) }],
];

describe("a run log's size", () => {
  it.for(kinds)(
    "is at most 1.3 times the new content plus 2 KB per iteration, with %s",
    { timeout: 60_000 },
    async ([, shape, iterations = 60]) => {
      const { log, content, firstHalf } = await measure(iterations, shape);
      expect(log).toBeLessThan(1.3 * content + maxBeside * (iterations + 1));
      expect((log - firstHalf) / firstHalf).toBeCloseTo(1, 1);
    },
  );

  it("is at most 1.3 times the new content plus 2 KB per iteration, with nested runs", { timeout: 60_000 }, async () => {
    const inner = createMockProvider(({ messages }) => text(`Answer to ${JSON.stringify(messages).length}. ${textOf(2_000, 3)}`));
    const ask = defineAgentTool<{ readonly n: number }>({
      name: "read",
      description: "Asks an expert.",
      inputSchema: { type: "object" },
      prepare: ({ n }) => ({ messages: [{ role: "user", content: textOf(1_000, n) }], provider: inner }),
    });
    const { log, content, firstHalf } = await measure(100, { options: { tools: [ask] } });
    // Each iteration contains one iteration of a nested run.
    expect(log).toBeLessThan(1.3 * content + maxBeside * 2 * 101);
    expect((log - firstHalf) / firstHalf).toBeCloseTo(1, 1);
  });
});
