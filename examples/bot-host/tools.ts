// The tools of the bot: one sets reminders, one loads a user's profile with a context restart, and one always fails.

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
  /** Simulates the time that it takes to set a reminder. */
  pause(): Promise<void>;
}

/** The trigger words that allow each tool if a user writes them. */
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
      // The run may have been stopped during the pause.
      signal.throwIfAborted();
      // The user id comes from the session, because the model would believe any name that a user writes.
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
      // The result in the transcript contains only the key. The model sees the profile until the end of this run.
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
