import type { DeliberateGate, TriggerMatch } from "../core/entry-kit.ts";

/** The options of deliberate mode. */
export interface DeliberateModeOptions {
  /** The phrases of a user that expose tools: tool names and their phrases. A tool that is not here is never exposed. */
  readonly triggers: { readonly [toolName: string]: string | readonly string[] };
  /** For how many turns after one in which it succeeded a tool stays exposed. A whole number from 0 to 10. Default 4. */
  readonly retainTurns?: number | undefined;
  /** Texts that ask for the same once more, as a whole text; only words count. Default: English ones, such as "do it again". */
  readonly followUps?: readonly string[] | undefined;
  /** Most conversations that are remembered; the one not used for longest goes first. Default 10,000. */
  readonly maxConversations?: number | undefined;
}

/** Exposes tools only where a user asked for them. Made by `createDeliberateMode`. */
export interface DeliberateMode {
  /** Triggers that are left out because they cannot be used. */
  readonly problems: readonly TriggerProblem[];
  /** Makes the gate of one turn. Each call is a turn of its conversation. */
  forTurn(turn: DeliberateTurn): DeliberateTurnGate;
}

/** A trigger that cannot be used, and why. */
export interface TriggerProblem {
  /** Undefined for one of the `followUps`. */
  readonly toolName: string | undefined;
  readonly trigger: string;
  /** Reads on after the trigger, such as "is empty". */
  readonly problem: string;
}

/** The facts by which a turn is judged. */
export interface DeliberateTurn {
  /** Whose successes are remembered. Without it nothing is. */
  readonly conversationId?: string | undefined;
  /** The text of the user in this turn. */
  readonly text: string;
  /** Earlier texts of the user, oldest first. A follow-up phrase repeats what the newest of the last 20 that triggered tools did. */
  readonly recent?: readonly string[] | undefined;
}

/** The gate of one turn; it goes into `policies.gate`. */
export interface DeliberateTurnGate extends DeliberateGate {
  readonly active: true;
  /** The exposed tools. */
  readonly allowedNames: ReadonlySet<string>;
  /** Why each of them is exposed. */
  readonly triggerMatchByToolName: ReadonlyMap<string, TriggerMatch>;
  /** Regular expressions that were not looked for in all that was said, because those before them had taken too long. Rarely any. */
  readonly unsearched: readonly string[];
  /** Keeps a tool of this turn exposed in the next turns. Called by the loop for each tool that succeeded. */
  retain(name: string): void;
}
