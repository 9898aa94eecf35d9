import { provider, tools } from "./scene.ts";

// #region worker
import { join } from "node:path";
import { type LoopControl, runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";

interface Job {
  readonly id: string; // letters, digits, "_" and "-": it names the file of the journal
  readonly question: string;
}

/** Works on a job. If it returns false, put the job back into the queue, so that another worker can finish it. */
export async function work({ id, question }: Job, control: LoopControl, folder: string): Promise<boolean> {
  const { reason } = await runToolLoop({
    provider,
    tools,
    control,
    messages: [{ role: "user", content: question }],
    runId: id,
    journal: fileJournal(join(folder, `${id}.jsonl`)),
  });
  return reason.kind !== "drained";
}
// #endregion worker
