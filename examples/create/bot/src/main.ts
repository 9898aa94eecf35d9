import { createInterface } from "node:readline";
import { fileConversationStore } from "turnwright/conversation";
import { createBot } from "./bot.ts";
import { chooseModel } from "./model.ts";
import { script } from "./script.ts";
import { connectTelegram } from "./telegram.ts";
import { tools } from "./tools.ts";

const provider = await chooseModel(script);
const store = fileConversationStore(".data/conversations");
const token = process.env["TELEGRAM_BOT_TOKEN"];

if (token) {
  const telegram = connectTelegram(token, { fetch });
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  console.log("The bot listens on Telegram. Ctrl+C ends it.");
  await telegram.poll(createBot({ provider, tools, store, reply: telegram.send }), stop.signal);
} else {
  console.log("This terminal is a room of the bot. With TELEGRAM_BOT_TOKEN in .env, the bot listens on Telegram.\n");
  const bot = createBot({ provider, tools, store, reply: async (_room, text) => console.log(`bot: ${text}`) });
  const terminal = createInterface({ input: process.stdin });
  terminal.on("line", (line) => {
    if (line.trim() !== "") bot.hear("terminal", line).catch((error: unknown) => console.error(error));
  });
}
