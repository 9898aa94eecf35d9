// Connects the bot to Telegram by long polling, so it needs no public address.

import type { Bot } from "./bot.ts";

interface Update {
  readonly update_id: number;
  readonly message?: { readonly text?: string; readonly chat: { readonly id: number } };
}

export interface Telegram {
  send(room: string, text: string): Promise<void>;
  /** Passes messages to the bot until the signal is aborted. */
  poll(bot: Bot, signal: AbortSignal): Promise<void>;
}

export function connectTelegram(token: string, ports: { readonly fetch: typeof fetch; readonly retryMs?: number }): Telegram {
  async function call(method: string, body: object, signal?: AbortSignal): Promise<unknown> {
    const response = await ports.fetch(`https://api.telegram.org/bot${token}/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
    const answer = (await response.json()) as { readonly ok: boolean; readonly description?: string; readonly result?: unknown };
    if (!answer.ok) throw new Error(`Telegram refused ${method}: ${answer.description ?? response.status}`);
    return answer.result;
  }

  const send = async (room: string, text: string): Promise<void> => {
    // A message of Telegram has at most 4,096 characters.
    for (let at = 0; at < text.length; at += 4_096)
      await call("sendMessage", { chat_id: room, text: text.slice(at, at + 4_096) });
  };

  return {
    send,
    async poll(bot, signal) {
      let offset = 0;
      while (!signal.aborted) {
        try {
          const updates = (await call("getUpdates", { offset, timeout: 25 }, signal)) as readonly Update[];
          for (const { update_id, message } of updates) {
            offset = update_id + 1;
            if (message?.text === undefined) continue;
            // Not awaited: other rooms must not wait, and the next message of this room may interrupt.
            bot.hear(String(message.chat.id), message.text).catch((error: unknown) => console.error(error));
          }
        } catch (error) {
          if (signal.aborted) return;
          console.error(error);
          await new Promise((resolve) => setTimeout(resolve, ports.retryMs ?? 2_000));
        }
      }
    },
  };
}
