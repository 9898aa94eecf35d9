// #region limits
import { finalAnswer, type LoopResult, type Provider, runToolLoop, type Tool } from "turnwright";
import { genaiPrices } from "turnwright/prices"; // needs the package @pydantic/genai-prices

export function runWithinLimits(provider: Provider, tools: readonly Tool[], question: string): Promise<LoopResult> {
  return runToolLoop({
    provider,
    tools,
    messages: [{ role: "user", content: question }],
    limits: { maxIterations: 20, maxCostUSD: 0.5, wallClockMs: 120_000 },
    timeouts: { toolMs: 20_000 },
    pricing: genaiPrices(),
    middleware: [finalAnswer()], // at a limit, one last request without tools gets an answer
  });
}
// #endregion limits
