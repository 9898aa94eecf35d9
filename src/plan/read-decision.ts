// What a planner answered, in the one form that the rest knows: compatible forms are brought into it, and what fits none is refused with
// the reasons.

import { z } from "zod";
import { describeValue } from "../kit/describe-value.ts";
import { isRecord, type UnknownRecord } from "../kit/is-record.ts";
import { parseToolArguments } from "../kit/parse-arguments.ts";

/** One call that a plan asks for, and why. */
export interface PlanCommand {
  readonly purpose: string;
  readonly tool_name: string;
  readonly tool_kwargs: { readonly [name: string]: unknown };
  readonly todo_suggestion: string;
  /** What is to come after it, in the planner's words. */
  readonly next: string;
}

/** What is to be done next. */
export interface PlanDecision {
  readonly next_action: "execute" | "response";
  /** What is to run; empty where the answer is next. */
  readonly execution_commands: readonly PlanCommand[];
}

/** A decision, or what is wrong with what was given as one. */
export type DecisionRead =
  | { readonly kind: "decision"; readonly decision: PlanDecision }
  | { readonly kind: "invalid"; readonly problem: string };

const trimmed = z.string().trim();
/** Not every model fills in what it has nothing to say about. */
const remark = trimmed.nullish().transform((text) => text ?? "");

/** Arguments as an object, also where a model wrote them as text. Handed on as it is, so that a key "__proto__" stays data. */
const kwargs = z
  .unknown()
  .default({})
  .transform(toKwargs)
  .pipe(z.custom<UnknownRecord>(isRecord, "must be an object of arguments"));

const command = z.object({
  purpose: remark,
  tool_name: remark,
  tool_kwargs: kwargs,
  todo_suggestion: remark,
  next: remark,
});

const commands = z.array(command).nullish();

const form = z.object({
  next_action: z.unknown().optional(),
  use_tool: z.unknown().optional(),
  execution_commands: commands,
  tool_commands: commands,
  tool_command: command.nullish(),
});

function toKwargs(value: unknown): unknown {
  if (value === undefined || value === null) return {};
  if (typeof value !== "string") return value;
  const parsed = parseToolArguments(value);
  return "args" in parsed ? parsed.args : value;
}

/**
 * Reads a decision. Of `execution_commands`, `tool_commands` and `tool_command` the first that holds anything counts. Names and texts are
 * trimmed; commands without a tool's name are no commands. An action that is missing, or is neither "execute" nor "response", is inferred
 * from whether there are commands; `use_tool: false` and "response" run nothing.
 *
 * @example readDecision({ tool_command: { tool_name: "add", tool_kwargs: { a: 1 } } }) // next_action: "execute"
 */
export function readDecision(value: unknown): DecisionRead {
  if (!isRecord(value)) return { kind: "invalid", problem: `A plan is an object, not ${describeValue(value)}.` };
  const parsed = form.safeParse(value);
  if (!parsed.success) return { kind: "invalid", problem: describeIssues(parsed.error) };
  const { next_action, use_tool, execution_commands, tool_commands, tool_command } = parsed.data;
  const lists = [execution_commands ?? [], tool_commands ?? [], tool_command ? [tool_command] : []];
  const named = (lists.find((list) => list.length > 0) ?? []).filter(({ tool_name }) => tool_name !== "");
  const action = saysNo(use_tool) ? "response" : (actionOf(next_action) ?? (named.length > 0 ? "execute" : "response"));
  const runs = action === "execute" && named.length > 0;
  return {
    kind: "decision",
    decision: runs ? { next_action: "execute", execution_commands: named } : { next_action: "response", execution_commands: [] },
  };
}

function describeIssues({ issues }: z.ZodError): string {
  const lines = issues.map(({ path, message }) => `${path.join(".")}: ${message}.`);
  return `This is no plan: ${lines.join(" ")}`;
}

/** The action that a text names, whatever its case and the blanks around it. */
export function actionOf(value: unknown): PlanDecision["next_action"] | undefined {
  const action = typeof value === "string" ? value.trim().toLowerCase() : undefined;
  return action === "execute" || action === "response" ? action : undefined;
}

const noes: ReadonlySet<unknown> = new Set([false, 0, "false", "no", "0"]);

function saysNo(value: unknown): boolean {
  return noes.has(typeof value === "string" ? value.trim().toLowerCase() : value);
}
