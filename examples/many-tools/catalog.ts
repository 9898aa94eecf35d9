// 300 tools of five services, named as MCP servers name them.

import { defineTool, type Tool } from "turnwright";
import { z } from "zod";

const verbs = ["create", "list", "get", "update", "delete", "search", "close", "merge", "assign", "archive"];
const things: { readonly [service: string]: readonly string[] } = {
  github: ["issue", "pull_request", "repository", "branch", "release", "workflow_run"],
  jira: ["ticket", "sprint", "board", "project", "comment", "worklog"],
  slack: ["message", "channel", "reminder", "user_group", "canvas", "bookmark"],
  salesforce: ["account", "opportunity", "lead", "contact", "campaign", "case"],
  stripe: ["invoice", "customer", "subscription", "refund", "payment", "price"],
};
const inputSchema = z.object({
  id: z.string().describe("The id of the object, as another tool of the service has returned it."),
  fields: z.record(z.string(), z.string()).optional().describe("The fields to write, by name."),
});

export const catalog: readonly Tool[] = Object.entries(things).flatMap(([service, names]) =>
  names.flatMap((thing) =>
    verbs.map((verb) =>
      defineTool({
        name: `${service}_${verb}_${thing}`,
        description: `Calls the service ${service}: ${verb} one ${thing.replace("_", " ")}. Returns the object after the call.`,
        inputSchema,
        execute: ({ id }) => ({ id, done: verb }),
      }),
    ),
  ),
);
