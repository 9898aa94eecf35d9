export type { GenerateContentParams, GoogleGenAIClient } from "./generate-options.ts";
export type { GoogleGenerateContentOptions, GoogleServerTool, GoogleThinking } from "./generate-options.ts";
export { googleGenerateContent } from "./google-generate-content.ts";
