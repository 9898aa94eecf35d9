import { describe, expect, it } from "vitest";
import {
  generateWithTools,
  isLoopError,
  type LoopLimits,
  type LoopOptions,
  type LoopResult,
  type NestedLoopOptions,
  runToolLoop,
  streamToolLoop,
  type Tool,
  type ToolContext,
  toolResult,
  runNested,
} from "turnwright";
import type { LoopErrorOf } from "../../../src/shared/errors/loop-error.ts";
import { createMockProvider, type MockProvider, text, toolCall } from "turnwright/testing";
import { answersOf, play, type Playing, tool } from "../play.ts";
import { kinds, type Kind, nesting, question } from "./nesting.ts";

interface Levels {
  readonly playing: Playing;
  readonly depths: readonly number[];
  readonly providers: readonly MockProvider[];
}

function nest(kind: Kind, levels: number, limits: readonly (LoopLimits | undefined)[] = []): Levels {
  const depths: number[] = [];
  const providers: MockProvider[] = [];
  const below = (level: number): Tool[] => {
    if (level > levels) return [];
    const provider = createMockProvider(level === levels ? [text("Deepest.")] : [toolCall("down"), text(`Level ${level}.`)]);
    providers.push(provider);
    const options: NestedLoopOptions = { messages: question, provider, tools: below(level + 1), limits: limits[level] };
    return [
      nesting(kind, "down", (_, { depth }) => {
        depths.push(depth);
        return options;
      }),
    ];
  };
  const playing = play([toolCall("down"), text("Top.")], { tools: below(1), limits: limits[0] });
  return { playing, depths, providers };
}

const refusal = (current: number, limit: number) => ({
  status: "tool_execution_failed",
  reason: `The nested run would be at level ${current + 1}, but "limits.maxDepth" is ${limit}. Answer without a nested run.`,
  tool_name: "down",
});

describe.for(kinds)("limits.maxDepth for runs in an %s", (kind) => {
  it("allows three levels of runs by default", async () => {
    const { playing, depths, providers } = nest(kind, 2);
    expect((await playing.result).status).toBe("completed");
    expect([depths, providers.map(({ calls }) => calls)]).toEqual([
      [0, 1],
      [2, 1],
    ]);
  });

  it("rejects a fourth level with a reason that the model on the third level reads", async () => {
    const { playing, depths, providers } = nest(kind, 3);
    const result = await playing.result;
    expect([result.status, result.text, answersOf(result)[0]?.result]).toEqual(["completed", "Top.", "Level 1."]);
    expect([depths, providers.map(({ calls }) => calls)]).toEqual([
      [0, 1, 2],
      [2, 2, 0],
    ]);
    expect(providers[1]?.requests[1]?.messages.at(-1)).toMatchObject({
      role: "tool",
      results: [{ outcome: "failed", result: refusal(3, 3) }],
    });
    expect(playing.recording.of("run-start")).toHaveLength(3);
  });

  it.for<[levels: number, maxDepth: number, inner: number | undefined, asked: readonly number[]]>([
    [1, 1, undefined, [0, 0, 0]],
    [2, 2, undefined, [2, 0, 0]],
    [2, 2, 100, [2, 0, 0]],
    [2, 2, Number.POSITIVE_INFINITY, [2, 0, 0]],
    [2, 4, 2, [2, 0, 0]],
    [1, 4, 1, [0, 0, 0]],
    [4, 4, undefined, [2, 2, 1]],
    [4, Number.POSITIVE_INFINITY, undefined, [2, 2, 1]],
  ])("allows %d of 4 levels if set to %s in the outer run and %s in the first nested run", async ([, maxDepth, inner, asked]) => {
    const { playing, providers } = nest(kind, 3, [{ maxDepth }, { maxDepth: inner }]);
    expect((await playing.result).text).toBe("Top.");
    expect(providers.map(({ calls }) => calls)).toEqual(asked);
  });
});

