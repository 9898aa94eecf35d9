/** Plain data: a value that JSON.stringify and JSON.parse leave unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** The JSON form of a value. If it has a `toJSON` method, as a Date has, that is the result of the method. */
export type Plain<T> = T extends { toJSON(key: string): infer Written }
  ? Plain<Written>
  : T extends object
    ? { [Key in keyof T]: Plain<T[Key]> }
    : T;
