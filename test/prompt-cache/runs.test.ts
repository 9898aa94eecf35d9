import {
  contextRestarts,
  type LoopOptions,
  maskResults,
  memoryJournal,
  type Middleware,
  prepareIteration,
  type Provider,
  runToolLoop,
  withFallback,
  withRetry,
} from "turnwright";
import { withPlanner } from "turnwright/middleware";
import {
  createMockProvider,
  expectPrefix,
  fail,
  finish,
  memoryCassette,
  recordTo,
  replayFrom,
  text,
  toolCall,
  usage,
} from "turnwright/testing";
import { expect, it } from "vitest";
import { look, playWatched, rounds } from "./play-watched.ts";

const messages = [{ role: "user", content: "Look around." }] as const;
const systems = (change: (iteration: number) => string): Partial<LoopOptions> => ({
  middleware: [prepareIteration(({ iteration }) => ({ system: change(iteration) }))],
});
const causesOf = (breaks: readonly { readonly iteration: number; readonly cause: object }[]): readonly unknown[] =>
  breaks.map(({ iteration, cause }) => [iteration, cause]);

it("watchPromptCache: 100 iterations with masking keep at least 95% of the possible cache prefix", async () => {
  const masking = maskResults({ keepIterations: 2, minTokens: 0, batchOf: 10 });
  const { result, recording } = await playWatched(
    rounds(100, (iteration) => 1 + (iteration % 5)),
    { middleware: [masking] },
  );
  expect(result.cache?.requests).toBe(100);
  expect(recording.of("masked")).toHaveLength(9);
  expect(recording.of("cache-break").map(({ cause, isIntended }) => [cause.kind, isIntended])).toEqual(
    Array.from({ length: 9 }, () => ["messages-masked", true]),
  );
  expect(result.cache?.share).toBeGreaterThanOrEqual(0.95);
  const { sharedBytes = 0, prefixBytes = 0 } = result.cache ?? {};
  expect(sharedBytes / prefixBytes).toBeGreaterThan(0.95);
  expect(sharedBytes).toBeLessThan(prefixBytes);
  expectPrefix(result, 0.95);
});

it("watchPromptCache: a run without this middleware reports nothing", async () => {
  const sendings: unknown[] = [];
  const provider = createMockProvider(rounds(3));
  const spy: Provider = { ...provider, stream: (request, call) => (sendings.push(call.sending), provider.stream(request, call)) };
  const result = await runToolLoop({ provider: spy, tools: [look], messages });
  expect([result.cache, sendings, result.streamResults.map(({ cache }) => cache)]).toEqual([
    undefined,
    [undefined, undefined, undefined],
    [undefined, undefined, undefined],
  ]);
});

it("watchPromptCache: the possible prefix ends at a masked result, even if the system text has changed", async () => {
  const masking = maskResults({ keepIterations: 1, minTokens: 0 });
  const { middleware } = systems((iteration) => `Be brief ${iteration >> 1}.`);
  const { result } = await playWatched(rounds(3), { middleware: [masking, ...(middleware ?? [])] });
  const { result: masked } = await playWatched(rounds(3), { middleware: [masking], system: "Be brief 0." });
  const [, , both] = result.streamResults.flatMap(({ cache }) => cache?.requests ?? []);
  const [, , only] = masked.streamResults.flatMap(({ cache }) => cache?.requests ?? []);
  expect(both?.break).toMatchObject({ cause: { kind: "system-changed" }, isIntended: false });
  expect(only?.break).toMatchObject({ cause: { kind: "messages-masked" }, isIntended: true });
  expect([both?.possibleBytes, both?.prefixBytes]).toEqual([only?.possibleBytes, only?.prefixBytes]);
  expect(both?.sharedBytes).toBeLessThan(only?.sharedBytes ?? 0);
});

const providerOf = (id: string, model: string): Provider => createMockProvider(rounds(5), { id, model });

