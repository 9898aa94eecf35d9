import { defineTool, type LoopOptions, type LoopResult, type Provider, runToolLoop } from "turnwright";
import type { ExecutableTool } from "turnwright/kit";
import { watchPromptCache } from "turnwright/middleware";
import { createMockProvider, type EventRecording, type MockScript, recordEvents, text, toolCall } from "turnwright/testing";

export const look: ExecutableTool = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object" },
  execute: (args) => `seen ${JSON.stringify(args)} ${"x".repeat(200)}`,
});

/** A script with one call in each iteration before the last one. It takes the number of the iteration from the request. */
export const rounds =
  (iterations: number, calls: (iteration: number) => number = () => 1): MockScript =>
  ({ iteration }) =>
    iteration === iterations - 1
      ? text("Done.")
      : Array.from({ length: calls(iteration) }, (_, index) =>
          toolCall("look", { iteration, index }, { id: `c${iteration}_${index}` }),
        );

export interface Watched {
  readonly result: LoopResult;
  readonly recording: EventRecording;
}

export async function playWatched(script: MockScript, options: Partial<LoopOptions> = {}): Promise<Watched> {
  const recording = recordEvents(undefined, ["cache-break", "masked", "listener-error"]);
  const { middleware: given = [] } = options;
  const isWatched = given.some((one) => one && one.name === "prompt-cache");
  const result = await runToolLoop({
    provider: createMockProvider(script, { record: false }),
    tools: [look],
    system: "Be brief.",
    messages: [{ role: "user", content: "Look around." }],
    events: recording.emitter,
    limits: { maxIterations: 2_000 },
    ...options,
    middleware: [...given, !isWatched && watchPromptCache()],
  });
  return { result, recording };
}

function reporting(bodies: readonly object[]): Provider {
  const provider = createMockProvider(rounds(bodies.length));
  return {
    ...provider,
    stream: (request, call) => {
      call.sending?.(bodies[request.iteration], provider);
      const { signal, clock, timeouts, iteration } = call;
      return provider.stream(request, { signal, clock, timeouts, iteration, heartbeat: () => call.heartbeat() });
    },
  };
}

export const playReported = (bodies: readonly object[]): Promise<Watched> => playWatched([], { provider: reporting(bodies) });
