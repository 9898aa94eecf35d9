import type { LoopEmitter } from "turnwright/kit";
import { createTeam, type MemberReport, type RunNode, showTeam, type Team, type TeamOptions } from "turnwright/middleware";

export const options: TeamOptions = {
  members: { writer: { description: "Writes", system: "Write.", limits: { maxTokens: 1_000 }, maxTasks: 2 } },
};

export const team: Team = createTeam(options);

export const isDone = ({ status }: MemberReport): boolean => status === "completed";

export const labelOf = ({ name, state }: RunNode): string => `${name} ${state}`;

export function show(events: LoopEmitter): () => void {
  return showTeam(events, { output: process.stdout });
}