it("watchPromptCache: going back to the first model does not break the cache", async () => {
  const [one, two, three] = [providerOf("a", "m"), providerOf("a", "n"), providerOf("b", "n")];
  const providers = [one, two, three, one, one];
  const hooks: readonly Middleware[] = [prepareIteration(({ iteration }) => ({ provider: providers[iteration] ?? one }))];
  const { recording, result } = await playWatched(rounds(5), { middleware: hooks });
  expect(recording.of("cache-break")).toMatchObject([
    { iteration: 1, provider: "a", model: "n", cause: { kind: "model-changed", values: ["m", "n"] }, keptBytes: 0 },
    { iteration: 2, provider: "b", model: "n", cause: { kind: "provider-changed", values: ["a", "b"] }, keptBytes: 0 },
  ]);
  const [first] = result.streamResults.flatMap(({ cache }) => cache?.requests ?? []);
  expect(recording.of("cache-break")[0]?.lostBytes).toBe(first?.bytes);
});

it("watchPromptCache: withRetry, withFallback and recordTo attribute each request to the provider that sends it", async () => {
  const busy = fail({ status: 529, message: "Busy" });
  const first = createMockProvider([busy, busy, text("Hi")], { id: "first" });
  const second = createMockProvider([text("Hello")], { id: "second" });
  const provider = withFallback([recordTo(memoryCassette(), withRetry(first, { maxAttempts: 2, baseDelayMs: 0 })), second]);
  const { result } = await playWatched([], { provider });
  const requests = result.streamResults.flatMap(({ cache }) => cache?.requests ?? []);
  expect(result.text).toBe("Hello");
  expect(
    requests.map(({ provider: id, prefixBytes, sharedBytes }) => [id, prefixBytes > 0, sharedBytes === prefixBytes]),
  ).toEqual([
    ["first", false, true],
    ["first", true, true],
    ["second", true, false],
  ]);
  expect(causesOf(result.cache?.breaks ?? [])).toEqual([[0, { kind: "provider-changed", values: ["first", "second"] }]]);
});

it("watchPromptCache: withPlanner reports the requests for plans and for the answer", async () => {
  const plan = (action: string): string =>
    JSON.stringify({
      next_action: action,
      execution_commands: action === "execution" ? [{ purpose: "p", tool_name: "look", tool_kwargs: {} }] : [],
    });
  const provider = withPlanner(createMockProvider([text(plan("execution")), text(plan("response")), text("Done.")]));
  const { result } = await playWatched([], { provider });
  expect(result.text).toBe("Done.");
  expect(result.cache?.requests).toBe(3);
});

it("watchPromptCache: a paused message that grows is not a cache break", async () => {
  const script = [
    [text("One, "), finish("paused")],
    [text("two, "), finish("paused")],
    [text("three."), toolCall("look", {})],
    text("Done."),
  ];
  const { result, recording } = await playWatched(script, { middleware: [contextRestarts({ items: ["It is noon."] })] });
  expect(result.streamResults).toHaveLength(4);
  expect(recording.of("cache-break")).toEqual([]);
  expect(result.cache?.share).toBe(1);
});

it("watchPromptCache: a replay emits the same events, marked as replayed", async () => {
  const journal = memoryJournal();
  const options = { ...systems((iteration) => `Be brief ${iteration >> 1}.`), runId: "r", journal };
  const first = await playWatched(rounds(5), options);
  const again = await playWatched([], { ...options, journal: memoryJournal(JSON.parse(JSON.stringify(journal))) });
  expect(first.recording.of("cache-break").map(({ replayed }) => replayed)).toEqual([undefined, undefined]);
  expect(again.recording.of("cache-break")).toEqual(
    first.recording.of("cache-break").map((event) => ({ ...event, replayed: true })),
  );
  expect(again.result.cache).toEqual(first.result.cache);
  const saved = memoryJournal(JSON.parse(JSON.stringify(journal)));
  const plain = runToolLoop({ provider: createMockProvider([]), tools: [look], messages, runId: "r", journal: saved });
  await expect(plain).rejects.toMatchObject({ code: "journal-mismatch", details: { field: "middleware" } });
});

