// The tool of the example is a kitchen timer, and its scripted model is a cook. The cook understands two sentences.

import { z } from "zod";
import { defineTool, type Message, type Tool } from "turnwright";
import { createMockProvider, type MockProvider, text, toolCall, wait } from "turnwright/testing";

/** Rejects when the signal is aborted. */
export type Pause = (ms: number, signal: AbortSignal) => Promise<unknown>;

export function createTimer(pause: Pause): Tool {
  return defineTool({
    name: "run_timer",
    description: "Runs a kitchen timer to its end",
    inputSchema: z.object({ dish: z.string(), seconds: z.int().min(1).max(600) }),
    async execute({ dish, seconds }, { signal, progress }) {
      for (let left = seconds; left > 0; left -= 1) {
        progress(`${left} s left`);
        await pause(1_000, signal);
      }
      return { dish, status: "done" };
    },
  });
}

const menu: readonly (readonly [dish: string, seconds: number])[] = [
  ["tea", 4],
  ["eggs", 6],
  ["toast", 3],
];

/** Makes a model that prepares a breakfast, dish by dish. After the message "No eggs, please.", the model omits the eggs. */
export function createScriptedCook(): MockProvider {
  return createMockProvider(
    ({ messages }) => {
      const { said, done } = readAssistantMessage(messages);
      const left = menu.filter(([dish]) => !said.some((line) => new RegExp(`\\bno ${dish}\\b`, "i").test(line)));
      const next = left.find(([dish]) => !done.includes(dish));
      const words = next === undefined ? `Breakfast is ready: ${joinWords(done)}. I am a script.` : `Now the ${next[0]}.`;
      const spoken = words.split(/(?= )/).flatMap((word) => [wait(80), text(word)]);
      return next === undefined ? spoken : [...spoken, toolCall("run_timer", { dish: next[0], seconds: next[1] })];
    },
    { id: "script", model: "scripted-cook" },
  );
}

function readAssistantMessage(messages: readonly Message[]): {
  readonly said: readonly string[];
  readonly done: readonly string[];
} {
  const isAnswer = (message: Message): boolean =>
    message.role === "assistant" && message.content.every(({ type }) => type !== "tool-call");
  const turn = messages.slice(messages.map(isAnswer).lastIndexOf(true) + 1);
  const said = turn.flatMap((message) =>
    message.role === "user" && typeof message.content === "string" ? [message.content] : [],
  );
  const done = turn
    .flatMap((message) => (message.role === "tool" ? message.results : []))
    .flatMap(({ result }) => readDish(result));
  return { said, done };
}

const finished = z.object({ dish: z.string(), status: z.literal("done") });

function readDish(result: unknown): readonly string[] {
  const { data } = finished.safeParse(result);
  return data === undefined ? [] : [data.dish];
}

function joinWords(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? "nothing") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
