import { DBOS } from "@dbos-inc/dbos-sdk";
import { type LoopOptions, runToolLoop } from "turnwright";
import { runInWorkflow } from "turnwright/dbos";

export function register(options: LoopOptions): (question: string) => Promise<string> {
  const answer = async (question: string): Promise<string> => {
    const messages = [{ role: "user" as const, content: question }];
    const { text } = await runInWorkflow((ports) => runToolLoop({ ...options, messages, ...ports }));
    return text;
  };
  return DBOS.registerWorkflow(answer, { name: "answer" });
}