const tokens = usage({ inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 80, cacheWriteTokens: 5 });
const pricing: LoopOptions["pricing"] = ({
  inputTokens,
  outputTokens,
  cachedInputTokens: read = 0,
  cacheWriteTokens: written = 0,
}) => inputTokens - read - written + read * 0.1 + written * 1.25 + outputTokens * 5;

it("watchPromptCache: result.cache contains the reported tokens and the cost savings", async () => {
  const script = [
    [toolCall("look", {}), tokens],
    [text("Done."), tokens],
  ];
  const { result } = await playWatched(script, { pricing });
  expect(result.cache).toMatchObject({ cachedTokens: 160, cacheWriteTokens: 10 });
  expect(result.cache?.savedUSD).toBeCloseTo(2 * (80 * 0.9 - 5 * 0.25));
  const unpriced = await playWatched(script);
  expect([unpriced.result.cache?.savedUSD, unpriced.result.cache?.cachedTokens]).toEqual([undefined, 160]);
  const uncounted = await playWatched(rounds(2), { pricing });
  expect([uncounted.result.cache?.savedUSD, uncounted.result.cache?.cachedTokens]).toEqual([undefined, undefined]);
});

it("watchPromptCache: ignores a body that cannot be measured", async () => {
  const provider = createMockProvider(rounds(2));
  const bodies = [{ messages: [1n] }, undefined];
  const odd: Provider = {
    ...provider,
    stream: (request, call) => {
      call.sending?.(bodies[request.iteration], odd);
      return provider.stream(request, {
        ...call,
        signal: call.signal,
        clock: call.clock,
        timeouts: call.timeouts,
        heartbeat: () => {},
        iteration: call.iteration,
        sending: undefined,
      });
    },
  };
  const { result } = await playWatched([], { provider: odd });
  expect([result.status, result.cache?.requests]).toEqual(["completed", 0]);
  expect(() => expectPrefix(result)).toThrow("No provider in this run reported its requests.");
});

it("expectPrefix: throws an error that names the first requests with a cache break", async () => {
  const { result } = await playWatched(
    rounds(9),
    systems((iteration) => `${iteration}`),
  );
  const [first] = result.cache?.breaks ?? [];
  const lost = `${first?.lostBytes} of ${(first?.lostBytes ?? 0) + (first?.keptBytes ?? 0)}`;
  expect(() => expectPrefix(result)).toThrow(
    new RegExp(
      `^The requests kept \\d[\\d.]*% of the prefix, but at least 95% was expected\\. These requests broke the prompt cache:\n- iteration 1: system-changed, ${lost} bytes lost\n[^]*- and 3 more$`,
    ),
  );
  expect(() => expectPrefix(result, 0)).not.toThrow();
});

it("expectPrefix: throws for a run that was not watched and for an invalid share", async () => {
  const result = await runToolLoop({ provider: createMockProvider([text("Hi")]), messages });
  expect(() => expectPrefix(result)).toThrow("The run did not watch the prompt cache. Pass middleware: [watchPromptCache()]");
  expect(() => expectPrefix(result, 95)).toThrow(expect.objectContaining({ code: "invalid-option" }));
});

it("watchPromptCache: createMockProvider and replayFrom report their requests", async () => {
  const cassette = memoryCassette();
  const recorded = await playWatched([], { provider: recordTo(cassette, createMockProvider(rounds(3))) });
  const replayed = await playWatched([], { provider: replayFrom(cassette) });
  expect(replayed.result.cache).toEqual(recorded.result.cache);
  expect([replayed.result.cache?.requests, replayed.result.cache?.share]).toEqual([3, 1]);
});
