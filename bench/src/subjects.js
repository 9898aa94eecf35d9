// Runs a scripted model with turnwright and with the minimal loop, with the same tool and the same text listener.
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
 * Reads the abort signal, as real SDKs and tools do. turnwright creates the signal only when it is read, so a benchmark that
 * never reads it would be too favourable.
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
 * A tool whose promise is already resolved when it returns.
 *
 * @param {ForecastArgs} args
 */
export const forecastAtOnce = async ({ city, days }) => ({ city, days, degrees: 7 });

/**
 * A tool whose promise resolves later, like that of a tool with I/O. turnwright starts its timers only for such promises.
 *
 * @param {ForecastArgs} args
 */
export const forecastLater = async ({ city, days }) => {
  await new Promise(setImmediate);
  return { city, days, degrees: 7 };
};

/**
 * Wraps a tool function, so that it reads its abort signal first.
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
    // Without this check, a run that fails early would look fast.
    if (result.status !== "completed")
      throw new Error(`A run ended early with status ${result.status} and reason ${JSON.stringify(result.reason)}.`);
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
