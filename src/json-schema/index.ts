// The entry `turnwright/json-schema`: validates arguments with JSON Schema, which is otherwise only shown to the model.

export { fromJsonSchema } from "./from-json-schema.ts";
export { withValidation } from "./with-validation.ts";
