import fc from "fast-check";
import { expect, it } from "vitest";
import {
  type ModelCall,
  type ModelChunk,
  type ModelRequest,
  type Provider,
  providerError,
  withFallback,
  withRetry,
} from "turnwright";
import {
  createMockProvider,
  endEarly,
  fail,
  failInBand,
  finish,
  type MockPart,
  type MockMessage,
  providerMetadata,
  reasoning,
  stall,
  text,
  usage,
  wait,
} from "turnwright/testing";
import { countListeners } from "../loop/count-listeners.ts";
import { play } from "../loop/play.ts";

const said: fc.Arbitrary<MockPart> = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map((chunks) => text("x".repeat(40), { chunks })),
  fc.integer({ min: 1, max: 150 }).map(wait),
  fc.constantFrom<MockPart[]>(
    reasoning("Hm"),
    providerMetadata(1),
    text(""),
    usage({ inputTokens: 1, outputTokens: 0 }, "delta"),
  ),
);
const ends: fc.Arbitrary<MockPart> = fc.constantFrom<MockPart[]>(
  finish("stop"),
  finish("stop"),
  finish("length"),
  finish("error"),
  finish("unknown"),
  fail({ status: 503 }),
  fail({ status: 401 }),
  fail({ status: 429, headers: { "retry-after-ms": "70" } }),
  failInBand(providerError("overloaded", "Busy.")),
  endEarly(),
  stall(),
  stall({ ignoreSignal: true }),
);
const turns: fc.Arbitrary<MockMessage> = fc
  .tuple(fc.array(said, { maxLength: 4 }), ends)
  .map(([parts, end]) => [usage({ inputTokens: 10, outputTokens: 0 }, "delta"), ...parts, end]);

type Tree =
  | { readonly leaf: readonly MockMessage[] }
  | { readonly retry: Tree; readonly maxAttempts: number }
  | { readonly fallback: readonly Tree[] };

const { tree: trees } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    fc.record({ leaf: fc.array(turns, { minLength: 1, maxLength: 3 }) }),
    fc.record({ retry: tie("tree"), maxAttempts: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ fallback: fc.array(tie("tree"), { minLength: 1, maxLength: 3 }) }),
  ),
}));

interface Watch {
  live: number;
  peak: number;
  lastAskedAt: number;
  lastAskedAfter: number;
  spent: number;
}

function watched(inner: Provider, watch: Watch): Provider {
  async function* stream(request: ModelRequest, call: ModelCall): AsyncGenerator<ModelChunk> {
    let isLive = true;
    const leave = (): void => {
      if (isLive) watch.live -= 1;
      isLive = false;
    };
    watch.live += 1;
    watch.peak = Math.max(watch.peak, watch.live);
    watch.lastAskedAt = call.clock.now();
    watch.lastAskedAfter = watch.spent;
    call.signal.addEventListener("abort", leave, { once: true });
    try {
      for await (const chunk of inner.stream(request, call)) {
        if (chunk.type === "usage") watch.spent += chunk.usage.totalTokens;
        yield chunk;
      }
    } finally {
      leave();
      call.signal.removeEventListener("abort", leave);
    }
  }
  return { id: inner.id, model: inner.model, stream };
}

function build(tree: Tree, watch: Watch, path = "p"): Provider {
  if ("leaf" in tree)
    return watched(
      createMockProvider((_request, index) => tree.leaf[index % tree.leaf.length], { id: path, usage: false }),
      watch,
    );
  if ("retry" in tree)
    return withRetry(build(tree.retry, watch, path), { maxAttempts: tree.maxAttempts, baseDelayMs: 40, random: () => 0.5 });
  return withFallback(
    tree.fallback.map((branch, index) => build(branch, watch, `${path}${index}`)),
    { firstChunkMs: 120, streamIdleMs: 130 },
  );
}

const plans = fc.record({
  tree: trees.map((tree): Tree => ("leaf" in tree ? { retry: tree, maxAttempts: 2 } : tree)),
  stopAt: fc.option(fc.integer({ min: 1, max: 900 }), { nil: undefined }),
  verb: fc.constantFrom<("stop" | "kill")[]>("stop", "kill"),
  // Each attempt costs about ten tokens.
  maxTokens: fc.option(fc.integer({ min: 1, max: 60 }), { nil: Number.POSITIVE_INFINITY }),
});

// To run more cases: ATTEMPTS=10000 SEED=7 npx vitest run test/providers/random-attempts.test.ts
const numRuns = Number(process.env["ATTEMPTS"] ?? 150);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it(
  "withRetry and withFallback, randomly nested, run one attempt at a time and return the result of the last attempt",
  { timeout: 600_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(plans, async ({ tree, stopAt, verb, maxTokens }) => {
        const listeners = countListeners();
        const watch: Watch = { live: 0, peak: 0, lastAskedAt: 0, lastAskedAfter: 0, spent: 0 };
        const playing = play([], {
          provider: build(tree, watch),
          limits: { maxTokens },
          timeouts: { firstChunkMs: 500, streamIdleMs: 400, toolCleanupMs: 20 },
        });
        const { clock, control, recording } = playing;
        if (stopAt !== undefined) {
          await clock.advance(stopAt);
          control[verb]();
        }
        await clock.runAll();
        const ended = await playing.result;
        listeners.stop();

        expect([watch.peak, watch.live, clock.pending, listeners.on(playing.abort.signal)]).toEqual([1, 0, 0, 0]);
        if (ended.status === "stopped-by-user")
          expect([playing.endedAt(), watch.lastAskedAt <= (stopAt ?? 0)]).toEqual([stopAt, true]);
        else expect(ended.usage.totalTokens).toBe(watch.spent);
        expect(watch.lastAskedAfter).toBeLessThan(maxTokens);
        // Every discarded attempt is reported once, in order. The result has only the text of the last attempt.
        const discarded = recording.of("attempt-discarded").map(({ attempt }) => attempt);
        expect(discarded).toEqual(discarded.map((_, index) => index + 1));
        const heard = recording.of("text-delta").filter(({ attempt }) => !discarded.includes(attempt ?? 0));
        expect(new Set(heard.map(({ attempt }) => attempt)).size).toBeLessThanOrEqual(1);
        expect(ended.text).toBe(
          heard
            .map(({ text }) => text)
            .join("")
            .trim(),
        );
        for (const { attempt } of heard) expect(attempt).toBe(discarded.length + 1);
      }),
      { numRuns, seed },
    );
  },
);
