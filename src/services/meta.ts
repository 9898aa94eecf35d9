import type { Service } from "./service.ts";

/** Meta's Model API accepts only the choice "auto" (github.com/LiveBench/LiveBench/issues/499). */
export const meta: Service = {
  name: "meta",
  address: /^api\.(?:meta\.ai|llama\.com)$/,
  id: /^meta/,
  quirks: { forcedChoice: "never", noneChoice: "no-tools" },
};
