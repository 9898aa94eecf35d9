// The two loops, ready to run over the same script, with the same tool and the same listener for text.
import { z } from "zod";
import { runMinimalLoop } from "./minimal-loop.js";
import { createLoopEvents, defineTool, runToolLoop } from "./turnwright.js";

/**
 * @typedef {import("../../src/core/types/provider.ts").ModelChunk} ModelChunk
 * @typedef {(iteration: number) => AsyncIterable<ModelChunk>} Script
 * @typedef {{ city: string, days: number }} ForecastArgs
 * @typedef {(args: ForecastArgs) => unknown} Execute
 * @typedef {Partial<import("../../src/core/types/loop-options.ts").LoopOptions>} MoreOptions
 */

/** @type {readonly import("../../src/core/types/message.ts").Message[]} */
export const messages = [{ role: "user", content: "Do I need a coat in Oslo?" }];

/**
 * Uses the signal as an SDK or a tool does first, so that the loop has to create it.
 *
 * @param {AbortSignal} signal
 */
function take(signal) {
  signal.throwIfAborted();
}

const inputSchema = z.object({ city: z.string(), days: z.number() });

/**
 * @param {ForecastArgs} args
 * @returns {unknown}
 */
export const forecast = ({ city, days }) => ({ city, days, degrees: 7 });

/**
 * Answers a promise that is already kept.
 *
 * @param {ForecastArgs} args
 */
export const forecastAtOnce = async ({ city, days }) => ({ city, days, degrees: 7 });

/**
 * Answers a promise that is kept a turn of the event loop later, as one that did any work outside is: time limits are armed.
 *
 * @param {ForecastArgs} args
 */
export const forecastLater = async ({ city, days }) => {
  await new Promise(setImmediate);
  return { city, days, degrees: 7 };
};

/**
 * A tool that takes its signal.
 *
 * @param {Execute} execute
 * @returns {(args: ForecastArgs, call: { signal: AbortSignal }) => unknown}
 */
function taking(execute) {
  return (args, { signal }) => {
    take(signal);
    return execute(args);
  };
}

/**
 * The minimal loop over a script, as a task.
 *
 * @param {Script} stream
 * @param {Execute} execute
 */
export function minimalRun(stream, execute) {
  const tools = new Map([["forecast", { inputSchema, execute: taking(execute) }]]);
  let received = 0;
  const open = (/** @type {number} */ iteration, /** @type {AbortSignal} */ signal) => {
    take(signal);
    return stream(iteration);
  };
  return () => runMinimalLoop({ stream: open, tools, messages, onText: (text) => (received += text.length) });
}

/**
 * turnwright over the same script, as a task. All guards are at their defaults, but for what `more` says.
 *
 * @param {Script} stream
 * @param {Execute} execute
 * @param {MoreOptions} [more]
 */
export function turnwrightRun(stream, execute, more) {
  const options = { ...turnwrightOptions(stream, execute), ...more };
  let received = 0;
  return async () => {
    const events = createLoopEvents();
    events.on("text-delta", (delta) => (received += delta.text.length));
    const result = await runToolLoop({ ...options, events });
    // A run that ended early would look fast.
    if (result.status !== "completed") throw new Error(`A run ended as ${result.status}, ${JSON.stringify(result.reason)}.`);
    return result;
  };
}

/**
 * @param {Script} stream
 * @param {Execute} execute
 */
export function turnwrightOptions(stream, execute) {
  const tool = defineTool({ name: "forecast", description: "Weather of the next days", inputSchema, execute: taking(execute) });
  const provider = {
    id: "script",
    model: "script",
    stream: (/** @type {{ iteration: number }} */ request, /** @type {{ signal: AbortSignal }} */ call) => {
      take(call.signal);
      return stream(request.iteration);
    },
  };
  return { provider, tools: [tool], messages };
}
