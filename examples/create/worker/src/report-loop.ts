// The loop that every worker runs. The input of a run is a job, which must be JSON.

import { setTimeout } from "node:timers/promises";
import { defineTool, type LoopOptions, type Provider } from "turnwright";
import { defineDurableLoop, type DurableLoop } from "turnwright/dbos";
import { z } from "zod";

export type Job = { readonly topic: string };

const lookUp = defineTool({
  name: "look_up",
  description: "Looks up one fact about a topic",
  inputSchema: z.object({ question: z.string() }),
  replay: "safe", // no side effects, so it may run again after a crash
  async execute({ question }, { signal, runId }) {
    console.log(`[worker ${process.pid}] ${runId}: looks up "${question}"`);
    await setTimeout(500, undefined, { signal }); // a slow service
    return `A fact that answers "${question}".`;
  },
});

/** Everything that the job decides. A worker that takes a run over calls this again, so it must return the same messages. */
export function toOptions(provider: Provider, { topic }: Job): Pick<LoopOptions, "provider" | "tools" | "messages" | "limits"> {
  return {
    provider,
    tools: [lookUp],
    messages: [{ role: "user", content: `Write a short report about ${topic}.` }],
    limits: { maxIterations: 20, wallClockMs: 600_000 },
  };
}

export function defineReports(provider: Provider): DurableLoop<Job> {
  return defineDurableLoop({ name: "reports", options: (job: Job) => toOptions(provider, job) });
}
