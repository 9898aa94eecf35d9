import type { Service } from "./service.ts";

/**
 * Bedrock, behind any gateway, refuses a request without tools if its messages have calls: "The toolConfig field must be defined when
 * using toolUse and toolResult content blocks." (github.com/langgenius/dify/issues/17545, github.com/vxcontrol/pentagi/issues/196).
 */
export const bedrock: Service = {
  name: "bedrock",
  address: /^bedrock[\w-]*\.[\w-]+\.(?:amazonaws\.com|api\.aws)$/,
  id: /bedrock/,
  chat: { declaresOldTools: true, callIds: "plain" },
  everywhere: [
    {
      model: /^(?:bedrock\/|(?:us|eu|apac|global|us-gov)\.[a-z]\w*\.)/i,
      chat: { declaresOldTools: true, callIds: "plain" },
    },
  ],
};
