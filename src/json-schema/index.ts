// The entry `turnwright/json-schema`: JSON Schema that is validated, and not only shown to the model.

export { fromJsonSchema } from "./from-json-schema.ts";
export { withValidation } from "./with-validation.ts";
