// #region middleware
import type { Middleware } from "turnwright";
import { denyCall } from "turnwright/kit";

/** Refuses the tools that are closed today. The model reads why, and goes on. */
export function openingHours(isOpen: (toolName: string) => boolean): Middleware {
  return {
    name: "opening-hours",
    async execute(call, next, at) {
      const open = await at.step("open", () => isOpen(call.name)); // recorded: a resumed run gets the same answer
      return open ? next(call) : denyCall(call, `"${call.name}" is closed now. Tell the user to try tomorrow.`);
    },
  };
}
// #endregion middleware
