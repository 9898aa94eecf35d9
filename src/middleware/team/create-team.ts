// Builds a team: a lead agent that calls the members as agent tools. The loop schedules, limits, records and resumes the members' runs like
// any other nested runs.

import {
  checkFields,
  checkNeededTools,
  type Checks,
  type ContextOf,
  is,
  isRecord,
  limitRules,
  needed,
  optionChecks,
  reportOf,
  timeoutRules,
  type ToolSchema,
} from "../../core/kit.ts";
import { cutText } from "../../shared/texts.ts";
import {
  defineAgentTool,
  type EndReason,
  type Json,
  type LoopLimits,
  type LoopOptions,
  type LoopResult,
  type LoopStatus,
  type NestedLoopOptions,
  type Tool,
} from "../../core/index.ts";
import { isText } from "../../shared/errors/check-fields.ts";
import { providerCheck } from "../../shared/errors/provider-checks.ts";

type AgentReport = NonNullable<ReturnType<typeof reportOf>>;

/** The options for a member's nested runs. */
export type MemberOptions = Pick<
  NestedLoopOptions,
  "tools" | "provider" | "modelSettings" | "toolChoice" | "limits" | "timeouts" | "middleware" | "pricing"
>;

/** A member of a team. Each time the lead (the main agent) calls the member, a nested run starts: a task. */
export interface TeamMember extends MemberOptions {
  /** Tells the lead what to use the member for. */
  readonly description: string;
  /** The member's system text. */
  readonly system: string;
  /**
   * The schema of a task. Default: an object with a `task` string. The member receives `task` as its message. If the call has other
   * arguments, the member receives all arguments as JSON.
   */
  readonly inputSchema?: ToolSchema | undefined;
  /** The maximum number of this member's tasks in one run of the lead. Additional calls fail. Default: no limit. */
  readonly maxTasks?: number | undefined;
}

/** The members of a team by name. */
export interface TeamMembers {
  readonly [name: string]: TeamMember;
}

/** The options for `createTeam`. `T` is the union of the lead's tool types, and `M` is the type of the members. */
export interface TeamOptions<T extends Tool = Tool, M extends TeamMembers = TeamMembers> {
  /** The lead's system text, and its own tools in addition to the members. */
  readonly lead?: { readonly system?: string | undefined; readonly tools?: readonly T[] | undefined } | undefined;
  /**
   * The members by name. Each name is also the name of the tool that calls the member, so it must consist of 1 to 64 letters, digits, "_"
   * or "-".
   */
  readonly members: M;
  /**
   * The lead's limits. All members' tokens, cost, tool calls and time count toward these limits. Default: the
   * defaults of `runToolLoop`.
   */
  readonly limits?: LoopLimits | undefined;
  /** How many of the lead's tasks and other calls may run at the same time. Default: `limits.toolConcurrency`. */
  readonly maxParallel?: number | undefined;
}

/**
 * The options for `runToolLoop` that make a run the lead of a team. `T` is the union of the lead's tool types, including the
 * members.
 */
export type Team<T extends Tool = Tool> = Pick<LoopOptions, "system" | "limits"> & { readonly tools: readonly T[] };

/** The tools that represent the members. A member needs the context that its tools need. */
export type MemberTools<M extends TeamMembers> = {
  [Name in keyof M & string]: Tool<Json, ToolSchema, MemberReport, MemberContext<M[Name]["tools"]>, Name>;
}[keyof M & string];

type MemberContext<Tools> = Tools extends readonly (infer T extends Tool)[] ? ContextOf<T> : unknown;

/** The result of a task, in the form that the lead reads. */
export interface MemberReport {
  /** How the nested run ended. "completed" if the member has answered, and "incomplete" if its answer was cut off or refused. */
  readonly status: LoopStatus | "incomplete";
  /** Why the run ended, such as "max-tokens", "length" or "end-turn". Absent if the member answered in text. */
  readonly reason?: EndReason["kind"] | undefined;
  /** The calls that ended the member's run: calls to `endTurn` tools, or calls that a stop condition prevented from running. */
  readonly calls?: AgentReport["calls"];
  /**
   * For a completed task, the member's answer: the value of `structuredOutput` if the member has this middleware, otherwise text. For
   * other tasks, the text so far. Absent if a tool or a stop condition ended the run before the member wrote any text.
   */
  readonly report?: Json | undefined;
}

const memberChecks: Checks<TeamMember> = {
  description: /* @__PURE__ */ needed(is.text),
  system: /* @__PURE__ */ needed(is.text),
  inputSchema: ["a Standard Schema or a JSON Schema", (value) => isRecord(value) || typeof value === "function"],
  maxTasks: { min: 1 },
  tools: ["an array of tools or a registry", (value) => typeof value === "object" && value !== null],
  provider: providerCheck,
  modelSettings: optionChecks.modelSettings,
  toolChoice: optionChecks.toolChoice,
  limits: optionChecks.limits,
  timeouts: timeoutRules,
  middleware: optionChecks.middleware,
  pricing: is.fn,
};

