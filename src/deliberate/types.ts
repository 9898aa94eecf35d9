import type { DeliberateGate, ToolDefinition, ToolRegistry, TriggerMatch } from "../core/entry-kit.ts";

/** The options of `createDeliberateMode`. */
export interface DeliberateModeOptions {
  /**
   * The triggers of each tool, by tool name. A tool is visible if the user's text contains one of its triggers. Tools that have no
   * triggers here or in `tools` are never visible. Required without `tools`.
   */
  readonly triggers?: { readonly [toolName: string]: string | readonly string[] } | undefined;
  /**
   * Tools that declare `triggers`, as an array or a registry. They are read once. The triggers of a tool in the option `triggers`
   * replace those that the tool declares. Required without `triggers`.
   */
  readonly tools?: readonly Pick<ToolDefinition, "name" | "triggers">[] | ToolRegistry | undefined;
  /** The number of turns for which a tool stays visible after it succeeded. An integer from 0 to 10. Default 4. */
  readonly retainTurns?: number | undefined;
  /**
   * Follow-up phrases. If a user's text consists of the words of such a phrase, the tools of the previous request are visible
   * again. Default: English phrases, such as "do it again".
   */
  readonly followUps?: readonly string[] | undefined;
  /** The maximum number of conversations to remember. The least recently used conversation is dropped first. Default 10,000. */
  readonly maxConversations?: number | undefined;
}

/** Makes tools visible only if the user asks for them. Created by `createDeliberateMode`. */
export interface DeliberateMode {
  /** Triggers that are ignored because they are invalid. */
  readonly problems: readonly TriggerProblem[];
  /** Makes the gate of one turn. Each call of `forTurn` begins a new turn of its conversation. */
  forTurn(turn: DeliberateTurn): DeliberateTurnGate;
}

/** An invalid trigger or follow-up phrase. */
export interface TriggerProblem {
  /** The tool with the trigger; undefined for a phrase in `followUps`. */
  readonly toolName: string | undefined;
  readonly trigger: string;
  /** The problem, worded to follow the trigger in a message, for example "is empty". */
  readonly problem: string;
}

/** The argument of `forTurn`. */
export interface DeliberateTurn {
  /** The id of the conversation. Without an id, successes are not remembered. */
  readonly conversationId?: string | undefined;
  /** The user's text in this turn. */
  readonly text: string;
  /**
   * Earlier texts of the user, oldest first. After a follow-up phrase, the last 20 texts are searched, newest first. The first
   * text that contains a trigger determines the visible tools.
   */
  readonly recent?: readonly string[] | undefined;
}

/** Decides which tools are visible in one turn. Pass it as `policies.gate`. */
export interface DeliberateTurnGate extends DeliberateGate {
  readonly active: true;
  /** The names of the visible tools. */
  readonly allowedNames: ReadonlySet<string>;
  /** The trigger that made each tool visible, by tool name. */
  readonly triggerMatchByToolName: ReadonlyMap<string, TriggerMatch>;
  /**
   * The regular expressions that were not applied to all texts, because the time limit of the turn was reached. Usually empty.
   */
  readonly unsearched: readonly string[];
  /** Keeps a tool visible in the next turns. The loop calls `retain` for each tool that succeeded in this turn. */
  retain(name: string): void;
}
