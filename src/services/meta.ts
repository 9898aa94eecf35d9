import type { Quirks, Service } from "./service.ts";
import { withoutDepth } from "./tool-schemas.ts";

/**
 * Muse Spark refuses schemas that contain themselves (github.com/anomalyco/opencode/issues/45800), and those with more than 10 levels
 * (github.com/anomalyco/opencode/issues/50297).
 */
const schemas: Quirks = { toTool: /* @__PURE__ */ withoutDepth(10) };

/** Meta's Model API accepts only the choice "auto" (github.com/LiveBench/LiveBench/issues/499). */
export const meta: Service = {
  name: "meta",
  address: /^api\.(?:meta\.ai|llama\.com)$/,
  id: /^meta/,
  quirks: { forcedChoice: "never", noneChoice: "no-tools", ...schemas },
  everywhere: [{ model: /muse-spark/i, quirks: schemas }],
};
