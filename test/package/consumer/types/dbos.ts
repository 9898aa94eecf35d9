import { DBOS } from "@dbos-inc/dbos-sdk";
import { type LoopOptions, runToolLoop } from "turnwright";
import { dbosJournal } from "turnwright/dbos";

export function register(options: LoopOptions): (question: string) => Promise<string> {
  const answer = async (question: string): Promise<string> => {
    const messages = [{ role: "user" as const, content: question }];
    const { text } = await runToolLoop({ ...options, messages, runId: DBOS.workflowID, journal: dbosJournal() });
    return text;
  };
  return DBOS.registerWorkflow(answer, { name: "answer" });
}
