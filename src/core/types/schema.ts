import type { Json } from "./json.ts";

/** A JSON Schema document. */
export type JsonSchema = { readonly [keyword: string]: Json | undefined };

/** One problem with one value. */
export interface Issue {
  readonly message: string;
  /** Where in the value, outermost key first. */
  readonly path?: readonly (string | number)[] | undefined;
}

/**
 * The answer of a validation: the value to use, or what is wrong with it. `unchecked` says that nobody has looked at the value, as with a
 * tool that has plain JSON Schema.
 */
export type Validation =
  | { readonly value: unknown; readonly unchecked?: true | undefined }
  | { readonly issues: readonly Issue[] };

/**
 * A schema of any library that follows the Standard Schema specification, version 1 (https://standardschema.dev), such as
 * zod, valibot and arktype.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaProps<Input, Output>;
}

/** What a Standard Schema says of itself. */
export interface StandardSchemaProps<Input = unknown, Output = Input> {
  readonly version: 1;
  readonly vendor: string;
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  /** The Standard JSON Schema extension (zod since 4.2). */
  readonly jsonSchema?:
    | { readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown> }
    | undefined;
}

/** The answer of a Standard Schema. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** What may describe a tool's arguments. */
export type ToolSchema = StandardSchema | JsonSchema;
