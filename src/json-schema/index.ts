export { fromJsonSchema } from "./from-json-schema.ts";
export { withValidation } from "./with-validation.ts";