it("runNested rejects excessive depth, invalid options and unknown options with the matching error codes", async () => {
  const seen: unknown[] = [];
  const look = async (_: unknown, context: ToolContext) => {
    const attempts: readonly unknown[] = [
      { messages: question },
      { messages: question, maxDepth: 9 },
      { messages: [] },
      {},
      undefined,
    ];
    for (const options of attempts) {
      const error: unknown = await runNested(context, options as never).catch((reason: unknown) => reason);
      const { code, details }: Partial<LoopErrorOf<"depth-exceeded">> = isLoopError(error) ? (error as never) : {};
      seen.push([code, details]);
    }
    return toolResult({ success: true, data: context.depth });
  };
  const playing = play([toolCall("look"), text("Done.")], { tools: [tool("look", look)], limits: { maxDepth: 1 } });
  expect(answersOf(await playing.result)[0]?.result).toBe(0);
  expect(seen).toMatchObject([
    ["depth-exceeded", { current: 1, limit: 1 }],
    ["unknown-option", { option: "maxDepth", nearest: "limits.maxDepth" }],
    ["invalid-option", { option: "messages" }],
    ["invalid-option", { option: "messages" }],
    ["invalid-option", { option: "messages" }],
  ]);
  expect(playing.provider.calls).toBe(2);
});

it("runNested rejects a context that no run has created", async () => {
  const context = { context: undefined, idempotencyKey: "" };
  await expect(runNested(context, { messages: question })).rejects.toThrow("Only a tool's context");
});

describe("the depth of a run that is started inside a tool", () => {
  type Start = (options: NestedLoopOptions, context: ToolContext) => Promise<unknown>;
  const provider = (): MockProvider => createMockProvider([toolCall("down"), text("Done.")]);
  const dive = async (start: Start, limits?: LoopLimits): Promise<readonly [levels: number, error: unknown]> => {
    let levels = 1;
    let refused: unknown;
    const down: Tool = tool("down", async (_, context) => {
      if (levels === 20) return "No end.";
      levels += 1;
      try {
        await start({ provider: provider(), messages: question, tools: [down] }, context);
        return "Deeper.";
      } catch (error) {
        levels -= 1;
        refused = error;
        throw error;
      }
    });
    await play([toolCall("down"), text("Done.")], { tools: [down], limits }).result;
    return [levels, isLoopError(refused, "depth-exceeded") ? refused.details : refused];
  };
  const run = (options: NestedLoopOptions, more: Partial<LoopOptions>): Promise<LoopResult> =>
    runToolLoop({ provider: provider(), ...options, ...more } as LoopOptions);

  it.for<[what: string, start: Start]>([
    ["the signal of the call", (options, { signal }) => run(options, { signal })],
    ["the context of the call", (options, context) => run(options, { context })],
    ["the signal of the call and a higher maxDepth", (options, { signal }) => run(options, { signal, limits: { maxDepth: 9 } })],
    [
      "the signal of the call through streamToolLoop",
      (options, { signal }) => streamToolLoop({ provider: provider(), ...options, signal } as LoopOptions).result,
    ],
    [
      "the signal of the call through generateWithTools",
      (options, context) =>
        generateWithTools(
          createMockProvider([toolCall("nest"), text("Done.")]),
          { prompt: "Go." },
          {
            definitions: [{ name: "nest", description: "", inputSchema: { type: "object" } }],
            execute: () => runNested(context, options),
          },
          { abortSignal: context.signal },
        ),
    ],
  ])("is one greater than the outer run's depth if the run receives %s", async ([, start]) => {
    expect(await dive(start)).toEqual([3, { current: 3, limit: 3 }]);
  });

  it("is limited by the outer run's maxDepth, even if the inner run sets a higher value", async () => {
    expect(await dive((options, { signal }) => run(options, { signal }), { maxDepth: 1 })).toEqual([1, { current: 1, limit: 1 }]);
  });

  it("is not limited if the run receives neither the call's signal nor its context", async () => {
    expect(await dive((options, { context }) => run(options, { context }))).toEqual([20, undefined]);
  });
});
