// An AI SDK model object is accepted without a cast.

// The package @ai-sdk/openai has only ES modules.
import type { OpenAIProvider } from "@ai-sdk/openai" with { "resolution-mode": "import" };
import type { Provider } from "turnwright";
import { aiSdkModel, type AiSdkModelOptions } from "turnwright/ai-sdk";

export function connect(openai: OpenAIProvider, onWarning: AiSdkModelOptions["onWarning"]): Provider {
  return aiSdkModel({ model: openai("gpt-5"), onWarning });
}
