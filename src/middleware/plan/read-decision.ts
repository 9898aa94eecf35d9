// Use only features that zod 3 and zod 4 share, because either version may be installed.

import { z } from "zod";
import { describeValue } from "../../shared/texts.ts";
import { isRecord } from "../../core/kit.ts";
import { parseToolArguments } from "../../core/index.ts";
import { toJson } from "../../shared/json.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import type { UnknownRecord } from "../../shared/guards.ts";

/** One tool call in a plan, with its purpose. */
export interface PlanCommand {
  readonly purpose: string;
  readonly tool_name: string;
  readonly tool_kwargs: { readonly [name: string]: unknown };
  readonly todo_suggestion: string;
  /** The step after this command, in the planner's words. */
  readonly next: string;
}

/** The decision that a plan contains. */
export interface PlanDecision {
  readonly next_action: "execute" | "response";
  /** The commands to run. Empty for "response". */
  readonly execution_commands: readonly PlanCommand[];
}

export type DecisionRead =
  | { readonly kind: "decision"; readonly decision: PlanDecision }
  | { readonly kind: "invalid"; readonly problem: string };

/** Reads a string. A missing or null value becomes "", because models often omit fields. */
const text = z
  .string()
  .trim()
  .nullish()
  .transform((given) => given ?? "");

/** Reads the arguments. Some models write them as JSON text, which is parsed. `toJson` keeps a key "__proto__" as data. */
const kwargs = z
  .unknown()
  .default({})
  .transform(toKwargs)
  .pipe(z.custom<UnknownRecord>(isRecord, "must be an object with arguments"))
  .transform((given, context) => {
    try {
      return toJson(given) as UnknownRecord;
    } catch (error) {
      context.addIssue({ code: "custom", message: `must be plain data, but contains ${toPlainError(error).message}` });
      return z.NEVER;
    }
  });

/**
 * Reads a command. A command with fields but no `tool_name` makes the plan invalid, because the planner may have meant a call. An empty
 * object is ignored.
 */
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
 * Reads the decision in a plan. The commands come from the first non-empty field of `execution_commands`, `tool_commands` and
 * `tool_command`. Names and other strings
 * are trimmed, and commands with a blank tool name are ignored. The commands run unless `next_action` is "response" or `use_tool` is false.
 *
 * @example readDecision({ tool_command: { tool_name: "add", tool_kwargs: { a: 1 } } }) // next_action: "execute"
 */
export function readDecision(value: unknown): DecisionRead {
  if (!isRecord(value)) return { kind: "invalid", problem: `The plan is ${describeValue(value)}, but must be an object.` };
  if (saysResponse(value["next_action"]) || saysNo(value["use_tool"])) return response;
  const fields = Object.keys(value);
  if (fields.length > 0 && !isPlan(value))
    return { kind: "invalid", problem: `The plan must have at least one of these fields: ${planFields.join(", ")}.` };
  const parsed = form.safeParse(value);
  if (!parsed.success) return { kind: "invalid", problem: describeIssues(parsed.error) };
  const { execution_commands, tool_commands, tool_command } = parsed.data;
  const lists = [execution_commands ?? [], tool_commands ?? [], tool_command ? [tool_command] : []];
  const runs = (lists.find((list) => list.length > 0) ?? []).filter(({ tool_name }) => tool_name !== "");
  return runs.length === 0 ? response : { kind: "decision", decision: { next_action: "execute", execution_commands: runs } };
}

export const planFields = ["next_action", "execution_commands", "tool_commands", "tool_command", "use_tool"] as const;

export function isPlan(value: UnknownRecord): boolean {
  return planFields.some((field) => Object.hasOwn(value, field));
}

/** The maximum number of issues with a plan that are reported to the model. Each issue costs tokens. */
const maxIssues = 5;

function describeIssues({ issues }: z.ZodError): string {
  const lines = issues.slice(0, maxIssues).map(({ path, message }) => `${path.join(".")}: ${message}.`);
  const more = issues.length > maxIssues ? [`And ${issues.length - maxIssues} more.`] : [];
  return `The plan is invalid: ${[...lines, ...more].join(" ")}`;
}

export function saysResponse(action: unknown): boolean {
  return typeof action === "string" && action.trim().toLowerCase() === "response";
}

const noes: ReadonlySet<unknown> = new Set([false, 0, "false", "no", "0"]);

function saysNo(value: unknown): boolean {
  return noes.has(typeof value === "string" ? value.trim().toLowerCase() : value);
}
