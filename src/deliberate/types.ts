import type { DeliberateGate, TriggerMatch } from "../core/entry-kit.ts";

/** The options of deliberate mode. */
export interface DeliberateModeOptions {
  /** Tool names and the phrases of a user that expose them. Tools that are not listed are never exposed. */
  readonly triggers: { readonly [toolName: string]: string | readonly string[] };
  /** How many turns a tool stays exposed after a turn in which it succeeded. A whole number from 0 to 10. Default 4. */
  readonly retainTurns?: number | undefined;
  /** Whole texts that mean "the same again"; only their words count. Default: English phrases, such as "do it again". */
  readonly followUps?: readonly string[] | undefined;
  /** Most conversations to remember. The least recently used one is dropped first. Default 10,000. */
  readonly maxConversations?: number | undefined;
}

/** Exposes tools only if a user asked for them. Made by `createDeliberateMode`. */
export interface DeliberateMode {
  /** Triggers that are ignored because they are invalid. */
  readonly problems: readonly TriggerProblem[];
  /** Makes the gate of one turn. Each call counts as a turn of its conversation. */
  forTurn(turn: DeliberateTurn): DeliberateTurnGate;
}

/** A trigger that cannot be used, and why. */
export interface TriggerProblem {
  /** Undefined for one of the `followUps`. */
  readonly toolName: string | undefined;
  readonly trigger: string;
  /** Follows the trigger, for example "is empty". */
  readonly problem: string;
}

/** The input of one turn. */
export interface DeliberateTurn {
  /** The conversation whose successes are remembered. Without it, none are. */
  readonly conversationId?: string | undefined;
  /** The text of the user in this turn. */
  readonly text: string;
  /** Earlier texts of the user, oldest first. A follow-up phrase exposes the tools of the newest of the last 20 texts with a trigger. */
  readonly recent?: readonly string[] | undefined;
}

/** The gate of one turn, for `policies.gate`. */
export interface DeliberateTurnGate extends DeliberateGate {
  readonly active: true;
  /** The exposed tools. */
  readonly allowedNames: ReadonlySet<string>;
  /** The reason for each exposed tool. */
  readonly triggerMatchByToolName: ReadonlyMap<string, TriggerMatch>;
  /** Regular expressions that were not searched for in all texts, because earlier ones took too long. Usually empty. */
  readonly unsearched: readonly string[];
  /** Keeps a tool of this turn exposed in the next turns. The loop calls it for each tool that succeeded. */
  retain(name: string): void;
}
