// The user's own model, where there is a key for one.

import OpenAI from "openai";
import type { Provider } from "turnwright";
import { openaiChat } from "turnwright/openai";

/** A provider over an OpenAI client where OPENAI_API_KEY is set; OPENAI_MODEL names the model, OPENAI_BASE_URL another server. */
export function openaiFromEnvironment({ OPENAI_API_KEY, OPENAI_MODEL }: NodeJS.ProcessEnv = process.env): Provider | undefined {
  if (OPENAI_API_KEY === undefined || OPENAI_API_KEY === "") return undefined;
  return openaiChat({ client: new OpenAI(), model: OPENAI_MODEL ?? "gpt-5-mini" });
}
