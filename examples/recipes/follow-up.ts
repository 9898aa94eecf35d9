// #region follow-up
import { type Message, type Provider, streamToolLoop, type Tool } from "turnwright";

let history: readonly Message[] = [];

export async function ask(provider: Provider, tools: readonly Tool[], question: string): Promise<string> {
  const stream = streamToolLoop({ provider, tools, messages: [...history, { role: "user", content: question }] });
  for await (const event of stream) {
    if (event.type === "text-delta") process.stdout.write(event.text);
  }
  const { messages, text } = await stream.result;
  history = messages; // the whole transcript, with the calls and their results
  return text;
}
// #endregion follow-up
