// The entry `turnwright/json-schema`: JSON Schema that is checked, and not only shown.

export { fromJsonSchema } from "./from-json-schema.ts";
export { withValidation } from "./with-validation.ts";
