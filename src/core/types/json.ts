/** Plain data: any value that remains the same after JSON.stringify and JSON.parse. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/**
 * The type of a value after JSON.stringify and JSON.parse. For a type with a `toJSON` method, such as Date, the return type of
 * that method is converted.
 */
export type Plain<T> = T extends { toJSON(key: string): infer Written }
  ? Plain<Written>
  : T extends object
    ? { [Key in keyof T]: Plain<T[Key]> }
    : T;
