export { aiSdkModel } from "./ai-sdk-model.ts";
export type { AiSdkApprovalRequest, AiSdkModelOptions, AiSdkProviderTool, AiSdkWarning } from "./model-options.ts";
export type { AiSdkCallOptions, AiSdkLanguageModel } from "./model-options.ts";
