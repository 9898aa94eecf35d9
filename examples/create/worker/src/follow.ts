import type { DurableLoop } from "turnwright/dbos";
import type { Job } from "./report-loop.ts";

/** Sends a job, and shows its run, whichever worker executes it. */
export async function sendAndFollow(reports: DurableLoop<Job>, id: string, job: Job): Promise<void> {
  await reports.start(id, job); // a second start with the same id changes nothing
  for await (const { event } of reports.events(id)) {
    if (event.type === "text-delta") process.stdout.write(event.text);
  }
  const { status, costUSD } = await reports.result(id);
  console.log(`\n${id}: ${status}${costUSD === undefined ? "" : `, ${costUSD.toFixed(4)} USD`}`);
}
