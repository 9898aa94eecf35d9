import type { Service } from "./service.ts";

/**
 * z.ai accepts only the choice "auto", not even "none": "Tool choice must be auto" (github.com/can1357/oh-my-pi/issues/11635).
 * It refuses requests without a message of the user (github.com/anomalyco/opencode/issues/2557).
 */
export const zai: Service = {
  name: "zai",
  address: /(?:^|\.)(?:z\.ai|bigmodel\.cn)$/,
  id: /^(?:z-?ai|zhipu|bigmodel)/,
  quirks: { maxTokensField: "max_tokens", forcedChoice: "never", noneChoice: "no-tools", alternates: true },
};
