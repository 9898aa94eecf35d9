import type { ModelRequest, Tool } from "turnwright";
import type { ExecutableTool } from "turnwright/kit";
import { tool } from "../loop/play.ts";

const verbs = ["create", "list", "get", "update", "delete", "search", "close", "merge", "assign", "archive"];
const nouns: { readonly [app: string]: readonly string[] } = {
  github: ["issue", "pull_request", "repository", "branch", "release", "workflow_run"],
  jira: ["ticket", "sprint", "board", "project", "comment", "worklog"],
  slack: ["message", "channel", "reminder", "user_group", "canvas", "bookmark"],
  salesforce: ["account", "opportunity", "lead", "contact", "campaign", "case"],
  stripe: ["invoice", "customer", "subscription", "refund", "payment_intent", "price"],
};

/** 300 deferred tools of five services, with schemas as MCP servers have them. */
export const manyTools: readonly Tool[] = Object.entries(nouns).flatMap(([app, things]) =>
  things.flatMap((thing) =>
    verbs.map((verb) => deferredTool(`${app}_${verb}_${thing}`, `${verb} a ${thing} in ${app}. `.repeat(5))),
  ),
);

export function deferredTool(name: string, description: string = name, traits: Partial<Tool> = {}): ExecutableTool {
  const inputSchema = {
    type: "object",
    properties: { id: { type: "string", description: "The id of the object." }, limit: { type: "number" } },
  };
  return tool(name, () => `${name} ran`, { description, deferred: true, inputSchema, ...traits });
}

export function toolNames({ tools }: Pick<ModelRequest, "tools">): readonly string[] {
  return tools.map(({ name }) => name);
}
