import { workflow, type WorkflowContext, type WorkflowDefinition } from "@restatedev/restate-sdk";
import { type LoopOptions, runToolLoop } from "turnwright";
import { runInWorkflow } from "turnwright/restate";

export function define(options: LoopOptions): WorkflowDefinition<"answer", unknown> {
  return workflow({
    name: "answer",
    handlers: {
      async run(ctx: WorkflowContext, question: string): Promise<string> {
        const messages = [{ role: "user" as const, content: question }];
        const { text } = await runInWorkflow(ctx, (ports) => runToolLoop({ ...options, messages, ...ports }));
        return text;
      },
    },
  });
}
