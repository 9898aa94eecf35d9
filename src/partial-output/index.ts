export { createPartialOutput, type DeepPartial, type PartialOutput, partialOutputs } from "./partial-output.ts";
