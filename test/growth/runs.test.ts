import { expect, it } from "vitest";
import {
  defineTool,
  detectLoops,
  type LoopOptions,
  maskResults,
  type Message,
  type ModelChunk,
  processResults,
  type Provider,
  repairMessages,
  runToolLoop,
  truncateResults,
  withFallback,
  withRetry,
} from "turnwright";
import { createResultCache } from "turnwright/cache";
import { tracing } from "turnwright/observe";
import { planLogs, withPlanner } from "turnwright/middleware";
import { createMockProvider, memoryCassette, recordTo, replayFrom, text } from "turnwright/testing";
import { ask, createCall } from "../wire/provider-iteration.ts";
import { collect } from "../wire/scripted-stream.ts";
import { growthOf, maxGrowth, type Prepare } from "./measure.ts";
import type { Row } from "./rows.ts";
import { addWatchers } from "../add-watchers.ts";

const messages: readonly Message[] = [{ role: "user", content: "go" }];
const tool = defineTool({ name: "t", description: "", inputSchema: { type: "object" }, execute: () => "x".repeat(100) });

function says(size: number, chunk: (index: number) => ModelChunk, last: ModelChunk): Provider {
  return {
    id: "p",
    model: "m",
    async *stream({ iteration }) {
      if (iteration === 0) for (let index = 0; index < size; index += 1) yield chunk(index);
      else yield { type: "text-delta", text: "ok" };
      yield iteration === 0 ? last : stop;
    },
  };
}

const stop: ModelChunk = { type: "finish", reason: "stop" };
const toCalls: ModelChunk = { type: "finish", reason: "tool-calls" };
const textChunk = (): ModelChunk => ({ type: "text-delta", text: " " });
const thoughtChunk = (): ModelChunk => ({ type: "reasoning-delta", text: "x" });
const callChunk = (index: number): ModelChunk => ({
  type: "call-ready",
  key: `k${index}`,
  id: `c${index}`,
  name: "t",
  args: { index },
});
const wrongChunk = (index: number): ModelChunk => ({ ...callChunk(index), name: `t${index}` }) as ModelChunk;
const piece = (index: number): ModelChunk =>
  index === 0 ? { type: "call-start", key: "k", name: "t" } : { type: "call-args-delta", key: "k", text: " " };

const run = (options: Partial<LoopOptions> & Pick<LoopOptions, "provider">) => (): unknown =>
  runToolLoop({ messages, tools: [tool], ...options });

const middleware = [maskResults({ keepIterations: 0, minTokens: 0 }), detectLoops({ compareResults: true, threshold: 3 })];

const historyOf = (size: number): readonly Message[] =>
  Array.from({ length: size }, (_, index) => ({ role: "user", content: `q${index}` }));

const planned: Prepare = (size) => async () => {
  const commands = Array.from({ length: size }, () => ({ tool_name: "t", tool_kwargs: {}, purpose: "" }));
  const answers = [{ next_action: "execute", execution_commands: commands }, { next_action: "response" }].map((plan) =>
    text(JSON.stringify(plan)),
  );
  const provider = withPlanner(createMockProvider([...answers, text("ok")]));
  const result = await runToolLoop({ messages, tools: [tool], provider, limits: { maxToolCalls: 1e6 } });
  expect(planLogs(result)).toHaveLength(size);
};

const runs: readonly Row[] = [
  ["runToolLoop: reading many text chunks", 3_000, (size) => run({ provider: says(size, textChunk, stop) })],
  ["runToolLoop: reading many reasoning chunks", 3_000, (size) => run({ provider: says(size, thoughtChunk, stop) })],
  ["runToolLoop: reading many argument chunks of one call", 3_000, (size) => run({ provider: says(size, piece, toCalls) })],
  [
    "runToolLoop: executing many calls",
    1_500,
    (size) => run({ provider: says(size, callChunk, toCalls), limits: { maxToolCalls: 1e6 } }),
  ],
  [
    "runToolLoop: executing many calls with loop detection, masking and result processing",
    300,
    (size) =>
      run({
        provider: says(size, callChunk, toCalls),
        limits: { maxToolCalls: 1e6 },
        middleware: [
          ...middleware,
          processResults({
            processor: truncateResults({ maxTokens: 50 }).processor,
            cacher: createResultCache({ threshold: 1 }).cacher,
          }),
        ],
        tools: [tool, createResultCache().tool],
      }),
  ],
  [
    "runToolLoop: answering many calls to unknown tools",
    300,
    (size) => run({ provider: says(size, wrongChunk, toCalls), limits: { maxConsecutiveToolErrors: 1e6 } }),
  ],
  ["withRetry: reading many text chunks", 3_000, (size) => run({ provider: withRetry(says(size, textChunk, stop)) })],
  [
    "withFallback: reading many text chunks",
    3_000,
    (size) => run({ provider: withFallback([says(size, textChunk, stop), says(1, textChunk, stop)]) }),
  ],
  [
    "withPlanner: reading a plan of spaces",
    3_000,
    (size) => run({ provider: withPlanner(says(size, textChunk, stop), { planRetries: 0 }) }),
  ],
  [
    "withPlanner: sending many user messages",
    3_000,
    (size) => {
      const provider = withPlanner(createMockProvider([text('{"next_action":"response"}'), text("ok")]));
      return run({ provider, messages: historyOf(size) });
    },
  ],
  ["withPlanner: executing a plan with many commands", 1_000, planned],
  [
    "tracing: recording many chunks with captureContent",
    2_000,
    (size) => {
      const provider = says(size, (index) => (index % 2 === 0 ? textChunk() : thoughtChunk()), stop);
      return run(addWatchers({ messages, tools: [tool], provider }, tracing({ captureContent: true })));
    },
  ],
  [
    "recordTo and replayFrom: recording and replaying many chunks",
    500,
    (size) => async () => {
      const cassette = memoryCassette();
      await collect(recordTo(cassette, says(size, textChunk, stop)).stream(ask("hi"), createCall()));
      await collect(replayFrom(cassette).stream(ask("hi"), createCall()));
    },
  ],
  [
    "repairMessages: a history with many tool results",
    1_000,
    (size) => {
      const ids = Array.from({ length: size }, (_, index) => `c${index}`);
      const history: Message[] = [
        { role: "user", content: "q" },
        { role: "assistant", content: ids.map((callId) => ({ type: "tool-call", callId, name: "t", args: {} })) },
        ...ids.map((callId): Message => ({ role: "tool", results: [{ callId, name: "t", outcome: "completed", result: 1 }] })),
      ];
      return run({ provider: says(1, textChunk, stop), messages: repairMessages(history) });
    },
  ],
  [
    "runToolLoop: sending a long history",
    1_000,
    (size) => run({ provider: says(1, textChunk, stop), messages: historyOf(size) }),
  ],
];

it.for<Row>(runs)("%s takes linear time", async ([, size, prepare]) => {
  expect(await growthOf(prepare, size)).toBeLessThan(maxGrowth);
});
