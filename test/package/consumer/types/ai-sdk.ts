// A model object of the AI SDK fits as it is.

// It has ES modules only.
import type { OpenAIProvider } from "@ai-sdk/openai" with { "resolution-mode": "import" };
import type { Provider } from "turnwright";
import { aiSdkModel, type AiSdkWarning } from "turnwright/ai-sdk";

/** A model of a provider package. */
export function connect(openai: OpenAIProvider, onWarning: (warning: AiSdkWarning) => void): Provider {
  return aiSdkModel({ model: openai("gpt-5"), onWarning });
}
