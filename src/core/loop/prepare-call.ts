// Checks a call's name, arguments and tool before it runs. A refusal becomes an outcome that tells the model what to do.

import { quote } from "../../shared/texts.ts";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { isRecord, type UnknownRecord } from "../../shared/guards.ts";
import type { Advice, PreparePorts, ToolCallPorts, ReadyCall } from "./ports.ts";
import type { Issue, Validation } from "../types/common.ts";
import { Deadline } from "../../shared/cancellation/deadline.ts";
import { edges } from "../../shared/edges.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { promiseOrValue } from "../../shared/promises.ts";
import { toJson } from "../../shared/json.ts";

/** The maximum number of tool names in one result. */
export const maxListed = 50;

export function createAdvice(): Advice {
  return { given: 0, listed: 0 };
}

const maxAdvice = { given: 16, listed: 200 };

/** The maximum number of tool names that are compared with an unknown name to write a hint. */
const maxCompared = 20_000;

export function refuseBlocked(call: ToolCall, allowed: ReadonlySet<string>, ports: Pick<PreparePorts, "advice">): ToolOutcome {
  const { listed, ...rest } = listNames(allowed, ports);
  return { call, durationMs: 0, kind: "blocked", allowed: listed, ...rest };
}

/**
 * Prepares a call. Checks in this order: complete arguments, the names that `gateTools` allows, the existence of the tool,
 * `toolChoice`, the tool's schema.
 */
export function prepareCall(
  call: ToolCall,
  ports: PreparePorts,
  allowed?: ReadonlySet<string>,
): ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome> {
  const { name, problem } = call;
  const refused = { call, durationMs: 0 };
  if (problem === "truncated") return { ...refused, kind: "truncated" };
  if (problem === "malformed") return { ...refused, kind: "malformed", message: parseErrorOf(call, ports) };
  if (allowed?.has(name) === false) return refuseBlocked(call, allowed, ports);
  const definition = ports.shown.get(name);
  if (definition === undefined) return refuseUnknown(call, ports);
  const chosen = ports.toolChoice === undefined ? undefined : namesOf(ports.toolChoice);
  if (chosen?.includes(name) === false) return { ...refused, kind: "blocked", allowed: chosen, by: "tool-choice" };
  const ready: ReadyCall = { kind: "ready", call, definition, args: toJson(call.args) };
  return validateCall(ready, ports);
}

/** Refuses a call to an unknown tool, and suggests tools that the model can see. The requested tool may have been removed. */
export function refuseUnknown(call: ToolCall, ports: PreparePorts): ToolOutcome {
  const { name } = call;
  const known = ports.shown.has(name) ? new Map([...ports.shown].filter(([other]) => other !== name)) : ports.shown;
  const nearest = findNearest(name, known, ports);
  const { listed, ...rest } = listNames(known, ports);
  return { call, durationMs: 0, kind: "unknown-tool", known: listed, nearest, ...rest };
}

function findNearest(name: string, known: PreparePorts["shown"], { advice }: Pick<PreparePorts, "advice">): string | undefined {
  if (advice.given >= maxAdvice.given || advice.given * known.size >= maxCompared) return undefined;
  advice.given += 1;
  return edges.nearestName?.(name, known.keys());
}

/** Lists a limited number of tool names, because otherwise each of 1,000 calls could list each of 1,000 tools. */
function listNames(
  names: ReadonlySet<string> | PreparePorts["shown"],
  { advice }: Pick<PreparePorts, "advice">,
): { readonly listed: readonly string[]; readonly more?: number } {
  const listed = advice.listed >= maxAdvice.listed ? [] : [...names.keys()].slice(0, maxListed);
  advice.listed += listed.length;
  return listed.length === names.size ? { listed } : { listed, more: names.size - listed.length };
}

function namesOf(choice: NonNullable<PreparePorts["toolChoice"]>): readonly string[] {
  return choice === "none" ? [] : [choice.name];
}

export function validateCall(ready: ReadyCall, ports: PreparePorts): ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome> {
  const { registry } = ports;
  if (registry.validate === undefined) return ready;
  try {
    const validation = promiseOrValue(registry.validate(ready.call.name, ready.args));
    return validation instanceof Promise ? awaitValidation(ready, validation, ports) : judgeInput(ready, validation);
  } catch (error) {
    return refuseInput(ready, [{ message: toPlainError(error).message }]);
  }
}

async function awaitValidation(
  ready: ReadyCall,
  validation: PromiseLike<Validation>,
  ports: PreparePorts,
): Promise<ReadyCall | ToolOutcome> {
  const raced = await new Deadline({ limitMs: ports.timeouts.callbackMs }, ports).race(validation);
  if (raced.kind === "value") return judgeInput(ready, raced.value);
  // Lets a cancelled call continue, because the step that runs it detects and reports the cancellation.
  if (raced.kind === "cancelled") return ready;
  const message =
    raced.kind === "thrown" ? toPlainError(raced.error).message : `The validation took longer than ${raced.limitMs} ms.`;
  return refuseInput(ready, [{ message }]);
}

function judgeInput(ready: ReadyCall, validation: unknown): ReadyCall | ToolOutcome {
  const issues = readIssues(validation);
  if (issues !== undefined) return refuseInput(ready, issues);
  return { ...ready, args: (validation as UnknownRecord)["value"] };
}

/** Returns the issues from a validation, or undefined if it succeeded with a value. */
export function readIssues(validation: unknown): readonly Issue[] | undefined {
  const given: UnknownRecord = isRecord(validation) ? validation : {};
  if (Array.isArray(given["issues"])) return given["issues"] as readonly Issue[];
  return "value" in given ? undefined : [{ message: "The validation returned neither issues nor a value." }];
}

function refuseInput({ call, approvedArgs }: ReadyCall, issues: readonly Issue[]): ToolOutcome {
  return { call, durationMs: 0, approvedArgs, kind: "invalid-input", issues };
}

/** Returns the JSON parser's error message, or the limit that the arguments exceed. */
function parseErrorOf({ argsText = "" }: ToolCall, { advice }: PreparePorts): string | undefined {
  if (advice.given >= maxAdvice.given) return undefined;
  advice.given += 1;
  try {
    toJson(JSON.parse(argsText));
    return undefined;
  } catch (error) {
    return toPlainError(error).message;
  }
}

export function findDeferralProblem({ definition }: ReadyCall, ports: ToolCallPorts): string | undefined {
  const { name, eager } = definition;
  if (eager !== true && ports.mayDefer !== false) return undefined;
  const cause = eager === true ? "eager" : "nested";
  return edges.describeDeferral?.(cause, name) ?? `The tool ${quote(name)} cannot defer its result.`;
}
