// The tools of the bot: one sets reminders, one loads a user's profile with a context restart, and one always fails.

import { z } from "zod";
import { contextRestart, type ContextStash, defineTool, type Json, type Tool } from "turnwright";

/** Something to be reminded of. */
export interface Reminder {
  readonly userId: string;
  readonly what: string;
  readonly at: string;
}

/** The state that the tools work on. */
export interface ToolPorts {
  readonly reminders: Reminder[];
  readonly profiles: ReadonlyMap<string, Json>;
  readonly stash: ContextStash;
  /** How long a reminder takes to be set. */
  pause(): Promise<void>;
}

/** The words that let each tool through if a user says them. */
export const triggers: { readonly [toolName: string]: readonly string[] } = {
  set_reminder: ["remind me", "reminder*"],
  read_profile: ["/who am i\\b/i"],
  sound_depth: ["how deep"],
};

/** Makes the tools. */
export function createTools({ reminders, profiles, stash, pause }: ToolPorts): readonly Tool[] {
  const setReminder = defineTool({
    name: "set_reminder",
    description: "Reminds the user of something at a time",
    inputSchema: z.object({ what: z.string(), at: z.string() }),
    async execute({ what, at }, { session, signal }) {
      await pause();
      // Stopped meanwhile.
      signal.throwIfAborted();
      // The user comes from the session, because the model would believe any name in a text.
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
      // Only the key is in the result, and so in the transcript. The profile is shown to the model for the rest of this run.
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
