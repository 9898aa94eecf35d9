/** Plain data: a value that JSON.stringify and JSON.parse leave unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** The JSON form of a type. For a type with a `toJSON` method, such as Date, it is the form of the type that the method returns. */
export type Plain<T> = T extends { toJSON(key: string): infer Written }
  ? Plain<Written>
  : T extends object
    ? { [Key in keyof T]: Plain<T[Key]> }
    : T;
