export { aiSdkModel } from "./ai-sdk-model.ts";
export type { AiSdkModelOptions } from "./model-options.ts";
export type { AiSdkLanguageModel } from "./model-options.ts";
