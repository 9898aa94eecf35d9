export {
  createTeam,
  type MemberOptions,
  type MemberReport,
  type MemberTools,
  type Team,
  type TeamMember,
  type TeamMembers,
  type TeamOptions,
} from "./create-team.ts";
export { renderTree, type RenderTreeOptions } from "./render-tree.ts";
export { createRunTree, type RunNode, type RunTree, type RunTreeOptions } from "./run-tree.ts";
export { showTeam, type ShowTeamOptions, type TerminalOutput } from "./show-team.ts";
