// The client of Google fits as it is.

// It has types for ES modules only.
import type { GoogleGenAI } from "@google/genai" with { "resolution-mode": "import" };
import type { Provider } from "turnwright";
import { googleGenerateContent, type GoogleThinking } from "turnwright/google";

/** Gemini, with thoughts. */
export function connect(client: GoogleGenAI, thinking: GoogleThinking): Provider {
  return googleGenerateContent({ client, model: "gemini-3-pro-preview", thinking });
}
