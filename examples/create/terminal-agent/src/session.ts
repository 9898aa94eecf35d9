// A session at the terminal: each line is a question. A line that arrives while the model is working steers it.

import { createLoopControl, type Provider, type Tool } from "turnwright";
import { createConversation, fileConversationStore } from "turnwright/conversation";

export interface SessionOptions {
  readonly provider: Provider;
  readonly tools: readonly Tool[];
  /** The folder that keeps the conversation, so that the next start continues it. */
  readonly folder: string;
  write(text: string): void;
}

export interface Session {
  readonly isWorking: boolean;
  say(line: string): Promise<void>;
  stop(): void;
}

export function createSession({ provider, tools, folder, write }: SessionOptions): Session {
  const control = createLoopControl();
  const conversation = createConversation({
    id: "terminal",
    store: fileConversationStore(folder),
    options: {
      provider,
      tools,
      control,
      system: "You answer questions about the files of a folder. Be brief.",
      limits: { maxIterations: 20, wallClockMs: 300_000 },
    },
  });
  let isWorking = false;

  async function answer(line: string): Promise<void> {
    const stream = conversation.stream(line);
    for await (const event of stream) {
      if (event.type === "text-delta") write(event.text);
      if (event.type === "tool-start") write(`\n[${event.name}]\n`);
    }
    const { status, reason, error } = await stream.result;
    write(status === "completed" ? "\n" : `\n(${reason.kind}${error === undefined ? "" : `: ${error.message}`})\n`);
  }

  return {
    get isWorking() {
      return isWorking;
    },
    async say(line) {
      if (isWorking && control.steer(line) === "accepted") return;
      isWorking = true;
      try {
        await answer(line);
      } finally {
        isWorking = false;
      }
    },
    stop: () => void control.stop(),
  };
}
