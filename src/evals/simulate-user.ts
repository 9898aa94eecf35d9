// Lets a model play the user in a multi-turn conversation.

import {
  defineTool,
  type LoopResult,
  type Message,
  type ModelSettings,
  type Pricing,
  type Provider,
  runToolLoop,
} from "../core/index.ts";
import { checkFields, type Checks, is, needed } from "../core/kit.ts";
import type { Trial } from "./evaluation.ts";

/** The options of `simulateUser`. */
export interface SimulatedUserOptions {
  /** The model that plays the user. */
  readonly provider: Provider;
  /** Describes the user: who they are, what they want, what they know, and when they are satisfied. */
  readonly goal: string;
  /** Sends a user message to the assistant, and returns its answer, like `conversation.send`. */
  readonly send: (message: string) => PromiseLike<Pick<LoopResult, "text" | "status">>;
  /** The first message. Default: the model writes it. */
  readonly first?: string | undefined;
  /** The maximum number of user messages. Default 10. */
  readonly maxTurns?: number | undefined;
  readonly modelSettings?: ModelSettings | undefined;
  readonly pricing?: Pricing | undefined;
}

/** A conversation with a simulated user. */
export interface SimulatedTalk {
  /**
   * "content" or "gave-up" if the user ended the conversation. "max-turns" after `maxTurns` messages. "agent-ended" if the assistant gave
   * no answer, for example because its run failed or was suspended. "user-failed" if the model that plays the user wrote nothing.
   */
  readonly ended: "content" | "gave-up" | "max-turns" | "agent-ended" | "user-failed";
  readonly turns: readonly { readonly user: string; readonly assistant: string }[];
}

const checks: Checks<SimulatedUserOptions> = {
  provider: needed(is.object),
  goal: needed(is.name),
  send: needed(is.fn),
  first: is.name,
  maxTurns: { min: 1, infinite: false },
  modelSettings: is.object,
  pricing: is.fn,
};

const endConversation = defineTool({
  name: "end_conversation",
  description: "Ends the conversation, when you have what you want or it is clear that you will not get it.",
  inputSchema: {
    type: "object",
    properties: { content: { type: "boolean", description: "True if you got what you want" } },
    required: ["content"],
    additionalProperties: false,
  },
  execute: () => "ended",
});

const system = (goal: string): string =>
  `You are playing a person who is writing to an assistant. Stay in this role:\n\n${goal}\n\nWrite only what this person would write: one short message at a time, in their own words. Never act as the assistant. Do not reveal everything at once. When you have what you want, or it is clear that you will not get it, call end_conversation.`;

/**
 * Lets a model play a user until the user is content, gives up or has written `maxTurns` messages. Pass the trial, so that the user's
 * messages are recorded, replayed at no cost, and counted.
 *
 * Throws LoopError "invalid-option" or "unknown-option". Rejects with errors from `send`.
 *
 * @example
 * const talk = await simulateUser({ provider, goal: "You want your money back for order 7.", send: (text) => conversation.send(text) },
 * trial);
 */
export async function simulateUser(options: SimulatedUserOptions, trial?: Pick<Trial, "options">): Promise<SimulatedTalk> {
  checkFields("options", options, checks);
  const { provider, goal, send, maxTurns = 10, modelSettings, pricing } = options;
  const turns: { readonly user: string; readonly assistant: string }[] = [];
  const end = (ended: SimulatedTalk["ended"]): SimulatedTalk => ({ ended, turns });
  let next = options.first;
  while (turns.length < maxTurns) {
    if (next === undefined) {
      const asked = {
        provider,
        system: system(goal),
        messages: toMessages(turns),
        tools: [endConversation],
        limits: { maxIterations: 1 },
        modelSettings,
        pricing,
      };
      const { text, calls } = await runToolLoop(trial === undefined ? asked : trial.options(asked));
      const [ending] = calls;
      if (ending !== undefined)
        return end((ending.args as { readonly content?: unknown }).content === true ? "content" : "gave-up");
      if (text === "") return end("user-failed");
      next = text;
    }
    const { text, status } = await send(next);
    turns.push({ user: next, assistant: text });
    if (status !== "completed") return end("agent-ended");
    next = undefined;
  }
  return end("max-turns");
}

/** Converts the conversation to the simulated user's point of view, in which its own messages have the role "assistant". */
function toMessages(turns: SimulatedTalk["turns"]): readonly Message[] {
  const begin = { role: "user" as const, content: "(The conversation begins. Write your first message.)" };
  return [
    begin,
    ...turns.flatMap(({ user, assistant }): readonly Message[] => [
      { role: "assistant", content: [{ type: "text", text: user }] },
      { role: "user", content: assistant === "" ? "(no answer)" : assistant },
    ]),
  ];
}
