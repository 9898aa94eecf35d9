import { describe, expect, it } from "vitest";
import { broken, complaintsOf, mapping, type Stream } from "../../test/testing/complaints-of.ts";
import type { ModelRequest } from "../core/types/provider.ts";
import { createScenarioProvider } from "./provider-scenarios.ts";
import { providerSuite } from "./provider-suite.ts";
import { createTestClock } from "./test-clock.ts";

describe("providerSuite with the mock provider", () => {
  for (const { title, run } of providerSuite({ create: (scenario) => ({ provider: createScenarioProvider(scenario) }) }))
    it(title, run);
});

describe("providerSuite", () => {
  it.for<[way: string, breakStream: (stream: Stream) => Stream]>([
    ["like the mock provider", (stream) => stream],
    [
      "without argument fragments",
      mapping((chunk) => (chunk.type === "call-start" || chunk.type === "call-args-delta" ? [] : [chunk])),
    ],
    ["without call ids", mapping((chunk) => ["id" in chunk ? { ...chunk, id: undefined } : chunk])],
    [
      "with usage in two parts",
      mapping((chunk) => {
        if (chunk.type !== "usage") return [chunk];
        const part = { inputTokens: 40, outputTokens: 0, totalTokens: 40 };
        return [
          { ...chunk, usage: part },
          { type: "usage", mode: "delta", usage: { inputTokens: 0, outputTokens: 9, totalTokens: 9 } },
        ];
      }),
    ],
  ])("passes for a provider that streams %s", async ([, stream]) => {
    expect(await complaintsOf(broken(stream))).toEqual({});
  });

  it("leaves no timer running in any check", async () => {
    const clock = createTestClock();
    for (const { run } of providerSuite({ create: broken((stream) => stream), clock })) {
      const running = run();
      await clock.flush();
      expect(clock.pending).toBe(0);
      await running;
    }
  });

  it("reads the error code of an error chunk like the code of a thrown error", async () => {
    const complaints = await complaintsOf(
      broken(
        (stream) =>
          async function* (request: ModelRequest, call) {
            try {
              yield* stream(request, call);
            } catch {
              if (!call.signal.aborted)
                yield { type: "error", error: { name: "ProviderError", code: "auth", message: "No.", retryable: false } };
            }
          },
      ),
    );
    expect(complaints).toEqual({
      'reports a rate limit as "rate-limit"': 'The error code of the failure must be "rate-limit", but is "auth": No.',
      'reports a server failure as "server"': 'The error code of the failure must be "server", but is "auth": No.',
    });
  });

  it("closes the fixture of each check, even if the check fails", async () => {
    let open = 0;
    await complaintsOf((scenario) => {
      open += 1;
      const provider = createScenarioProvider(scenario);
      return {
        provider: {
          ...provider,
          stream: () => {
            throw new Error("down");
          },
        },
        close: () => void (open -= 1),
      };
    });
    expect(open).toBe(0);
  });

  it("has a unique title for each check", () => {
    const titles = providerSuite({
      create: () => ({ provider: createScenarioProvider({ name: "text", prompt: "", replies: [] }) }),
    }).map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });
});
