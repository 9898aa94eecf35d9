// The client of the Google SDK is accepted without a cast.

// The package @google/genai has types only for ES modules.
import type { GoogleGenAI } from "@google/genai" with { "resolution-mode": "import" };
import type { Provider } from "turnwright";
import { googleGenerateContent, type GoogleGenerateContentOptions } from "turnwright/google";

export function connect(client: GoogleGenAI, thinking: GoogleGenerateContentOptions["thinking"]): Provider {
  return googleGenerateContent({ client, model: "gemini-3-pro-preview", thinking });
}