const teamChecks: Checks<TeamOptions> = {
  lead: { system: is.text, tools: ["an array of tools", Array.isArray] },
  members: [
    "an object of members by name, such as { researcher: { description, system } }",
    (value) => isRecord(value) && Object.keys(value).length > 0,
    undefined,
    true,
  ],
  limits: optionChecks.limits,
  maxParallel: limitRules.toolConcurrency,
};

const taskSchema = {
  type: "object",
  properties: { task: { type: "string", description: "The task, with all the facts that are needed for it" } },
  required: ["task"],
  additionalProperties: false,
} as const;

/**
 * Creates the options for a team's lead. Pass these options to `runToolLoop` with a provider and messages. Each member is a
 * tool of the lead. The lead may call a member several times at once, and each call is a nested run with the member's
 * limits.
 *
 * `limits` are shared: a run counts its nested runs' tokens, cost, tool calls and time. Each task's result is a
 * `MemberReport`. A member that fails or reaches a limit does not end the lead's run: the report contains the member's status and its text
 * so far. If the lead has `finalAnswer({ reserve })`, members leave the reserve to the lead.
 *
 * `maxTasks` applies to each run of the lead separately. The team remembers the counts of the 1,000 runs that
 * most recently started a task.
 *
 * Throws LoopError "invalid-option", "unknown-option" or "invalid-tool" if an option is invalid.
 *
 * @example
 * const team = createTeam({
 *   lead: { system: "Split the question into tasks. Then write the report." },
 *   members: {
 *     researcher: { description: "Researches one question", system: "Cite files.", tools: [search], limits: { maxTokens: 50_000 } },
 *   },
 *   limits: { maxTokens: 300_000 },
 *   maxParallel: 3,
 * });
 * const result = await runToolLoop({ provider, messages, ...team });
 */
export function createTeam<T extends Tool = never, const M extends TeamMembers = TeamMembers>(
  options: TeamOptions<T, M>,
): Team<T | MemberTools<M>> {
  checkFields("options", options, teamChecks);
  const { lead = {}, members, limits, maxParallel } = options;
  const agents = Object.entries(members).map(([name, member]) => toAgent(name, member));
  return {
    system: lead.system,
    // Safe cast: `members` determines the agents' names and contexts.
    tools: [...(lead.tools ?? []), ...agents] as readonly Tool[] as readonly (T | MemberTools<M>)[],
    limits: maxParallel === undefined ? limits : { ...limits, toolConcurrency: maxParallel },
  };
}

function toAgent(name: string, member: TeamMember): Tool {
  checkFields(`members.${name}`, member, memberChecks);
  const { description, inputSchema = taskSchema, maxTasks, ...own } = member;
  checkNeededTools(own, `members.${name}.`);
  const countTask = maxTasks === undefined ? undefined : createTaskCounter(name, maxTasks);
  return defineAgentTool<unknown, ToolSchema>({
    name,
    description,
    inputSchema,
    prepare: (args, { runId, idempotencyKey }) => {
      const content = toMessage(args);
      countTask?.(runId, idempotencyKey);
      return { ...own, messages: [{ role: "user", content }] };
    },
    toResult: toReport,
  });
}

/** Returns the message to a member. Throws if the only argument is a `task` that is not a string. */
function toMessage(args: unknown): string {
  const { task, ...others } = isRecord(args) ? args : { task: args };
  if (isText(task) && task.trim() !== "" && Object.keys(others).length === 0) return task;
  if (Object.keys(others).length > 0) return JSON.stringify(args);
  throw new Error('The argument "task" must be a string that describes the task. Call the tool again.');
}

/** The maximum number of runs whose tasks a counter remembers. */
const maxRuns = 1_000;

/**
 * Creates a function that throws for each task beyond `maxTasks`. A resumed run prepares its tasks again with the same keys, so each key
 * counts only once.
 */
function createTaskCounter(name: string, maxTasks: number): (runId: string, key: string) => void {
  const tasks = new Map<string, Set<string>>();
  return (runId, key) => {
    const keys = tasks.get(runId) ?? new Set();
    tasks.delete(runId);
    tasks.set(runId, keys);
    for (const oldest of tasks.keys()) {
      if (tasks.size <= maxRuns) break;
      tasks.delete(oldest);
    }
    if (!keys.has(key) && keys.size >= maxTasks)
      throw new Error(`${name} has already received its maximum of ${maxTasks} tasks. Continue with the reports that you have.`);
    keys.add(key);
  };
}

/** The maximum length of the text in the report on a task that was not completed, in characters. */
const maxTextLength = 2_000;

function toReport(result: LoopResult): MemberReport {
  const { status, reason, output, responseText, text } = result;
  const ended = reportOf(result);
  if (ended !== undefined) {
    const { text: report, ...facts } = ended;
    return { ...facts, report };
  }
  if (status === "completed") return { status, report: (output as Json | undefined) ?? responseText };
  return { status, reason: reason.kind, report: cutText(text, maxTextLength) };
}
