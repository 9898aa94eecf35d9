import {
  contextRestarts,
  createLoopControl,
  defineTool,
  type LoopOptions,
  maskResults,
  prepareIteration,
  runToolLoop,
} from "turnwright";
import { anthropicMessages, type AnthropicMessagesOptions } from "turnwright/anthropic";
import { createMockProvider, createTestClock, type TestClock, toolCall } from "turnwright/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type CacheAnswer, CacheServer, listBlocks } from "./cache-server.ts";

const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object" },
  execute: (args) => `seen ${JSON.stringify(args)}`,
});

/** Between 1 and 15 calls, so that an iteration adds up to 30 blocks. */
const countCalls = (iteration: number): number => 1 + ((iteration * 7) % 15);

function* messageOf(iteration: number, calls: number): Generator<object> {
  yield { type: "message_start", message: { usage: { input_tokens: 1, output_tokens: 1 } } };
  for (let index = 0; index < calls; index += 1) {
    const block = { type: "tool_use", id: `c${iteration}_${index}`, name: "look", input: { iteration, index } };
    yield { type: "content_block_start", index, content_block: block };
    yield { type: "content_block_stop", index };
  }
  if (calls === 0) yield { type: "content_block_start", index: 0, content_block: { type: "text", text: "Done." } };
  const delta = { stop_reason: calls === 0 ? "end_turn" : "tool_use" };
  yield { type: "message_delta", delta, usage: { output_tokens: 2 } };
  yield { type: "message_stop" };
}

interface Served {
  readonly answers: readonly CacheAnswer[];
  readonly bodies: readonly object[];
}

interface Serving {
  readonly iterations: number;
  readonly options?: Partial<AnthropicMessagesOptions>;
  readonly calls?: (iteration: number) => number;
  readonly clock?: TestClock;
  readonly onRequest?: (index: number) => void | Promise<void>;
}

async function serve(
  serving: Serving,
  more: (provider: ReturnType<typeof anthropicMessages>) => Partial<LoopOptions>,
): Promise<Served> {
  const { iterations, calls = countCalls, clock = createTestClock(), onRequest } = serving;
  const server = new CacheServer(clock);
  const bodies: object[] = [];
  const create = async (body: object): Promise<AsyncIterable<unknown>> => {
    const index = bodies.push(body) - 1;
    await onRequest?.(index);
    server.take(body);
    const iteration = (body as { messages: readonly { role: string }[] }).messages.filter(
      ({ role }) => role === "assistant",
    ).length;
    return (async function* () {
      yield* messageOf(iteration, iteration < iterations - 1 ? calls(iteration) : 0);
    })();
  };
  const provider = anthropicMessages({ client: { messages: { create } }, model: "m", cache: true, ...serving.options });
  const messages = [{ role: "user", content: "Look around." }] as const;
  const options = { provider, tools: [look], messages, system: "Be brief.", clock, limits: { maxIterations: 200 } };
  const result = await runToolLoop({ ...options, ...more(provider) });
  expect(result.status).toBe("completed");
  return { answers: server.answers, bodies };
}

/** Lists the requests that did not read everything up to the last mark of the previous request. */
const missesOf = (answers: readonly CacheAnswer[]): readonly string[] =>
  answers.flatMap(({ read }, at) => {
    const before = answers[at - 1]?.lastMark ?? 0;
    return read >= before ? [] : [`request ${at} read ${read} of ${before} blocks`];
  });

it("anthropicMessages with cache: each of 100 requests reads everything that the previous request cached", async () => {
  const { answers } = await serve({ iterations: 100 }, () => ({}));
  expect(answers).toHaveLength(100);
  expect(missesOf(answers)).toEqual([]);
});

it("anthropicMessages with cache: reads the whole cache despite context items and steered messages", async () => {
  const control = createLoopControl();
  const onRequest = (index: number): void => {
    if (index % 3 === 1) control.steer({ role: "user", content: `Hint ${index}` });
    if (index % 6 === 1) control.steer({ role: "user", content: `Second hint ${index}` });
  };
  const { answers } = await serve({ iterations: 40, onRequest }, () => ({
    control,
    middleware: [contextRestarts({ items: ["It is noon."] })],
  }));
  expect(answers).toHaveLength(40);
  expect(missesOf(answers)).toEqual([]);
});

it("anthropicMessages with cache: reads the last cache entry after some iterations with a different provider", async () => {
  const away = { from: 10, to: 14 };
  const { answers } = await serve({ iterations: 30 }, (provider) => ({
    middleware: [
      prepareIteration((view) => {
        const { iteration } = view;
        const calls = Array.from({ length: 15 }, (_, index) =>
          toolCall("look", { iteration, index }, { id: `x${iteration}_${index}` }),
        );
        const isAway = iteration >= away.from && iteration <= away.to;
        return isAway ? { provider: createMockProvider([calls]) } : { provider };
      }),
    ],
  }));
  expect(answers).toHaveLength(25);
  expect(missesOf(answers)).toEqual([]);
});

/** Counts the blocks with which both bodies begin. Ignores cache marks. */
function countShared(one: object, other: object): number {
  const [before, after] = [one, other].map((body) => listBlocks(body).map(({ text }) => text));
  const at = before?.findIndex((text, index) => text !== after?.[index]) ?? -1;
  return at === -1 ? (before?.length ?? 0) : at;
}

it("anthropicMessages with cache: masking loses at most the 20 blocks before the first masked result", async () => {
  const masking = maskResults({ keepIterations: 2, minTokens: 0, batchOf: 10 });
  const { answers, bodies } = await serve({ iterations: 100 }, () => ({ middleware: [masking] }));
  const losses = answers.slice(1).map(({ read }, at) => {
    const possible = Math.min(answers[at]?.lastMark ?? 0, countShared(bodies[at] ?? {}, bodies[at + 1] ?? {}));
    return possible - read;
  });
  expect(losses.filter((lost) => lost > 0)).toHaveLength(9);
  expect(Math.max(...losses)).toBeLessThanOrEqual(20);
});

it("anthropicMessages with cache: reads nothing from the cache after an iteration that outlasts the cache's lifetime", async () => {
  const clock = createTestClock();
  const onRequest = async (index: number): Promise<void> => {
    if (index === 5) await clock.advance(300_000);
  };
  const timeouts = { firstChunkMs: 600_000, streamIdleMs: 600_000 };
  const { answers } = await serve({ iterations: 10, clock, onRequest }, () => ({ timeouts }));
  expect(missesOf(answers)).toEqual([`request 5 read 0 of ${answers[4]?.lastMark} blocks`]);
});

const steps = fc.array(fc.record({ calls: fc.integer({ min: 1, max: 40 }), hints: fc.integer({ min: 0, max: 3 }) }), {
  minLength: 2,
  maxLength: 12,
});

it("anthropicMessages with cache: always reads the last cache entry, for any number of calls and steered messages", async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (plan, hasContext) => {
      const control = createLoopControl();
      const onRequest = (index: number): void => {
        for (let hint = 0; hint < (plan[index]?.hints ?? 0); hint += 1) control.steer({ role: "user", content: `Hint ${hint}` });
      };
      const serving = { iterations: plan.length + 1, calls: (iteration: number) => plan[iteration]?.calls ?? 1, onRequest };
      const { answers } = await serve(serving, () => ({
        control,
        middleware: [contextRestarts({ items: hasContext ? ["It is noon."] : [] })],
      }));
      expect(missesOf(answers)).toEqual([]);
    }),
    { numRuns: 20 },
  );
});
