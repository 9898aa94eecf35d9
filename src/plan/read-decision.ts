// Reads a planner's answer. Compatible forms are normalized, and an answer without a valid form is rejected with the reasons.
// Uses the common subset of zod 3 and zod 4, so that either may be installed.

import { z } from "zod";
import { describeValue, isRecord, parseToolArguments, toJson, toPlainError, type UnknownRecord } from "../core/entry-kit.ts";

/** One call of a plan, with its purpose. */
export interface PlanCommand {
  readonly purpose: string;
  readonly tool_name: string;
  readonly tool_kwargs: { readonly [name: string]: unknown };
  readonly todo_suggestion: string;
  /** The next step after it, in the planner's words. */
  readonly next: string;
}

/** The next action. */
export interface PlanDecision {
  readonly next_action: "execute" | "response";
  /** The commands to run; empty if the answer follows. */
  readonly execution_commands: readonly PlanCommand[];
}

/** A decision, or why the value is invalid. */
export type DecisionRead =
  | { readonly kind: "decision"; readonly decision: PlanDecision }
  | { readonly kind: "invalid"; readonly problem: string };

/** A text, with a default, because models often omit fields. */
const text = z
  .string()
  .trim()
  .nullish()
  .transform((given) => given ?? "");

/** Arguments as an object of plain data, also if a model wrote them as text. A key "__proto__" stays data. */
const kwargs = z
  .unknown()
  .default({})
  .transform(toKwargs)
  .pipe(z.custom<UnknownRecord>(isRecord, "must be an object of arguments"))
  .transform((given, context) => {
    try {
      return toJson(given) as UnknownRecord;
    } catch (error) {
      context.addIssue({ code: "custom", message: `must be plain data, but holds ${toPlainError(error).message}` });
      return z.NEVER;
    }
  });

/** A command with fields but without a tool name is an error: dropping it would be a guess. */
const named = z.custom<unknown>(
  (value) => !isRecord(value) || Object.hasOwn(value, "tool_name") || Object.keys(value).length === 0,
  'must have a "tool_name"',
);

const command = named.pipe(
  z.object({
    purpose: text,
    tool_name: text,
    tool_kwargs: kwargs,
    todo_suggestion: text,
    next: text,
  }),
);

const commands = z.array(command).nullish();

const form = z.object({
  execution_commands: commands,
  tool_commands: commands,
  tool_command: command.nullish(),
});

function toKwargs(value: unknown): unknown {
  if (value === null) return {};
  if (typeof value !== "string") return value;
  const parsed = parseToolArguments(value);
  return "args" in parsed ? parsed.args : value;
}

const response: DecisionRead = { kind: "decision", decision: { next_action: "response", execution_commands: [] } };

/**
 * Reads a decision. Of `execution_commands`, `tool_commands` and `tool_command`, the first that is not empty is used. Names and
 * texts are trimmed; commands with a blank tool name are ignored. Commands run with any action, unless it is "response" or
 * `use_tool` is false.
 *
 * @example readDecision({ tool_command: { tool_name: "add", tool_kwargs: { a: 1 } } }) // next_action: "execute"
 */
export function readDecision(value: unknown): DecisionRead {
  if (!isRecord(value)) return { kind: "invalid", problem: `A plan is an object, not ${describeValue(value)}.` };
  if (saysResponse(value["next_action"]) || saysNo(value["use_tool"])) return response;
  const fields = Object.keys(value);
  if (fields.length > 0 && !isPlan(value)) return { kind: "invalid", problem: `A plan has one of ${planFields.join(", ")}.` };
  const parsed = form.safeParse(value);
  if (!parsed.success) return { kind: "invalid", problem: describeIssues(parsed.error) };
  const { execution_commands, tool_commands, tool_command } = parsed.data;
  const lists = [execution_commands ?? [], tool_commands ?? [], tool_command ? [tool_command] : []];
  const runs = (lists.find((list) => list.length > 0) ?? []).filter(({ tool_name }) => tool_name !== "");
  return runs.length === 0 ? response : { kind: "decision", decision: { next_action: "execute", execution_commands: runs } };
}

/** Fields that identify an object as a plan. */
export const planFields = ["next_action", "execution_commands", "tool_commands", "tool_command", "use_tool"] as const;

/** True if an object has one of the fields of a plan. */
export function isPlan(value: UnknownRecord): boolean {
  return planFields.some((field) => Object.hasOwn(value, field));
}

/** Most issues in a complaint, because each is sent to the model and paid for. */
const mostIssues = 5;

function describeIssues({ issues }: z.ZodError): string {
  const lines = issues.slice(0, mostIssues).map(({ path, message }) => `${path.join(".")}: ${message}.`);
  const more = issues.length > mostIssues ? [`And ${issues.length - mostIssues} more.`] : [];
  return `This is no plan: ${[...lines, ...more].join(" ")}`;
}

/** True if an action is "response", in any case and with blanks around it. */
export function saysResponse(action: unknown): boolean {
  return typeof action === "string" && action.trim().toLowerCase() === "response";
}

const noes: ReadonlySet<unknown> = new Set([false, 0, "false", "no", "0"]);

function saysNo(value: unknown): boolean {
  return noes.has(typeof value === "string" ? value.trim().toLowerCase() : value);
}
