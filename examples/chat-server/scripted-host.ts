// A scripted model that needs no key. It calls the clock tool, and then tells the time. It writes slowly, so that users can
// interrupt it.

import type { Message } from "turnwright";
import { createMockProvider, type MockPart, type MockProvider, text, toolCall, wait } from "turnwright/testing";

export function createScriptedHost(): MockProvider {
  return createMockProvider(({ messages }) => {
    const turn = sinceLastAnswer(messages);
    const looked = turn.flatMap((message) => (message.role === "tool" ? message.results : [])).at(-1);
    if (looked === undefined) return [...say("One moment, let me see what the clock on the wall says."), toolCall("get_time")];
    const asked = turn.flatMap((message) =>
      message.role === "user" && typeof message.content === "string" ? [`“${message.content}”`] : [],
    );
    const answer = `You said ${asked.join(" and ")}, and it is ${JSON.stringify(looked.result)} here.`;
    return say(
      `${answer} More I cannot tell, for I am a script: start me with a key in OPENAI_API_KEY or ANTHROPIC_API_KEY, and a model answers.`,
    );
  });
}

function say(words: string): readonly MockPart[] {
  return words.split(/(?= )/).flatMap((word) => [wait(120), text(word)]);
}

function sinceLastAnswer(messages: readonly Message[]): readonly Message[] {
  const isAnswer = (message: Message): boolean =>
    message.role === "assistant" && message.content.every(({ type }) => type !== "tool-call");
  return messages.slice(messages.map(isAnswer).lastIndexOf(true) + 1);
}
