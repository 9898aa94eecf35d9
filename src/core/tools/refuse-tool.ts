import { LoopError } from "../errors/loop-error.ts";

/** An error about a tool; `problem` reads on after its name. */
export function refuseTool(toolName: unknown, problem: string): LoopError<"invalid-tool"> {
  return new LoopError("invalid-tool", { toolName: typeof toolName === "string" ? toolName : "", problem });
}
