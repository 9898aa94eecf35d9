// The tools of the bot. One sets a reminder, one loads the user's profile, and one always fails.

import { z } from "zod";
import { contextRestart, type ContextStash, defineTool, type Json, type Tool } from "turnwright";

export interface Reminder {
  readonly userId: string;
  readonly what: string;
  readonly at: string;
}

export interface ToolPorts {
  readonly reminders: Reminder[];
  readonly profiles: ReadonlyMap<string, Json>;
  readonly stash: ContextStash;
  /** Takes as long as a real service needs to set a reminder. */
  pause(): Promise<void>;
}

/** Maps each tool to its triggers: a user who writes one of these words allows the tool. */
export const triggers: { readonly [toolName: string]: readonly string[] } = {
  set_reminder: ["remind me", "reminder*"],
  read_profile: ["/who am i\\b/i"],
  sound_depth: ["how deep"],
};

export function createTools({ reminders, profiles, stash, pause }: ToolPorts): readonly Tool[] {
  const setReminder = defineTool({
    name: "set_reminder",
    description: "Reminds the user of something at a time",
    inputSchema: z.object({ what: z.string(), at: z.string() }),
    async execute({ what, at }, { session, signal }) {
      await pause();
      // The run may have been stopped while the tool was waiting.
      signal.throwIfAborted();
      // The user id comes from the session. The model could pass any user id as an argument, because a user can tell the model any
      // name.
      reminders.push({ userId: session.userId ?? "", what, at });
      return { set: true, what, at };
    },
  });
  // #region restart
  const readProfile = defineTool({
    name: "read_profile",
    description: "Brings in what is known of the user",
    inputSchema: z.object({}),
    execute(_args, { session }) {
      const profile = profiles.get(session.userId ?? "");
      if (profile === undefined) return { known: false };
      // The transcript stores only the key of this result. The model reads the profile itself in each request until the run ends.
      return contextRestart({
        type: "context_restart_profile",
        pending_context_key: stash.put(profile),
        disable_tools: ["read_profile"],
      });
    },
  });
  // #endregion restart
  const soundDepth = defineTool({
    name: "sound_depth",
    description: "Tells how deep the water is",
    inputSchema: z.object({}),
    execute() {
      throw new Error("The line is stuck.");
    },
  });
  return [setReminder, readProfile, soundDepth];
}
