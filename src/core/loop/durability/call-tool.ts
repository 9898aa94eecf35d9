// Calls a tool of the run for a middleware or a durable tool.

import type { Json } from "../../types/common.ts";
import { digest, stableJson, toJson } from "../../../shared/json.ts";
import { Activity, Parked, type Owner } from "../activity.ts";
import { endOfCall } from "../next-step.ts";
import { activityOf, StepError, uniqueName } from "../recorder.ts";

export async function callTool(by: Owner, name: string, args: Json): Promise<Json> {
  const activity = activityOf(by);
  const { run, place, path, journal } = activity;
  // Parallel calls may start in any order, so the key is made from the call's content, not from a counter.
  const id = uniqueName(by, "call", `${name}-${digest(stableJson(args))}`).replaceAll("/", "%2F");
  return activity.inCore(async () => {
    const call = { callId: `${by.callId}/${id}`, name, args: toJson(args) };
    const own = `${place}/${by.owner}/call/${id}`;
    const { isEarly, left } = activity;
    const inner = new Activity(run, { place: own, path: `${path}/${id}`, journal, call, isEarly, left });
    const end = await inner.settle(run.ports.perform(inner, call));
    activity.spent.push(...inner.spent);
    activity.ends ??= inner.ends;
    if ("waits" in end) return new Parked(end.waits);
    const { value } = end;
    activity.ends ??= endOfCall(value);
    if (value.kind === "completed") return value.data;
    throw new StepError(value.kind === "failed" ? value.error : { name: "CallFailed", message: `${name}: ${value.kind}` });
  });
}
