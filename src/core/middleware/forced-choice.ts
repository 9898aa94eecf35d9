// Applies a forced tool choice to the first call only, because a model that must call a tool every time could never answer.

import { isForced } from "../../shared/forced-choice.ts";
import type { Middleware } from "../types/middleware.ts";

/** Sends the tool choice "auto" after the current agent has called a tool. If `toolChoice` named a tool, only this tool may still run. */
export function forceFirstCall(): Middleware {
  return {
    name: "forced-choice",
    pure: true,
    begin: () => {
      let agent: string | undefined;
      let since: number | undefined;
      return {
        request(request, next, { state }) {
          const { messages, givenMessages } = state;
          // After a handoff, only later messages count, because the call that handed off belongs to the previous agent.
          if (since === undefined || request.agent !== agent) since = since === undefined ? givenMessages : messages.length;
          ({ agent } = request);
          const { toolChoice } = request;
          const isDone =
            request.keepsChoice !== true && isForced(toolChoice) && messages.slice(since).some(({ role }) => role === "tool");
          return next(isDone ? { ...request, toolChoice: "auto", enforced: toolChoice } : request);
        },
      };
    },
  };
}
