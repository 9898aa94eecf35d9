import { generateWithTools, type LoopEndedError, isLoopEndedError } from "turnwright";
import type { ToolExecutor } from "../../src/core/loop/generate-with-tools.ts";
import type { GenerateOptions } from "../../src/core/loop/generate-with-tools.ts";
import { createMockProvider, type MockProvider, type MockScript } from "turnwright/testing";
import type { MockOptions } from "../../src/testing/mock-provider.ts";

export interface Recording {
  readonly executor: ToolExecutor;
  readonly executed: (readonly [name: string, args: unknown])[];
}

export function recordExecutor(answer: (name: string, args: unknown) => unknown = (name) => name): Recording {
  const executed: (readonly [string, unknown])[] = [];
  const definitions = ["a", "b"].map((name) => ({ name, description: name, inputSchema: { type: "object" } }));
  return { executed, executor: { definitions, execute: (name, args) => (executed.push([name, args]), answer(name, args)) } };
}

export interface Generated extends Recording {
  readonly provider: MockProvider;
  readonly result: ReturnType<typeof generateWithTools>;
}

export function generate(script: MockScript, options: GenerateOptions = {}, mock: MockOptions = {}): Generated {
  const provider = createMockProvider(script, mock);
  const recording = recordExecutor();
  return { ...recording, provider, result: generateWithTools(provider, { prompt: "Go." }, recording.executor, options) };
}

export async function endedBy(result: Promise<unknown>): Promise<LoopEndedError> {
  const error: unknown = await result.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isLoopEndedError(error)) throw new Error("The run was to end with a LoopEndedError.", { cause: error });
  return error;
}
