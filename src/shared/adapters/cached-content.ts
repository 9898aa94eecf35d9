// Fits requests to Google's cached content, which holds the system text and the tools.

import type { ModelRequest, RequestChange } from "../../core/types/provider.ts";
import { isForced } from "../forced-choice.ts";
import type { OutputPlan } from "./output-schema.ts";
import { withFreeChoice } from "./refused-parts.ts";

/** A request, and how it describes the answer's schema. */
export interface PlannedRequest extends OutputPlan {
  readonly request: ModelRequest;
}

interface CachedPorts {
  /** The adapter's option for tools that the service runs, and their number. The adapter must leave these tools out. */
  readonly serverTools: readonly [option: string, count: number];
  plan(request: ModelRequest): OutputPlan;
  report(change: RequestChange): void;
}

/**
 * Plans a request that uses cached content. Removes the fields that belong in the cache, because the service refuses them:
 * "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config"
 * (github.com/langchain-ai/langchain-google/issues/1618). A forced call becomes an instruction, and a schema that the service cannot
 * enforce is described in a message.
 */
export function planCached(given: ModelRequest, { serverTools: [option, count], plan, report }: CachedPorts): PlannedRequest {
  const { system = "", tools, toolChoice } = given;
  const remove = (field: string): void => report({ by: "adapter", field, action: "removed", reason: "unsupported" });
  if (system.trim() !== "") remove("system");
  if (tools.length > 0) remove("tools");
  if (count > 0) remove(option);
  if (isForced(toolChoice)) report({ by: "adapter", field: "toolChoice", action: "replaced", reason: "unsupported" });
  else if (toolChoice === "none") remove("toolChoice");
  const freed = isForced(toolChoice) ? withFreeChoice(given) : given;
  const request: ModelRequest = { ...freed, system: undefined, tools: [], toolChoice: undefined };
  const { system: description, schema } = plan(request);
  const { messages } = request;
  const described = description === undefined ? messages : [...messages, { role: "user", content: description } as const];
  return { request: { ...request, messages: described }, system: undefined, schema };
}
