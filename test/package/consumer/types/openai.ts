// The client of the OpenAI SDK is accepted without a cast.

import OpenAI from "openai";
import type { Provider } from "turnwright";
import { openaiChat, type OpenAIChatOptions, openaiResponses } from "turnwright/openai";

export function connect(options: Omit<OpenAIChatOptions, "client" | "model">): readonly Provider[] {
  const client = new OpenAI();
  return [
    openaiChat({ ...options, client, model: "gpt-5" }),
    openaiResponses({ client, model: "gpt-5", reasoning: { effort: "low" } }),
  ];
}
