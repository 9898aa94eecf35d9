import type { Tool } from "../types/loop-options.ts";
import type { CallOf } from "../types/typed-call.ts";

/**
 * True if a call, or an event about a call, belongs to the tool. Narrows `name`, and narrows `args` to the input of the tool's
 * schema. For events `tool-end` and for `result.calls`, the outcome "completed" also narrows `result`.
 *
 * Only the name is compared. A nested run may have another tool with the same name; its events have a `path`. Arguments match the
 * schema in `approve`, in calls that wait, and in completed calls. In events before the call runs, the model may have written
 * arguments that the tool then refuses as `invalid-input`.
 *
 * @example
 * const approve: Approve = (call) =>
 *   isCallOf(refund, call) && call.args.amount > 100 ? { kind: "ask" } : { kind: "approve" };
 */
export function isCallOf<T extends Tool, Call extends object>(tool: T, call: Call): call is Extract<CallOf<T, Call>, Call> {
  return "name" in call && call.name === tool.name;
}
