// The entry `turnwright/partial-output`: partial values of a structured answer while it streams.

export { createPartialOutput, type DeepPartial, type PartialOutput, partialOutputs } from "./partial-output.ts";
