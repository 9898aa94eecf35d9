// Runs that throw an error if they end without an answer.

import assert from "node:assert/strict";
import { generateWithTools, isLoopEndedError, isLoopError, runToolLoop, type ToolExecutor, unwrap } from "turnwright";
import { createMockProvider, fail, text as says, toolCall } from "turnwright/testing";

const said: string[] = [];
const say = (line: string): void => void said.push(line);

/** If the run has no answer, shows the reason. */
async function answer(provider: ReturnType<typeof createMockProvider>): Promise<void> {
  const messages = [{ role: "user", content: "Do I need a coat in Oslo?" }] as const;
  const console = { log: say };
  // #region unwrap
  try {
    const { text } = unwrap(await runToolLoop({ provider, messages }));
    console.log(text);
  } catch (error) {
    if (!isLoopEndedError(error)) throw error; // a LoopError: the call was invalid
    // The error has the complete result: the text, the transcript, the usage and the cost.
    console.log(`${error.result.text} [${error.name}]`);
    if (isLoopEndedError(error, "provider-error") && error.reason.error.retryable) console.log("Try again in a moment.");
  }
  // #endregion unwrap
}

await answer(createMockProvider([says("Take a coat.")]));
await answer(createMockProvider([[says("Take a"), fail({ status: 503 })]]));
assert.deepEqual(said, ["Take a coat.", "Take a [ProviderFailedError]", "Try again in a moment."]);
await assert.rejects(answer({ ...createMockProvider([]), id: 7 as never }), (error) => isLoopError(error, "invalid-option"));

/** Shows the answer that `generateWithTools` returns, or the error that it throws. */
async function ask(provider: ReturnType<typeof createMockProvider>): Promise<void> {
  const console = { log: say };
  // #region generate
  const inputSchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const toolExecutor: ToolExecutor = {
    definitions: [{ name: "get_weather", description: "Weather of a city", inputSchema }],
    execute: (name, args, { signal }) => ({ name, args, weather: signal.aborted ? "unknown" : "rain" }), // a value or a promise
  };
  try {
    const { text } = await generateWithTools(
      provider,
      { prompt: "Do I need a coat in Oslo?", system: "Be short." },
      toolExecutor,
      {
        maxIterations: 5, // requests to the model; default 10
        abortSignal: AbortSignal.timeout(60_000),
        onIteration: (iteration, { lastToolCalls }) => console.log(`iteration ${iteration}: ${lastToolCalls.length} calls`),
      },
    );
    console.log(text);
  } catch (error) {
    if (!isLoopEndedError(error, "max-iterations")) throw error;
    console.log(`No answer after ${error.reason.limit} iterations.`);
  }
  // #endregion generate
}

said.length = 0;
await ask(createMockProvider([toolCall("get_weather", { city: "Oslo" }), says("Take a coat.")]));
assert.deepEqual(said, ["iteration 1: 1 calls", "Take a coat."]);

said.length = 0;
await ask(createMockProvider(() => toolCall("get_weather", { city: "Oslo" })));
assert.deepEqual(said.slice(4), ["iteration 5: 1 calls", "No answer after 5 iterations."]);
